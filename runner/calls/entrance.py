"""The entrance for other code's HTTP requests: langchain's and a user's own, through clients on our transport.

Their requests go out as they were made, and come back as an HTTP answer; ledger, single flight, limits, budget and
retries are the same as for our own.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from runner.calls.asks import Ask, Landed, WireReply
from runner.calls.bodies import APIS, output_limit
from runner.calls.context import CallContext, Occurrences, collectors, current
from runner.calls.core import Core
from runner.calls.events import asked_for_usage, with_usage, without_usage_event
from runner.calls.keys import call_key
from runner.calls.requests import ModelEndpoint
from runner.calls.wires import Address
from runner.records import Call, Reason

if TYPE_CHECKING:
    import httpx2

Headers = Sequence[tuple[str, str]]

_OURS = frozenset({"authorization", "host", "content-length", "accept-encoding", "transfer-encoding"})
"""Headers that are made anew for the wire. The key is the door's: the code that calls never needs it."""


@dataclass(frozen=True, slots=True)
class Incoming:
    """An HTTP request of other code."""

    method: str
    url: str
    headers: Headers
    content: bytes


@dataclass(frozen=True, slots=True)
class Exchange:
    """An HTTP answer for the asking client."""

    status: int
    content_type: str
    body: bytes

    @property
    def headers(self) -> list[tuple[str, str]]:
        # Retries have one owner, and it has done what it could: a client with retries of its own must not go on.
        return [("content-type", self.content_type), ("x-should-retry", "false")]


class NoAnswer(Exception):
    """No whole HTTP answer came; ``reason`` is a ``Reason``."""

    def __init__(self, reason: str, detail: str) -> None:
        super().__init__(detail)
        self.reason = reason


class Entrance:
    """For the clients of one endpoint."""

    def __init__(
        self,
        core: Core,
        endpoint: ModelEndpoint,
        address: Callable[[], Awaitable[Address]],
        transport: Callable[[str], httpx2.AsyncBaseTransport],
        local_base: str,
    ) -> None:
        """``address`` is asked before each request; ``local_base`` is what the clients think it is."""
        self._core = core
        self._endpoint = endpoint
        self._address = address
        self._transport = transport
        self._prefix = local_base.rstrip("/")
        # For code that starts threads of its own, where context variables do not follow.
        self._context = current()
        self._listeners = collectors()

    async def exchange(self, request: Incoming) -> Exchange:
        """From any event loop. Raises NoAnswer, SweepStopped, JobStopped, BudgetReached, StorageError."""
        return await self._core.anywhere(self._exchange(request, self._whose(), self._heard_by()))

    def exchange_blocking(self, request: Incoming) -> Exchange:
        """The same for a thread without an event loop."""
        return self._core.blocking(self._exchange(request, self._whose(), self._heard_by()))

    async def _exchange(self, request: Incoming, context: CallContext, listeners: tuple[list[Call], ...]) -> Exchange:
        if request.method != "POST":
            # Asks for a list of models and the like: no model call, nothing to account for.
            reply = await self._wire(replace(request, url=self._path(request.url))).send("", b"")
            return Exchange(reply.status, reply.headers.get("content-type", "application/json"), reply.body)
        ask = self._ask(request, context)
        landed, _ = await self._core.call(ask, listeners=listeners)
        return _answer(ask, landed)

    def _heard_by(self) -> tuple[list[Call], ...]:
        return collectors() or self._listeners

    def _whose(self) -> CallContext:
        context = current()
        return self._context if context == CallContext() else context

    def _path(self, url: str) -> str:
        """The path under the base URL, with its query."""
        return url[len(self._prefix) :] if url.startswith(self._prefix) else url

    def _wire(self, request: Incoming) -> _HttpWire:
        """``request.url`` is the path under the base URL here."""
        return _HttpWire(self._address, self._transport, request)

    def _ask(self, request: Incoming, context: CallContext) -> Ask:
        path = self._path(request.url)
        bare = path.split("?", 1)[0]
        api = APIS.get(bare, "")
        body, sent = _body(request.content, bare)
        identity = self._endpoint.identity
        key = call_key(identity, path, body)
        occurrence = _occurrence(context.occurrences, key) if api in ("chat", "responses") else 0
        if occurrence:
            key = call_key(identity, path, body, occurrence=occurrence)
        model = body.get("model")
        return Ask(
            key=key,
            endpoint=self._endpoint,
            path=bare,
            api=api,
            model=model if isinstance(model, str) else bare.strip("/"),
            body=body,
            context=replace(context, occurrences=None),
            wire=self._wire(replace(request, url=path, content=sent)),
            # An embedding writes nothing, so its worst case is its input.
            limit=0 if api == "embeddings" else output_limit(body),
            adaptable=False,
            replayable=api in ("chat", "responses"),
            occurrence=occurrence,
        )


class _HttpWire:
    """One request of other code, with its headers and our key."""

    def __init__(
        self,
        address: Callable[[], Awaitable[Address]],
        transport: Callable[[str], httpx2.AsyncBaseTransport],
        request: Incoming,
    ) -> None:
        self._address = address
        self._transport = transport
        self._request = request

    async def ready(self) -> None:
        # Makes the connections' pool, too, which takes a moment that is not the attempt's.
        self._transport((await self._address()).base_url)

    async def send(self, path: str, content: bytes) -> WireReply:
        import httpx2

        request, address = self._request, await self._address()
        headers = [(name, value) for name, value in request.headers if name.lower() not in _OURS]
        headers.append(("Authorization", f"Bearer {address.api_key}"))
        url = f"{address.base_url}{request.url}" if request.url.startswith("/") else request.url
        response = await self._transport(address.base_url).handle_async_request(
            httpx2.Request(request.method, url, headers=headers, content=request.content)
        )
        return WireReply(response.status_code, response.headers, await response.aread())


def _occurrence(occurrences: Occurrences | None, key: str) -> int:
    return 0 if occurrences is None else occurrences.next(key)


def _body(content: bytes, path: str) -> tuple[dict[str, Any], bytes]:
    """The body as meant, and the bytes to send. What is not a JSON object is known by its hash alone."""
    try:
        told = json.loads(content) if content else None
    except (ValueError, RecursionError):
        told = None
    if not isinstance(told, dict):
        return {"sha256": hashlib.sha256(content).hexdigest()}, content
    if told.get("stream") is True and not asked_for_usage(told):
        return told, json.dumps(with_usage(told, path)).encode()
    return told, content


def _answer(ask: Ask, landed: Landed) -> Exchange:
    attempt = landed.final or (landed.attempts[-1] if landed.attempts else None)
    body = landed.body if landed.body is not None else attempt.response if attempt is not None else None
    if attempt is None or attempt.http_status is None or body is None:
        raise NoAnswer(landed.reason or Reason.CONNECTION, landed.detail or "no answer came")
    streamed = ask.body.get("stream") is True and attempt.http_status == 200
    if streamed and ask.api == "chat" and not asked_for_usage(ask.body):
        body = without_usage_event(body)
    return Exchange(attempt.http_status, "text/event-stream" if streamed else "application/json", body)
