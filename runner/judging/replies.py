"""Reading a judge's reply: strict about the value, lenient about fences and prose around the JSON; never a guess.

No number is ever picked out of free text, no value is pulled onto the scale, and a reply with two different verdicts
is refused: a judge that cannot be read is asked once more and then counts as failed.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from runner.config.schema import Scale
from runner.judging.scales import bounds, label_numbers
from runner.judging.schemas import REASONING, value_key
from runner.records import Reason

_BEGINNING = re.compile(r"\{\s*[\"']")
_NUMBER = re.compile(r"([+-]?\d+(?:\.\d+)?)(?:\s*/\s*(\d+(?:\.\d+)?))?")


@dataclass(frozen=True, slots=True)
class Reading:
    """A verdict as it was read."""

    score: float
    label: str | None
    reasoning: str


@dataclass(frozen=True, slots=True)
class Unreadable:
    """Why a reply cannot be used, in words that are also put to the judge."""

    reason: Reason
    detail: str


class _Refused(Exception):
    """The text is not the JSON it should be."""


def _object(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in pairs:
        if key in found and found[key] != value:
            raise _Refused(f"the key {key!r} stands twice with different values")
        found[key] = value
    return found


def _constant(name: str) -> Any:
    raise _Refused(f"{name} is not a JSON value")


_DECODER = json.JSONDecoder(object_pairs_hook=_object, parse_constant=_constant, strict=False)


def objects(text: str) -> list[dict[str, Any]]:
    """The JSON objects of a text, outermost ones only; fences and prose around them are passed over.

    Raises _Refused where something begins like an object and is none: what lies inside it may be a quotation from the
    answer, and must not be taken for the verdict.
    """
    found: list[dict[str, Any]] = []
    position = text.find("{")
    while position >= 0:
        try:
            value, end = _DECODER.raw_decode(text, position)
        except (json.JSONDecodeError, RecursionError) as error:
            if _BEGINNING.match(text, position):
                raise _Refused("its JSON is broken") from error
            end = position + 1
        else:
            found.append(value)
        position = text.find("{", end)
    return found


def read_verdict(scale: Scale, text: str) -> Reading | Unreadable:
    """The verdict that a reply holds, or why it holds none."""
    key = value_key(scale)
    try:
        candidates = [found for found in objects(text) if key in found]
    except _Refused as refused:
        return Unreadable(Reason.MALFORMED, str(refused))
    if not candidates:
        return Unreadable(Reason.MALFORMED, f'it holds no JSON object with the key "{key}"')
    readings = [read_value(scale, found[key]) for found in candidates]
    if any(reading != readings[0] for reading in readings[1:]):
        return Unreadable(Reason.MALFORMED, "it holds more than one verdict, and they differ")
    reading = readings[0]
    if isinstance(reading, Unreadable):
        return reading
    reasoning = candidates[0].get(REASONING, "")
    score, label = reading
    return Reading(score, label, reasoning if isinstance(reasoning, str) else json.dumps(reasoning, ensure_ascii=False))


def read_value(scale: Scale, value: Any) -> tuple[float, str | None] | Unreadable:
    """Score and label of a value as a judge wrote it: 4, 4.0, "4", "4.0" and "4/5" are alike."""
    labels = label_numbers(scale)
    if labels:
        return _label(scale, labels, value)
    number = _number(scale, value)
    if isinstance(number, Unreadable):
        return number
    low, high = bounds(scale)
    if scale.kind == "ordinal" and number != int(number):
        return Unreadable(Reason.OFF_SCALE, f"{number:g} is not a whole number")
    if not low <= number <= high:
        return Unreadable(Reason.OFF_SCALE, f"{number:g} is not between {low:g} and {high:g}")
    return number, None


def _number(scale: Scale, value: Any) -> float | Unreadable:
    wrong = Unreadable(Reason.MALFORMED, f"{_short(value)} is not a number")
    if isinstance(value, bool):
        return wrong
    if isinstance(value, int | float):
        try:
            number = float(value)
        except OverflowError:
            return Unreadable(Reason.OFF_SCALE, "the number is far too large")
        return number if math.isfinite(number) else wrong
    match = _NUMBER.fullmatch(value.strip()) if isinstance(value, str) else None
    if match is None:
        return wrong
    if match.group(2) is not None and float(match.group(2)) != bounds(scale)[1]:
        return Unreadable(Reason.OFF_SCALE, f"{_short(value)} is on another scale than up to {bounds(scale)[1]:g}")
    return float(match.group(1))


def _label(scale: Scale, labels: Any, value: Any) -> tuple[float, str | None] | Unreadable:
    if scale.kind == "boolean" and isinstance(value, bool):
        value = "true" if value else "false"
    if not isinstance(value, str):
        return Unreadable(Reason.MALFORMED, f"{_short(value)} is not one of {', '.join(labels)}")
    word = value.strip()
    if word in labels:
        return labels[word], word
    alike = [label for label in labels if label.casefold() == word.casefold()]
    if len(alike) == 1:
        return labels[alike[0]], alike[0]
    return Unreadable(Reason.OFF_SCALE, f"{_short(value)} is not one of {', '.join(labels)}")


def _short(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= 60 else text[:57] + "..."
