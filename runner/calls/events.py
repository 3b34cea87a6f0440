"""Streamed replies (server-sent events): their usage and model, and the usage event that only we asked for."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

_END = "[DONE]"


def summary_of(body: bytes) -> dict[str, Any]:
    """What ``usage_of`` and the like need of a stream: the model and the last usage in it; may be empty."""
    summary: dict[str, Any] = {}
    for event in _events(body):
        # Chat chunks carry both themselves, events of the Responses API inside ``response``.
        inner = event.get("response")
        source: Mapping[str, Any] = inner if isinstance(inner, Mapping) else event
        for name in ("model", "usage"):
            value = source.get(name)
            if value:
                summary[name] = value
    return summary


def with_usage(body: Mapping[str, Any], path: str) -> dict[str, Any]:
    """The body of a streamed chat request, asking for the usage too: without it nobody knows what it cost."""
    sent = dict(body)
    if path == "/chat/completions" and body.get("stream") is True:
        options = body.get("stream_options")
        sent["stream_options"] = {**(options if isinstance(options, Mapping) else {}), "include_usage": True}
    return sent


def asked_for_usage(body: Mapping[str, Any]) -> bool:
    """Whether the asker wants to see the usage event himself."""
    options = body.get("stream_options")
    return isinstance(options, Mapping) and options.get("include_usage") is True


def without_usage_event(body: bytes) -> bytes:
    """A chat stream without the event that holds nothing but the usage: code that did not ask for it expects a
    choice in every event."""
    kept = []
    for block in body.replace(b"\r\n", b"\n").split(b"\n\n"):
        event = next(_events(block + b"\n\n"), None)
        if event is not None and event.get("choices") == [] and event.get("usage"):
            continue
        kept.append(block)
    return b"\n\n".join(kept)


def _events(body: bytes) -> Iterator[dict[str, Any]]:
    # Not ``splitlines``: it also cuts at characters that JSON leaves inside texts, such as U+2028.
    for line in re.split(r"\r\n|\n|\r", body.decode("utf-8", "replace")):
        if not line.startswith("data:"):
            continue
        data = line[5:].strip()
        if data == _END:
            continue
        try:
            event = json.loads(data)
        except (ValueError, RecursionError):
            continue
        if isinstance(event, dict):
            yield event
