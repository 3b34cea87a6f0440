"""Compares nested values with the schema's dataclasses: unknown keys and wrong types, all of them at once."""

from __future__ import annotations

import dataclasses
import functools
import re
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


def unfit(values: Mapping[Any, Any], owner: type, prefix: str = "", *, types_too: bool = True) -> Iterator[Problem]:
    """Every key that the dataclass does not have, and every value that cannot become the field's type.

    Without ``types_too`` only the keys are looked at, which is fast.
    """
    types = field_types(owner)
    for name, value in values.items():
        where = f"{prefix}.{name}" if prefix else str(name)
        if name not in types:
            yield Problem(where, "there is no such key", did_you_mean(str(name), types))
            continue
        kind = types[name]
        inside = [(where, value, kind)] if _is_dataclass(kind) else _entries(value, where, _inner(kind))
        for key, entry, entry_type in inside:
            if isinstance(entry, Mapping):
                yield from unfit(entry, entry_type, key, types_too=types_too)
            elif types_too and not _is_interpolation(entry):
                yield Problem(key, "must be a mapping of keys to values")
        if types_too and not inside:
            yield from _unfit_leaf(value, owner, str(name), where)


def _is_dataclass(kind: Any) -> bool:
    return isinstance(kind, type) and dataclasses.is_dataclass(kind)


def _entries(value: Any, where: str, inner: type | None) -> list[tuple[str, Any, Any]]:
    """(key, entry, type) of what stands in a ``dict[str, X]`` or ``list[X]`` of dataclasses."""
    if inner is not None and isinstance(value, Mapping):
        return [(f"{where}.{key}", entry, inner) for key, entry in value.items()]
    if inner is not None and isinstance(value, list):
        return [(f"{where}[{position}]", entry, inner) for position, entry in enumerate(value)]
    return []


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


_WHILE = re.compile(r"^While dereferencing interpolation '.*?': ")
_NOT_FOUND = re.compile(r"^Interpolation key '(?P<key>[^']+)' not found")
_NO_VARIABLE = re.compile(r"Environment variable '(?P<name>[^']+)' not found")
_NOT_TEXT_KEY = re.compile(r"Key (?P<key>\S+) \(\w+\) is incompatible with \(str\)")
_TYPE_WORDS = {
    "Integer": "a whole number",
    "Float": "a number",
    "Boolean": "true or false",
    "String": "text",
}


def plain_message(error: BaseException) -> str:
    """The first line of an OmegaConf error in words for people."""
    line = str(error).partition("\n")[0].rstrip(".")
    line = _WHILE.sub("", line)
    if match := _NOT_FOUND.match(line):
        return f"refers to {match['key']}, which does not exist"
    if match := _NO_VARIABLE.search(line):
        return f"the environment variable {match['name']} is not set"
    if match := _NOT_TEXT_KEY.search(line):
        return _not_text(match["key"])
    for word, plain in _TYPE_WORDS.items():
        if line.endswith(f"could not be converted to {word}"):
            value = line.partition("Value ")[2].partition(" of type ")[0]
            return f"{value} is not {plain}"
    return line


def _not_text(key: str) -> str:
    """A key that YAML took for something else than text, such as the label ``yes``."""
    if key in ("True", "False"):
        return f'the key {key} is no text: YAML takes yes, no, on and off for true and false; write "yes", in quotes'
    return f'the key {key} is no text; write "{key}", in quotes'
