"""Reads the body of a reply: its text, how it ended, its log probabilities. Never raises, whatever the bytes.

Whether the text is the verdict that was asked for is not decided here but in ``judging``.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from runner.calls.requests import TokenChoice
from runner.records import Reason


@dataclass(frozen=True, slots=True)
class Reading:
    """What a reply says."""

    reason: str
    """Empty for a usable text, else a ``Reason``."""
    detail: str
    text: str
    """The text as it came; what there is of it where the reply failed."""
    model: str
    """The model that answered, as the reply names it; may be empty."""
    logprobs: tuple[TokenChoice, ...] = ()


def parsed(body: bytes | None) -> Any:
    """The JSON of a body; ``None`` for anything that is not JSON."""
    if not body:
        return None
    try:
        told = json.loads(body)
        if b"\\ud" in body or b"\\uD" in body:
            # Half of a surrogate pair is valid JSON, but no text that can be written anywhere.
            told = json.loads(json.dumps(told, ensure_ascii=False).encode("utf-8", "replace"))
    except (ValueError, RecursionError):
        return None
    return told


def read_reply(api: str, told: Any) -> Reading:
    """The reading of a parsed body; ``api`` is ``chat`` or ``responses``."""
    if not isinstance(told, Mapping):
        return _malformed("")
    model = _text(told.get("model"))
    if api == "responses":
        return _read_responses(told, model)
    return _read_chat(told, model)


def _read_chat(told: Mapping[str, Any], model: str) -> Reading:
    choices = told.get("choices")
    choice = choices[0] if isinstance(choices, list) and choices else None
    message = choice.get("message") if isinstance(choice, Mapping) else None
    if not isinstance(choice, Mapping) or not isinstance(message, Mapping):
        return _malformed(model)
    text = _content(message.get("content"), ("text",))
    logprobs = choice.get("logprobs")
    tokens = logprobs.get("content") if isinstance(logprobs, Mapping) else None
    return _judge(
        text=text,
        refusal=_text(message.get("refusal")),
        ending=_text(choice.get("finish_reason")),
        model=model,
        logprobs=_choices(tokens),
    )


def _read_responses(told: Mapping[str, Any], model: str) -> Reading:
    output = told.get("output")
    if not isinstance(output, list):
        return _malformed(model)
    texts: list[str] = []
    refusals: list[str] = []
    tokens: list[Any] = []
    for item in output:
        if not isinstance(item, Mapping) or item.get("type") != "message":
            continue
        for part in _list(item.get("content")):
            if not isinstance(part, Mapping):
                continue
            if part.get("type") == "refusal":
                refusals.append(_text(part.get("refusal")) or "refused")
            else:
                texts.append(_text(part.get("text")))
                tokens.extend(_list(part.get("logprobs")))
    incomplete = told.get("incomplete_details")
    ending = _text(incomplete.get("reason")) if isinstance(incomplete, Mapping) else ""
    return _judge(
        text="".join(texts),
        refusal=" ".join(refusals),
        ending="length" if ending == "max_output_tokens" else ending,
        model=model,
        logprobs=_choices(tokens),
    )


def _judge(*, text: str, refusal: str, ending: str, model: str, logprobs: tuple[TokenChoice, ...]) -> Reading:
    reason, detail = "", ""
    if refusal:
        reason, detail, text = Reason.REFUSED, f"the model refused: {refusal[:300]}", text or refusal
    elif ending == "content_filter":
        reason, detail = Reason.CONTENT_FILTER, "the provider's content filter stopped the reply"
    elif ending == "length":
        reason = Reason.TRUNCATED
        detail = "the reply was cut off at the output limit"
        if not text.strip():
            detail += " before its first word (all of it went into reasoning)"
    elif not text.strip():
        reason, detail = Reason.EMPTY, "the reply holds no text"
    return Reading(reason, detail, text, model, logprobs)


def _malformed(model: str) -> Reading:
    return Reading(Reason.MALFORMED, "the reply does not have the form of the API", "", model)


def _choices(tokens: Any) -> tuple[TokenChoice, ...]:
    found = []
    for token in _list(tokens):
        one = _choice(token)
        if one is None:
            continue
        others = (_choice(other) for other in _list(token.get("top_logprobs")))
        ranked = sorted((other for other in others if other is not None), key=lambda other: -other[1])
        found.append(TokenChoice(one[0], one[1], tuple(ranked)))
    return tuple(found)


def _choice(token: Any) -> tuple[str, float] | None:
    if not isinstance(token, Mapping):
        return None
    text, logprob = token.get("token"), token.get("logprob")
    if not isinstance(text, str) or isinstance(logprob, bool) or not isinstance(logprob, int | float):
        return None
    try:
        number = float(logprob)
    except OverflowError:
        return None
    return None if math.isnan(number) else (text, number)


def _content(content: Any, kinds: Sequence[str]) -> str:
    """The text of a message: a string, or a list of parts as some servers send it."""
    if isinstance(content, str):
        return content
    parts = (part for part in _list(content) if isinstance(part, Mapping))
    return "".join(_text(part.get("text")) for part in parts if part.get("type", "text") in kinds)


def _list(value: Any) -> Sequence[Any]:
    return value if isinstance(value, list) else ()


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""
