"""Tokens as the provider reported them, read from a reply of any of the three APIs; never guessed, never negative.

A reply whose usage cannot be understood has none (``None``), so that the attempt counts at its worst case; it does
not have a usage of 0.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from runner.records import Usage

__all__ = ["usage_of"]

_LARGEST = 1 << 53
"""Above this a count is nonsense (and would no longer be exact in JSON)."""

_INPUT = ("prompt_tokens", "input_tokens")
_OUTPUT = ("completion_tokens", "output_tokens")


def usage_of(api: str, body: Any) -> Usage | None:
    """The usage in the parsed JSON body of a reply; ``None`` where there is none or it is nonsense.

    ``api`` is ``chat``, ``responses`` or ``embeddings``. Cached tokens are part of the input and reasoning tokens part
    of the output: nothing is added up twice. Servers that report reasoning beside the output (their total is the sum
    of all three) are put right.
    """
    reported = body.get("usage") if isinstance(body, Mapping) else None
    if not isinstance(reported, Mapping):
        return None
    given, made, total = _first(reported, _INPUT), _first(reported, _OUTPUT), _count(reported.get("total_tokens"))
    if api == "embeddings":
        given = total if given is None else given
        return None if given is None else Usage(input_tokens=given)
    if given is None and made is not None and total is not None:
        given = total - made
    if made is None and given is not None and total is not None:
        made = total - given
    if given is None or made is None or given < 0 or made < 0:
        return None
    input_details = _details(reported, "prompt_tokens_details", "input_tokens_details")
    output_details = _details(reported, "completion_tokens_details", "output_tokens_details")
    reasoning = _count(output_details.get("reasoning_tokens")) or 0
    if reasoning and total == given + made + reasoning:
        made += reasoning
    cached = _count(input_details.get("cached_tokens")) or _count(reported.get("prompt_cache_hit_tokens")) or 0
    cached = min(cached, given)
    return Usage(
        input_tokens=given,
        output_tokens=made,
        cached_input_tokens=cached,
        cache_write_tokens=min(_count(input_details.get("cache_write_tokens")) or 0, given - cached),
        reasoning_tokens=min(reasoning, made),
    )


def _count(value: Any) -> int | None:
    """A whole number of tokens, 0 or more; ``None`` for anything else."""
    if isinstance(value, float) and value.is_integer() and abs(value) < _LARGEST:
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int):
        return None
    return value if 0 <= value < _LARGEST else None


def _first(reported: Mapping[Any, Any], names: tuple[str, ...]) -> int | None:
    return next((count for name in names if (count := _count(reported.get(name))) is not None), None)


def _details(reported: Mapping[Any, Any], *names: str) -> Mapping[Any, Any]:
    found = (reported.get(name) for name in names)
    return next((part for part in found if isinstance(part, Mapping)), {})
