"""A model server on loopback that speaks the OpenAI protocol, counts everything and fails on request.

    with ModelServer(latency_s=0.2) as server:
        server.when(fault("rate_limited", retry_after="1"), probability=0.05)
        ...                                    # calls to server.base_url
        assert server.count(path="/chat/completions") == 40

As a process: ``python -m tests.fakes.model_server --port-file F`` (GET /_stats, POST /_reset, POST /_when there).
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import threading
from collections import deque
from collections.abc import Iterable, Mapping
from typing import Any, Self

from aiohttp import web

from tests.fakes import replies
from tests.fakes.answers import prompt_of
from tests.fakes.faults import Fault, Rule, draw, fault, http_answer
from tests.fakes.seen import Request, Seen, Tokens, canonical

__all__ = ["ModelServer", "Request", "Tokens", "fault"]


class ModelServer(Seen):
    """The server in a thread of its own. ``base_url`` ends in ``/v1``."""

    def __init__(
        self,
        *,
        latency_s: float = 0.0,
        seed: int = 0,
        models: Iterable[str] | None = None,
        refuses: Mapping[str, Iterable[str]] | None = None,
        api_key: str | None = None,
        dimensions: int = 256,
        shape: replies.Shape | None = None,
        headers: Mapping[str, str] | None = None,
        port: int = 0,
    ) -> None:
        """``models``: names that exist (others are 404; ``None``: all). ``refuses``: parameters by model that get a
        400. ``api_key``: other keys are 401. ``headers``: sent with every answer, such as ``x-ratelimit-…``."""
        super().__init__()
        self.latency_s, self.seed, self.api_key, self.dimensions = latency_s, seed, api_key, dimensions
        self.models = None if models is None else list(models)
        self.refuses = {model: set(names) for model, names in (refuses or {}).items()}
        self.shape = shape or replies.Shape()
        self.headers = dict(headers or {})
        self._port = port
        self._loop = asyncio.new_event_loop()
        self._rules: list[Rule] = []
        self._queue: deque[Fault | None] = deque()
        self.reset()

    def reset(self) -> None:
        """Forget all requests, rules and queued replies; settings stay."""
        with self._lock:
            self._forget()
            self._rules.clear()
            self._queue.clear()

    # -- what goes wrong

    def queue(self, *faults: Fault | str | None, times: int = 1) -> None:
        """The next replies, first come first served, before any rule; ``None`` or ``"ok"`` is a normal one."""
        made = [fault(one) if isinstance(one, str) else one for one in faults]
        with self._lock:
            self._queue.extend(made * times)

    def when(self, what: Fault | str, **conditions: Any) -> None:
        """Add a rule; conditions as in ``Rule``: probability, model, contains, path, times, first_attempts."""
        with self._lock:
            self._rules.append(Rule(fault(what) if isinstance(what, str) else what, **conditions))

    # -- running

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self._port}/v1"

    def __enter__(self) -> Self:
        started = threading.Event()
        self._thread = threading.Thread(target=self._serve, args=(started,), name="fake-model-server", daemon=True)
        self._thread.start()
        if not started.wait(20):
            raise RuntimeError("the fake model server did not start")
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join(10)

    def _serve(self, started: threading.Event) -> None:
        asyncio.set_event_loop(self._loop)
        self._loop.run_until_complete(self._main(started))
        self._loop.close()

    async def _main(self, started: threading.Event) -> None:
        self._stop = asyncio.Event()
        app = web.Application(client_max_size=1 << 28)
        app.router.add_get("/v1/models", self._list_models)
        app.router.add_post("/v1/chat/completions", self._handle)
        app.router.add_post("/v1/responses", self._handle)
        app.router.add_post("/v1/embeddings", self._handle)
        app.router.add_get("/_stats", self._stats)
        app.router.add_post("/_reset", self._reset)
        app.router.add_post("/_when", self._when)
        runner = web.AppRunner(app, access_log=None, handler_cancellation=True, shutdown_timeout=0.2)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", self._port, backlog=1024)
        await site.start()
        self._port = runner.addresses[0][1]
        started.set()
        await self._stop.wait()
        await runner.cleanup()

    async def _list_models(self, _: web.Request) -> web.Response:
        names = self.models or ["gpt-4o-mini", "gpt-4o", "text-embedding-3-small"]
        rows = [{"id": name, "object": "model", "created": replies.CREATED, "owned_by": "fake"} for name in names]
        return web.json_response({"object": "list", "data": rows}, headers=self.headers)

    async def _stats(self, _: web.Request) -> web.Response:
        billed = self.tokens()
        chat, embed = self.count(path="/chat/completions"), self.count(path="/embeddings")
        return web.json_response(
            {"requests": len(self.requests), "chat": chat, "embeddings": embed, "unique": self.unique()}
            | {"in_flight_max": self.in_flight_max, "input_tokens": billed.input, "output_tokens": billed.output}
            | {"models": self.by_model()}
        )

    async def _reset(self, _: web.Request) -> web.Response:
        self.reset()
        return web.json_response({})

    async def _when(self, request: web.Request) -> web.Response:
        asked = await request.json()
        self.when(fault(asked.pop("fault"), **asked.pop("values", {})), **asked)
        return web.json_response({})

    async def _handle(self, http: web.Request) -> web.StreamResponse:
        body = json.loads(await http.read())
        entry = self._enter(http.path, http.headers, body)
        try:
            chosen = self._refused(http, body) or self._choose(entry)
            entry.fault = chosen.kind if chosen and chosen.kind != "ok" else ""
            return await self._answer(http, entry, chosen)
        finally:
            with self._lock:
                self.in_flight -= 1

    def _refused(self, http: web.Request, body: Mapping[str, Any]) -> Fault | None:
        """What this server never accepts, whatever the rules say."""
        if self.api_key is not None and http.headers.get("Authorization") != f"Bearer {self.api_key}":
            return fault("unauthorized")
        model = str(body.get("model", ""))
        if self.models is not None and model not in self.models:
            return fault("model_not_found")
        for name in sorted(self.refuses.get(model, ())):
            if name in body and not (name == "temperature" and body[name] == 1):
                code = "unsupported_parameter" if name in ("max_tokens", "logprobs") else "unsupported_value"
                return fault("refused_parameter", parameter=name, code=code)
        return None

    def _choose(self, entry: Request) -> Fault | None:
        with self._lock:
            if self._queue:
                return self._queue.popleft()
            if not self._rules:
                return None
            key = hashlib.sha256(f"{entry.path} {canonical(entry.body)}".encode()).hexdigest()
            prompt = prompt_of(entry.body)
            for place, rule in enumerate(self._rules):
                chance = draw(self.seed, place, key, entry.attempt)
                if rule.meets(entry.path, entry.model, prompt, chance, entry.attempt):
                    rule.times = None if rule.times is None else rule.times - 1
                    return rule.fault
        return None

    async def _answer(self, http: web.Request, entry: Request, chosen: Fault | None) -> web.StreamResponse:
        kind = chosen.kind if chosen else ""
        if chosen and kind == "hang":
            await asyncio.sleep(chosen.values.get("seconds", 3600))
        delay = self.latency_s + (chosen.values.get("seconds", 0.0) if chosen and kind == "latency" else 0.0)
        if delay:
            await asyncio.sleep(delay)
        if kind == "refuse_connection":
            self._abort(http)
        headers = self.headers | {"x-request-id": f"req_{entry.number}"} | dict(chosen.headers if chosen else {})
        failed = http_answer(chosen, entry.model) if chosen else None
        if failed:
            entry.status = failed[0]
            entry.delivered = True
            return web.json_response(failed[1], status=failed[0], headers=headers | failed[2])
        whole = self._whole(entry, chosen)
        if kind == "no_usage":
            whole.pop("usage")
        data = b"<html>Bad gateway</html>" if kind == "not_json" else json.dumps(whole).encode()
        entry.status = 200
        if entry.body.get("stream") and entry.path.endswith("/chat/completions"):
            return await self._stream(http, entry, whole, headers, cut=kind == "cut")
        if kind == "cut":
            answer = web.StreamResponse(headers=headers | {"Content-Type": "application/json"})
            answer.content_length = len(data)
            await answer.prepare(http)
            await answer.write(data[: len(data) // 2])
            self._abort(http)
        entry.delivered = True
        return web.Response(body=data, content_type="application/json", headers=headers)

    def _whole(self, entry: Request, chosen: Fault | None) -> dict[str, Any]:
        """The complete answer; notes what it is billed at."""
        if entry.path.endswith("/embeddings"):
            entry.input_tokens = replies.embedding_tokens(entry.body)
            return replies.embeddings(entry.body, self.dimensions)
        said = replies.say(entry.body, chosen)
        entry.input_tokens, entry.output_tokens = replies.counts(entry.body, said, self.shape)
        build = replies.responses if entry.path.endswith("/responses") else replies.chat
        return build(entry.body, said, self.shape, entry.number)

    async def _stream(
        self, http: web.Request, entry: Request, whole: dict[str, Any], headers: Mapping[str, str], *, cut: bool
    ) -> web.StreamResponse:
        answer = web.StreamResponse(headers=dict(headers) | {"Content-Type": "text/event-stream"})
        await answer.prepare(http)
        chunks = replies.stream(whole, bool((entry.body.get("stream_options") or {}).get("include_usage")))
        for chunk in chunks[: len(chunks) // 2] if cut else chunks:
            await answer.write(chunk)
        if cut:
            self._abort(http)
        entry.delivered = True
        await answer.write_eof()
        return answer

    @staticmethod
    def _abort(http: web.Request) -> None:
        if http.transport is not None:
            http.transport.abort()
        raise asyncio.CancelledError


if __name__ == "__main__":
    from tests.fakes.serve import main

    main()
