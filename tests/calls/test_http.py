"""The connections under the SDK clients: decoding, proxies, and telling what was paid from what never left."""

from __future__ import annotations

import asyncio
import gzip
import json
import socket
from collections.abc import Awaitable, Callable
from pathlib import Path

import httpx2
import pytest
from aiohttp import web

from runner.calls import Door, Reply
from runner.calls.http import PooledTransport, proxy_for
from runner.config.schema import Endpoint
from tests.calls.calls_helpers import KEY, MODEL, ask, endpoint, rows, with_door
from tests.fakes.model_server import ModelServer

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)


def exchange(handler: Handler, content: bytes = b"{}") -> httpx2.Response:
    """One POST to a server that answers with ``handler``."""

    async def main() -> httpx2.Response:
        app = web.Application()
        app.router.add_post("/v1/x", handler)
        runner = web.AppRunner(app)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        base = f"http://127.0.0.1:{runner.addresses[0][1]}/v1"
        transport = PooledTransport(base)
        try:
            return await transport.handle_async_request(
                httpx2.Request("POST", f"{base}/x?a=b%20c", headers={"X-Own": "kept"}, content=content)
            )
        finally:
            await transport.aclose()
            await runner.cleanup()

    return asyncio.run(main())


def test_a_request_arrives_as_it_was_made_and_an_answer_decoded() -> None:
    async def handler(request: web.Request) -> web.Response:
        seen = {
            "own": request.headers["X-Own"],
            "query": request.raw_path,
            "body": (await request.read()).decode(),
            "agent": request.headers.get("User-Agent"),
        }
        packed = gzip.compress(json.dumps(seen).encode())
        return web.Response(body=packed, headers={"Content-Encoding": "gzip", "X-Request-Id": "r"})

    answer = exchange(handler, b'{"text": "\xc3\xa9"}')
    assert answer.json() == {"own": "kept", "query": "/v1/x?a=b%20c", "body": '{"text": "é"}', "agent": None}
    assert answer.headers["x-request-id"] == "r"
    assert "content-encoding" not in answer.headers


def test_the_proxy_of_the_environment_is_used_but_not_for_loopback(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "https_proxy", "all_proxy", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)
    assert proxy_for("https://api.openai.com/v1") is None
    monkeypatch.setenv("https_proxy", "proxy.example:3128")
    monkeypatch.setenv("http_proxy", "http://proxy.example:3128")
    assert proxy_for("https://api.openai.com/v1") == "http://proxy.example:3128"
    assert proxy_for("http://127.0.0.1:8080/v1") is None
    assert proxy_for("http://localhost:11434/v1") is None
    monkeypatch.setenv("no_proxy", "openai.com")
    assert proxy_for("https://api.openai.com/v1") is None


def test_a_server_that_is_not_there_was_not_paid(home: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]

    async def work(door: Door) -> Reply:
        return await door.chat(ask(door.endpoint(Endpoint(base_url=f"http://127.0.0.1:{port}/v1"), MODEL)))

    reply = with_door(home, work, retries=0)
    assert (reply.reason, reply.call.attempts) == ("connection", 1)
    assert f"127.0.0.1:{port}" in reply.detail
    assert rows(home, "possibly_paid") == [(0,)]


@pytest.mark.parametrize("kind", ["cut", "refuse_connection"])
def test_a_connection_that_breaks_after_the_request_may_have_been_paid(kind: str, home: Path) -> None:
    """The request was out: whether the provider billed it, nobody here knows."""
    with ModelServer() as server:
        server.when(kind)
        reply = with_door(home, lambda door: door.chat(ask(endpoint(door, server))), retries=0)
    assert reply.reason == "connection"
    assert rows(home, "possibly_paid") == [(1,)]


def test_our_own_request_says_what_the_sdk_says_and_follows_a_moved_server(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_ORG_ID", "org-a")
    monkeypatch.setenv("OPENAI_PROJECT_ID", "proj-b")
    seen: list[web.Request] = []
    bodies: list[object] = []

    async def moved(request: web.Request) -> web.Response:
        return web.Response(status=308, headers={"Location": f"/new{request.raw_path}"})

    async def answer(request: web.Request) -> web.Response:
        seen.append(request)
        bodies.append(await request.json())
        message = {"role": "assistant", "content": "At noon."}
        usage = {"prompt_tokens": 3, "completion_tokens": 2}
        return web.json_response(
            {"model": MODEL, "choices": [{"message": message, "finish_reason": "stop"}], "usage": usage}
        )

    async def work(door: Door) -> Reply:
        app = web.Application()
        app.router.add_post("/v1/chat/completions", moved)
        app.router.add_post("/new/v1/chat/completions", answer)
        runner = web.AppRunner(app)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        base = f"http://127.0.0.1:{runner.addresses[0][1]}/v1/?api-version=7"
        try:
            return await door.chat(ask(door.endpoint(Endpoint(base_url=base), MODEL), "When, at 100 °C?"))
        finally:
            await runner.cleanup()

    reply = with_door(home, work, retries=0)
    assert (reply.text, reply.detail) == ("At noon.", "")
    (request,) = seen
    assert request.raw_path == "/new/v1/chat/completions?api-version=7"
    assert request.headers["Authorization"] == f"Bearer {KEY}"
    assert request.headers["Content-Type"] == "application/json"
    assert "OpenAI" in request.headers["User-Agent"]
    assert (request.headers["OpenAI-Organization"], request.headers["OpenAI-Project"]) == ("org-a", "proj-b")
    (body,) = bodies
    assert isinstance(body, dict)
    assert body["messages"] == [{"role": "user", "content": "When, at 100 °C?"}]
