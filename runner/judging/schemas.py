"""The form of a judge's reply: a strict JSON schema derived from the scale, reasoning before the value."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from runner.config.schema import Scale
from runner.judging.scales import bounds, options

REASONING = "reasoning"


def value_key(scale: Scale) -> str:
    """The name of the value in the reply: ``score``, ``label`` or ``verdict`` (boolean)."""
    return {"labels": "label", "boolean": "verdict"}.get(scale.kind, "score")


def reply_schema(scale: Scale, *, reasoning: bool) -> Mapping[str, Any]:
    """The schema that strict structured output follows; its order of keys is the order of writing."""
    value: dict[str, Any]
    if scale.kind == "boolean":
        value = {"type": "boolean"}
    elif scale.kind == "labels":
        value = {"type": "string", "enum": list(options(scale))}
    elif scale.kind == "ordinal":
        value = {"type": "integer", "enum": [int(number) for number in options(scale).values()]}
    else:
        low, high = bounds(scale)
        value = {"type": "number", "minimum": low, "maximum": high}
    key = value_key(scale)
    properties = ({REASONING: {"type": "string"}} if reasoning else {}) | {key: value}
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }
