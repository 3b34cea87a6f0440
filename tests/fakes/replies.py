"""The JSON bodies of the OpenAI protocol, as the fake model server sends them, spoilt by a fault where one is given."""

from __future__ import annotations

import base64
import json
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tests.fakes.answers import embedding, input_tokens, log_probabilities, says, tokens
from tests.fakes.faults import Fault

CREATED = 1_790_000_000


@dataclass(frozen=True, slots=True)
class Shape:
    """What the usage reports beside the plain token counts."""

    cached_fraction: float = 0.0
    """Share of the input tokens reported as cached (rounded down)."""
    cache_write_tokens: int = 0
    reasoning_tokens: int = 0
    """Added to every output and reported as reasoning."""
    snapshots: Mapping[str, str] | None = None
    """Model asked for → model that the reply names."""


@dataclass(frozen=True, slots=True)
class Said:
    text: str
    finish: str = "stop"
    refusal: str | None = None


def spoil(value: Any, kind: str) -> Any:
    """The verdict with its values off the scale or of the wrong type."""
    if isinstance(value, dict):
        return {name: spoil(part, kind) for name, part in value.items()}
    if kind == "wrong_type":
        return [value]
    return value if isinstance(value, str) and len(value) > 20 else 99


def say(body: Mapping[str, Any], fault: Fault | None) -> Said:
    """The text of the reply and how it ends."""
    text = says(body)
    match fault.kind if fault else "":
        case "text":
            assert fault is not None
            given = fault.values["text"]
            text = given(body) if callable(given) else str(given)
        case "malformed":
            text = text[: max(1, len(text) * 2 // 3)] if text.startswith("{") else '{"reasoning": "cut'
        case "prose":
            text = f"Here is my verdict:\n{text}\nI hope this helps."
        case "fenced":
            text = f"```json\n{text}\n```"
        case "off_scale" | "wrong_type":
            assert fault is not None
            text = json.dumps(spoil(json.loads(text), fault.kind)) if text.startswith("{") else "99"
        case "truncated":
            return Said(text[: len(text) // 2], "length")
        case "refusal":
            return Said("", refusal="I'm sorry, I can't help with that.")
        case "content_filter":
            return Said("", "content_filter")
        case "empty":
            return Said("")
    limit = body.get("max_completion_tokens") or body.get("max_tokens") or body.get("max_output_tokens")
    if limit and tokens(len(text)) > limit:
        return Said(text[: limit * 4], "length")
    return Said(text)


def counts(body: Mapping[str, Any], said: Said, shape: Shape) -> tuple[int, int]:
    """(input tokens, output tokens) that are billed; reasoning is part of the output."""
    return input_tokens(body), tokens(len(said.text or said.refusal or "")) + shape.reasoning_tokens


def chat(body: Mapping[str, Any], said: Said, shape: Shape, number: int) -> dict[str, Any]:
    """A ``chat.completion``."""
    model = str(body.get("model"))
    given, made = counts(body, said, shape)
    logprobs = None
    if body.get("logprobs"):
        logprobs = {"content": log_probabilities(body, said.text, int(body.get("top_logprobs") or 0)), "refusal": None}
    message = {"role": "assistant", "content": None if said.refusal else said.text, "refusal": said.refusal}
    return {
        "id": f"chatcmpl-{number}",
        "object": "chat.completion",
        "created": CREATED,
        "model": (shape.snapshots or {}).get(model, model),
        "choices": [{"index": 0, "message": message, "logprobs": logprobs, "finish_reason": said.finish}],
        "usage": {
            "prompt_tokens": given,
            "completion_tokens": made,
            "total_tokens": given + made,
            "prompt_tokens_details": _input_details(given, shape),
            "completion_tokens_details": {"reasoning_tokens": shape.reasoning_tokens, "audio_tokens": 0},
        },
        "service_tier": "default",
        "system_fingerprint": "fp_fake",
    }


def _input_details(given: int, shape: Shape) -> dict[str, int]:
    details = {"cached_tokens": int(given * shape.cached_fraction)}
    if shape.cache_write_tokens:
        details["cache_write_tokens"] = shape.cache_write_tokens
    return details


def responses(body: Mapping[str, Any], said: Said, shape: Shape, number: int) -> dict[str, Any]:
    """A ``response``."""
    model = str(body.get("model"))
    given, made = counts(body, said, shape)
    if said.refusal:
        part: dict[str, Any] = {"type": "refusal", "refusal": said.refusal}
    else:
        part = {"type": "output_text", "text": said.text, "annotations": []}
    reason = {"length": "max_output_tokens", "content_filter": "content_filter"}.get(said.finish)
    status = "incomplete" if reason else "completed"
    message = {"type": "message", "id": f"msg_{number}", "role": "assistant", "status": status, "content": [part]}
    return {
        "id": f"resp_{number}",
        "object": "response",
        "created_at": CREATED,
        "model": (shape.snapshots or {}).get(model, model),
        "status": status,
        "error": None,
        "incomplete_details": {"reason": reason} if reason else None,
        "output": [message] if said.text or said.refusal else [],
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
        "usage": {
            "input_tokens": given,
            "input_tokens_details": _input_details(given, shape),
            "output_tokens": made,
            "output_tokens_details": {"reasoning_tokens": shape.reasoning_tokens},
            "total_tokens": given + made,
        },
    }


def embedding_inputs(body: Mapping[str, Any]) -> list[str | list[int]]:
    """The inputs one by one: a string, a list of strings, a token list or a list of token lists."""
    given = body.get("input", "")
    if isinstance(given, str):
        return [given]
    if given and isinstance(given[0], int):
        return [list(given)]
    return list(given)


def embedding_tokens(body: Mapping[str, Any]) -> int:
    return sum(tokens(len(one)) if isinstance(one, str) else len(one) for one in embedding_inputs(body))


def embeddings(body: Mapping[str, Any], dimensions: int) -> dict[str, Any]:
    """A list of vectors, as numbers or base64 of little-endian float32."""
    size = int(body.get("dimensions") or dimensions)
    rows = []
    for index, one in enumerate(embedding_inputs(body)):
        vector = embedding(one if isinstance(one, str) else " ".join(f"token{t}" for t in one), size)
        coded: Any = vector
        if body.get("encoding_format") == "base64":
            coded = base64.b64encode(struct.pack(f"<{size}f", *vector)).decode()
        rows.append({"object": "embedding", "index": index, "embedding": coded})
    given = embedding_tokens(body)
    usage = {"prompt_tokens": given, "total_tokens": given}
    return {"object": "list", "data": rows, "model": body.get("model"), "usage": usage}


def stream(whole: Mapping[str, Any], with_usage: bool) -> list[bytes]:
    """A chat completion as server-sent events."""
    choice = whole["choices"][0]
    head = {name: whole[name] for name in ("id", "created", "model", "system_fingerprint")}
    head |= {"object": "chat.completion.chunk"}
    text = choice["message"]["content"] or ""
    deltas: list[dict[str, Any]] = [{"role": "assistant", "content": ""}]
    deltas += [{"content": text[at : at + 16]} for at in range(0, len(text), 16)]
    chunks = [head | {"choices": [{"index": 0, "delta": delta, "finish_reason": None}]} for delta in deltas]
    chunks.append(head | {"choices": [{"index": 0, "delta": {}, "finish_reason": choice["finish_reason"]}]})
    if with_usage:
        chunks.append(head | {"choices": [], "usage": whole["usage"]})
    return [f"data: {json.dumps(chunk)}\n\n".encode() for chunk in chunks] + [b"data: [DONE]\n\n"]
