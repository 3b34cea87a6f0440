"""The entrance as transports of HTTP clients: httpx2, which the OpenAI SDK speaks, and httpx, which older code does."""

from __future__ import annotations

from typing import Any

import httpx2

from runner.calls.entrance import Entrance, Exchange, Incoming, NoAnswer
from runner.records import Reason


class AsyncTransport(httpx2.AsyncBaseTransport):
    """For ``httpx2.AsyncClient``, in any event loop."""

    def __init__(self, entrance: Entrance) -> None:
        self._entrance = entrance

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        content = await request.aread()
        try:
            answer = await self._entrance.exchange(_incoming(request, content))
        except NoAnswer as error:
            raise _exception(httpx2, error, request) from None
        response: httpx2.Response = _response(httpx2, answer, request)
        return response


class SyncTransport(httpx2.BaseTransport):
    """For ``httpx2.Client``, in any thread but that of the door's event loop."""

    def __init__(self, entrance: Entrance) -> None:
        self._entrance = entrance

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        content = request.read()
        try:
            answer = self._entrance.exchange_blocking(_incoming(request, content))
        except NoAnswer as error:
            raise _exception(httpx2, error, request) from None
        response: httpx2.Response = _response(httpx2, answer, request)
        return response


def legacy_transports(entrance: Entrance) -> tuple[Any, Any]:
    """(synchronous, asynchronous) transports for clients of the older ``httpx``."""
    import httpx

    class LegacySync(httpx.BaseTransport):
        def handle_request(self, request: httpx.Request) -> httpx.Response:
            content = request.read()
            try:
                answer = entrance.exchange_blocking(_incoming(request, content))
            except NoAnswer as error:
                raise _exception(httpx, error, request) from None
            response: httpx.Response = _response(httpx, answer, request)
            return response

    class LegacyAsync(httpx.AsyncBaseTransport):
        async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
            content = await request.aread()
            try:
                answer = await entrance.exchange(_incoming(request, content))
            except NoAnswer as error:
                raise _exception(httpx, error, request) from None
            response: httpx.Response = _response(httpx, answer, request)
            return response

    return LegacySync(), LegacyAsync()


def _incoming(request: Any, content: bytes) -> Incoming:
    headers = [(name.decode("latin-1"), value.decode("latin-1")) for name, value in request.headers.raw]
    return Incoming(request.method, str(request.url), headers, content)


def _response(library: Any, answer: Exchange, request: Any) -> Any:
    return library.Response(answer.status, headers=answer.headers, content=answer.body, request=request)


def _exception(library: Any, error: NoAnswer, request: Any) -> Exception:
    kind = library.ReadTimeout if error.reason == Reason.TIMEOUT else library.ConnectError
    exception: Exception = kind(str(error), request=request)
    return exception
