"""The wire of our own requests: sends one once, through the OpenAI SDK in its cheapest form."""

from __future__ import annotations

import os
import sys
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from runner.calls.asks import WireReply
from runner.calls.requests import ModelEndpoint
from runner.errors import ConfigurationError, Problem
from runner.importing import loaded

if TYPE_CHECKING:
    import openai

NO_KEY = "not-needed"
"""What the SDK is given where the server wants no key; it refuses to start without any."""


def api_key(endpoint: ModelEndpoint) -> str:
    """The key of an endpoint from the environment; empty where it is missing.

    Raises ConfigurationError, without the key, where it holds what no HTTP header may hold.
    """
    if endpoint.api_key_env is None:
        return NO_KEY
    key = os.environ.get(endpoint.api_key_env, "").strip()
    if not (key.isascii() and key.isprintable()):
        what = "holds a character that no HTTP header may have, such as a curly quote or a line end"
        raise ConfigurationError([Problem(endpoint.api_key_env, what, "copy the key again, without quotes")])
    return key


@dataclass(frozen=True, slots=True)
class Address:
    """Where a server is at the moment, and the key that it takes."""

    base_url: str
    api_key: str = field(repr=False)


class SdkWire:
    """Requests of our own generator and judges: the SDK's authentication and headers, none of its models.

    Parsing a reply into the SDK's classes costs more than everything else together (2.7 against 1.6 ms of CPU a
    call, measured), so the raw answer is taken.
    """

    def __init__(self, address: Callable[[], Awaitable[Address]]) -> None:
        """``address`` is asked before each request: an embedded server starts late, and may move."""
        self._address = address
        self._clients: dict[Address, openai.AsyncOpenAI] = {}

    async def ready(self) -> None:
        await load_sdk()
        address = await self._address()
        if address not in self._clients:
            self._make(address)

    async def send(self, path: str, body: Mapping[str, Any]) -> WireReply:
        import httpx2
        import openai

        address = await self._address()
        client = self._clients.get(address) or self._make(address)
        try:
            response = await client.post(path, cast_to=httpx2.Response, body=body)
        except openai.APIStatusError as error:
            response = error.response
        return WireReply(response.status_code, response.headers, response.content)

    def _make(self, address: Address) -> openai.AsyncOpenAI:
        import httpx2
        import openai

        from runner.calls.http import PooledTransport

        client = self._clients[address] = openai.AsyncOpenAI(
            api_key=address.api_key,
            base_url=address.base_url,
            max_retries=0,
            timeout=None,
            http_client=httpx2.AsyncClient(
                transport=PooledTransport(address.base_url), timeout=None, follow_redirects=True, trust_env=False
            ),
        )
        return client

    async def close(self) -> None:
        for client in self._clients.values():
            await client.close()


async def load_sdk() -> None:
    """Import the SDK, which takes a second or two, before any attempt's clock runs and without stopping the loop."""
    if "openai" not in sys.modules or "runner.calls.http" not in sys.modules:
        await loaded("openai", "runner.calls.http")
