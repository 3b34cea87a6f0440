"""What stands in a JSON value at a path such as ``data.answer``, ``choices.0.text`` or ``docs.*.text`` (of all)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

_SHOWN = 8
EVERY = "*"


class NotThere(LookupError):
    """Nothing stands at the path; the text says how far it led and what is there instead."""

    def __init__(self, place: str, holder: str, holds: str, *, within_a_list: bool) -> None:
        super().__init__(f"{place} ({holder or 'the whole'} holds: {holds})")
        self.place = place
        self.holder = holder
        """How far the path led; empty: nowhere."""
        self.holds = holds
        self.within_a_list = within_a_list
        """Whether a ``*`` was passed: one of several has nothing there, which the others may have."""


def select(value: Any, path: str) -> Any:
    """What stands at a dotted path: keys of objects, places in lists from 0, ``*`` for a list of all.

    Raises NotThere.
    """
    return _select(value, [part for part in path.split(".") if part], ())


def leads(value: Any, path: str) -> bool:
    """Whether something stands at the path; with ``*`` for one of several at least, or where there are none to ask."""
    return _leads(value, [part for part in path.split(".") if part])


def _select(value: Any, parts: Sequence[str], done: tuple[str, ...]) -> Any:
    if not parts:
        return value
    part, rest, here = parts[0], parts[1:], (*done, parts[0])
    if (items := _items(value, part)) is not None:
        return [_select(item, rest, here) for item in items]
    try:
        inside = _inside(value, part)
    except LookupError:
        there = ", ".join(str(key) for key in list(value)[:_SHOWN]) if isinstance(value, Mapping) else kind(value)
        within = EVERY in done
        raise NotThere(".".join(here), ".".join(done), there or "nothing", within_a_list=within) from None
    return _select(inside, rest, here)


def _leads(value: Any, parts: Sequence[str]) -> bool:
    if not parts:
        return True
    if (items := _items(value, parts[0])) is not None:
        return not items or any(_leads(item, parts[1:]) for item in items)
    try:
        return _leads(_inside(value, parts[0]), parts[1:])
    except LookupError:
        return False


def _items(value: Any, part: str) -> list[Any] | None:
    if part != EVERY or not isinstance(value, (list, Mapping)):
        return None
    return value if isinstance(value, list) else list(value.values())


def _inside(value: Any, part: str) -> Any:
    if isinstance(value, Mapping):
        return value[part]
    if isinstance(value, list) and part.isdecimal():
        return value[int(part)]
    raise LookupError(part)


def kind(value: object) -> str:
    """What a JSON value is, in words."""
    names = {type(None): "nothing (null)", str: "a text", list: "a list", dict: "an object", bool: "true or false"}
    return names.get(type(value), "a number" if isinstance(value, (int, float)) else f"a {type(value).__name__}")
