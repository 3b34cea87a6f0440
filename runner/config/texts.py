"""Texts of a configuration that hold half a character: no file can hold them, and no model can be asked with them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from runner.errors import Problem
from runner.text.surrogates import REPLACEMENT, without_surrogates


def halved(values: Any, where: str = "") -> Iterator[Problem]:
    """Every text in nested values with half a character (YAML ``"\\ud83d"``, or a file name that is not UTF-8)."""
    if isinstance(values, str):
        if (whole := without_surrogates(values)) != values:
            shown = whole if len(whole) <= 60 else f"{whole[:60]}…"
            what = f"holds half a character, or a byte that is not UTF-8, at the {REPLACEMENT} in {shown!r}"
            yield Problem(where, what, "write the whole character; a file with such a name must be renamed")
    elif isinstance(values, dict):
        for key, value in values.items():
            named = without_surrogates(str(key))
            place = f"{where}.{named}" if where else named
            yield from halved(value, place)
            if named != str(key):
                yield Problem(place, "is a name that holds half a character", "write the whole character")
    elif isinstance(values, (list, tuple)):
        for place_in_list, value in enumerate(values):
            yield from halved(value, f"{where}[{place_in_list}]")
