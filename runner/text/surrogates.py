"""Halves of characters (lone surrogates, such as a cut emoji leaves in JSON) out of texts: UTF-8 cannot write them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

_PAIR_OR_HALF = re.compile("[\ud800-\udbff][\udc00-\udfff]|[\ud800-\udfff]")
REPLACEMENT = "\N{REPLACEMENT CHARACTER}"


def without_surrogates(text: str) -> str:
    """The text with U+FFFD for every half of a character; two halves that belong together become their character."""
    return _PAIR_OR_HALF.sub(_whole, text)


def without_surrogates_within(value: Any) -> Any:
    """A JSON value (objects, lists, texts; keys too) without halves of characters; the same object if it has none."""
    if isinstance(value, str):
        return without_surrogates(value)
    if isinstance(value, Mapping):
        mended = {without_surrogates_within(key): without_surrogates_within(inside) for key, inside in value.items()}
        same = all(key in value and value[key] is inside for key, inside in mended.items())
        return value if same and len(mended) == len(value) else mended
    if isinstance(value, (list, tuple)):
        items = [without_surrogates_within(inside) for inside in value]
        if all(new is old for new, old in zip(items, value, strict=True)):
            return value
        return items if isinstance(value, list) else tuple(items)
    return value


def _whole(found: re.Match[str]) -> str:
    halves = found.group()
    return halves.encode("utf-16", "surrogatepass").decode("utf-16") if len(halves) == 2 else REPLACEMENT
