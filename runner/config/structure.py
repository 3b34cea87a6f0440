"""Compares nested values with the schema's dataclasses: unknown keys and wrong types, all of them at once."""

from __future__ import annotations

import dataclasses
import functools
import typing
from collections.abc import Iterator, Mapping
from typing import Any

from runner.config import schema
from runner.config.spelling import did_you_mean
from runner.errors import Problem


@functools.cache
def field_types(owner: type) -> Mapping[str, Any]:
    """Field → type of a schema dataclass, without the annotations' extras."""
    return typing.get_type_hints(owner)


def group_type(group: str) -> type | None:
    """The dataclass that a file of this group fills; ``None`` for groups that may set anything."""
    if group == "rubric":
        return schema.Rubric
    found = field_types(schema.Config).get(group)
    return found if isinstance(found, type) and dataclasses.is_dataclass(found) else None


def unfit(values: Mapping[Any, Any], owner: type, prefix: str = "") -> Iterator[Problem]:
    """Every key that the dataclass does not have, and every value that cannot become the field's type."""
    types = field_types(owner)
    for name, value in values.items():
        where = f"{prefix}.{name}" if prefix else str(name)
        if name not in types:
            yield Problem(where, "there is no such key", did_you_mean(str(name), types))
        else:
            yield from _unfit_value(value, types[name], owner, str(name), where)


def _unfit_value(value: Any, kind: Any, owner: type, name: str, where: str) -> Iterator[Problem]:
    inner = _inner(kind)
    if dataclasses.is_dataclass(kind) and isinstance(kind, type) and isinstance(value, Mapping):
        yield from unfit(value, kind, where)
    elif inner is not None and isinstance(value, Mapping):
        for key, entry in value.items():
            if isinstance(entry, Mapping):
                yield from unfit(entry, inner, f"{where}.{key}")
            elif not _is_interpolation(entry):
                yield Problem(f"{where}.{key}", "must be a mapping of keys to values")
    elif inner is not None and isinstance(value, list):
        for position, entry in enumerate(value):
            if isinstance(entry, Mapping):
                yield from unfit(entry, inner, f"{where}[{position}]")
            elif not _is_interpolation(entry):
                yield Problem(f"{where}[{position}]", "must be a mapping of keys to values")
    else:
        yield from _unfit_leaf(value, owner, name, where)


def _unfit_leaf(value: Any, owner: type, name: str, where: str) -> Iterator[Problem]:
    from omegaconf import OmegaConf
    from omegaconf.errors import OmegaConfBaseException

    try:
        OmegaConf.structured(owner)[name] = value
    except OmegaConfBaseException as error:
        yield Problem(where, plain_message(error))


def _inner(kind: Any) -> type | None:
    """The dataclass inside ``dict[str, X]`` or ``list[X]``."""
    for argument in typing.get_args(kind):
        if isinstance(argument, type) and dataclasses.is_dataclass(argument):
            return argument
    return None


def _is_interpolation(value: Any) -> bool:
    return isinstance(value, str) and "${" in value


_TYPE_WORDS = {
    "Integer": "a whole number",
    "Float": "a number",
    "Boolean": "true or false",
    "String": "text",
}


def plain_message(error: BaseException) -> str:
    """The first line of an OmegaConf error in words for people."""
    line = str(error).partition("\n")[0].rstrip(".")
    for word, plain in _TYPE_WORDS.items():
        if line.endswith(f"could not be converted to {word}"):
            value = line.partition("Value ")[2].partition(" of type ")[0]
            return f"{value} is not {plain}"
    return line
