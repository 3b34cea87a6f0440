"""Streamed replies are read event by event, whatever characters their texts hold."""

from __future__ import annotations

import json

from runner.calls.events import summary_of


def test_a_line_separator_inside_a_text_does_not_lose_the_usage() -> None:
    event = {
        "model": "m",
        "choices": [{"index": 0, "delta": {"content": "one\u2028two\u0085three"}}],
        "usage": {"prompt_tokens": 3, "completion_tokens": 2},
    }
    body = f"data: {json.dumps(event, ensure_ascii=False)}\n\ndata: [DONE]\n\n".encode()
    assert summary_of(body) == {"model": "m", "usage": {"prompt_tokens": 3, "completion_tokens": 2}}
