"""Reading replies: whatever the bytes, there is a text or a reason, and never an exception."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from hypothesis import given
from hypothesis import strategies as st

from runner.calls import Door, Reply
from runner.calls.events import summary_of, without_usage_event
from runner.calls.replies import parsed, read_reply
from runner.calls.usage import usage_of
from runner.config.schema import Endpoint
from tests.calls.calls_helpers import MODEL, ask, with_door

leaves = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5)
names = st.sampled_from(
    [
        "choices",
        "message",
        "content",
        "finish_reason",
        "refusal",
        "logprobs",
        "usage",
        "model",
        "output",
        "type",
        "text",
        "token",
        "logprob",
        "top_logprobs",
        "prompt_tokens",
        "completion_tokens",
        "error",
        "incomplete_details",
        "reason",
    ]
)
shapes = st.recursive(
    leaves, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(names, inner, max_size=5), max_leaves=25
)


@given(st.sampled_from(["chat", "responses"]), shapes)
def test_no_shape_of_a_reply_is_too_odd(api: str, told: Any) -> None:
    reading = read_reply(api, told)
    assert isinstance(reading.text, str)
    assert bool(reading.reason) == bool(reading.detail)
    assert reading.reason or reading.text.strip()


@given(st.binary())
def test_no_bytes_are_too_odd(body: bytes) -> None:
    read_reply("chat", parsed(body))
    usage_of("chat", parsed(body))
    summary_of(body)
    without_usage_event(body)


def chat(message: dict[str, Any], ending: str = "stop") -> dict[str, Any]:
    return {"model": "m-1", "choices": [{"message": message, "finish_reason": ending}]}


@pytest.mark.parametrize(
    ("told", "reason", "text"),
    [
        (chat({"content": "yes"}), "", "yes"),
        (chat({"content": [{"type": "text", "text": "ye"}, {"type": "text", "text": "s"}]}), "", "yes"),
        (chat({"content": None, "refusal": "I won't."}), "refused", "I won't."),
        (chat({"content": "ye"}, "length"), "truncated", "ye"),
        (chat({"content": ""}, "length"), "truncated", ""),
        (chat({"content": "no"}, "content_filter"), "content_filter", "no"),
        (chat({"content": " \n"}), "empty", " \n"),
        (chat({"content": None}), "empty", ""),
        ({"choices": []}, "malformed", ""),
        ([], "malformed", ""),
        (None, "malformed", ""),
    ],
)
def test_each_ending_has_its_reason(told: Any, reason: str, text: str) -> None:
    reading = read_reply("chat", told)
    assert (reading.reason, reading.text) == (reason, text)


def test_truncation_by_reasoning_says_so() -> None:
    """A reasoning model that spends its whole limit thinking is not "invalid JSON" (symptom 29)."""
    assert "reasoning" in read_reply("chat", chat({"content": ""}, "length")).detail


def test_impossible_tokens_keep_their_probability_of_zero() -> None:
    tokens = [{"token": "5", "logprob": -0.1, "top_logprobs": [{"token": "4", "logprob": float("-inf")}]}]
    told = {"choices": [{"message": {"content": "5"}, "logprobs": {"content": tokens}}]}
    (choice,) = read_reply("chat", told).logprobs
    assert choice.alternatives == (("4", float("-inf")),)


ODD = [
    b"",
    b"null",
    b"[]",
    b"{",
    b"\xff\xfe",
    b"<html>",
    b'{"choices": 3}',
    b'{"error": "no"}',
    b'{"choices":[{"message":{"content":{"a":1}},"finish_reason":7}],"usage":{"prompt_tokens":-1}}',
    json.dumps(chat({"content": "x"}) | {"usage": {"prompt_tokens": 1e400}}).encode(),
    b"[" * 20_000,
]


def test_a_server_that_answers_nonsense_never_ends_the_run(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-fake-0123456789abcdef")

    async def serve(request: web.Request) -> web.Response:
        text = (await request.json())["messages"][0]["content"]
        return web.Response(body=ODD[int(text)], content_type="application/json")

    async def work(door: Door) -> list[Reply]:
        app = web.Application()
        app.router.add_post("/v1/chat/completions", serve)
        runner = web.AppRunner(app)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        where = door.endpoint(Endpoint(base_url=f"http://127.0.0.1:{runner.addresses[0][1]}/v1"), MODEL)
        try:
            return list(await asyncio.gather(*(door.chat(ask(where, str(number))) for number in range(len(ODD)))))
        finally:
            await runner.cleanup()

    replies = with_door(home, work, retries=0)
    assert all(reply.ok or (reply.reason and reply.detail) for reply in replies)
    assert sum(reply.ok for reply in replies) == 1
