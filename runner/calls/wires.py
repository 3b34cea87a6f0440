"""The wire: sends one request once, through the OpenAI SDK in its cheapest form or as an HTTP client gave it."""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any

from runner.calls.asks import WireReply
from runner.calls.requests import ModelEndpoint

if TYPE_CHECKING:
    import httpx2
    import openai

NO_KEY = "not-needed"
"""What the SDK is given where the server wants no key; it refuses to start without any."""


def api_key(endpoint: ModelEndpoint) -> str:
    """The key of an endpoint from the environment; empty where it is missing."""
    return NO_KEY if endpoint.api_key_env is None else os.environ.get(endpoint.api_key_env, "")


class SdkWire:
    """Requests of our own generator and judges: the SDK's authentication and headers, none of its models.

    Parsing a reply into the SDK's classes costs more than everything else together (2.7 against 1.6 ms of CPU a
    call, measured), so the raw answer is taken.
    """

    def __init__(self, endpoint: ModelEndpoint, base_url: Callable[[], Awaitable[str]]) -> None:
        """``base_url`` is asked when the first request goes out: the embedded server is not started before."""
        self._endpoint = endpoint
        self._base_url = base_url
        self._client: openai.AsyncOpenAI | None = None

    async def send(self, path: str, body: Mapping[str, Any]) -> WireReply:
        import httpx2
        import openai

        if self._client is None:
            base_url = await self._base_url()
            # Two may have waited for the server to start.
            self._client = self._client or self._make(base_url)
        try:
            response = await self._client.post(path, cast_to=httpx2.Response, body=body)
        except openai.APIStatusError as error:
            response = error.response
        return WireReply(response.status_code, response.headers, response.content)

    def _make(self, base_url: str) -> openai.AsyncOpenAI:
        import httpx2
        import openai

        from runner.calls.http import PooledTransport

        return openai.AsyncOpenAI(
            api_key=api_key(self._endpoint),
            base_url=base_url,
            max_retries=0,
            timeout=None,
            http_client=httpx2.AsyncClient(
                transport=PooledTransport(base_url), timeout=None, follow_redirects=True, trust_env=False
            ),
        )

    async def close(self) -> None:
        if self._client is not None:
            await self._client.close()


class HttpWire:
    """One request of a user's own code, sent as their SDK made it, with their headers."""

    def __init__(self, inner: httpx2.AsyncBaseTransport, request: httpx2.Request, content: bytes) -> None:
        self._inner = inner
        self._request = request
        self._content = content

    async def send(self, path: str, body: Mapping[str, Any]) -> WireReply:
        import httpx2

        # A fresh request: the stream of the given one can be read only once, and its timeouts are not ours.
        request = httpx2.Request(
            self._request.method, self._request.url, headers=self._request.headers, content=self._content
        )
        response = await self._inner.handle_async_request(request)
        try:
            content = await response.aread()
        finally:
            await response.aclose()
        return WireReply(response.status_code, response.headers, content)
