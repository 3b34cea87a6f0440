"""The wire of our own requests: sends one once, as the OpenAI SDK would, over the transport of its clients."""

from __future__ import annotations

import os
import sys
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from runner.calls.asks import WireReply
from runner.calls.requests import ModelEndpoint
from runner.errors import ConfigurationError, Problem
from runner.importing import loaded

if TYPE_CHECKING:
    from yarl import URL

    from runner.calls.http import PooledTransport

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


@dataclass(frozen=True, slots=True)
class _Line:
    """The connections to one address, and what the SDK says in the headers of every request."""

    transport: PooledTransport
    headers: tuple[tuple[str, str], ...]
    urls: dict[str, URL] = field(default_factory=dict)
    """Path → address, read once: reading one costs more than sending a request there."""


class SdkWire:
    """Requests of our own generator and judges: the SDK's authentication, headers and transport, none of its models.

    What the SDK does anew for every request (headers, address, classes for the reply) costs more than everything else
    together: of 3.2 ms of CPU that a call of a whole run took, 1.8 are left without it (measured).
    """

    def __init__(self, address: Callable[[], Awaitable[Address]]) -> None:
        """``address`` is asked before each request: an embedded server starts late, and may move."""
        self._address = address
        self._lines: dict[Address, _Line] = {}

    async def ready(self) -> None:
        await load_sdk()
        address = await self._address()
        if address not in self._lines:
            self._lines[address] = _line(address)

    async def send(self, path: str, content: bytes) -> WireReply:
        address = await self._address()
        line = self._lines.get(address)
        if line is None:
            line = self._lines[address] = _line(address)
        url = line.urls.get(path)
        if url is None:
            url = line.urls[path] = _url(address.base_url, path)
        return WireReply(*await line.transport.post(url, line.headers, content))

    async def close(self) -> None:
        for line in self._lines.values():
            await line.transport.aclose()


def _line(address: Address) -> _Line:
    import openai

    from runner.calls.http import PooledTransport

    # Reads OPENAI_ORG_ID and OPENAI_PROJECT_ID, as every client of the SDK does. It never sends anything itself.
    client = openai.AsyncOpenAI(api_key=address.api_key, base_url=address.base_url)
    said = {**client.default_headers, "Authorization": f"Bearer {address.api_key}"}
    return _Line(
        PooledTransport(address.base_url),
        tuple((name, value) for name, value in said.items() if isinstance(value, str)),
    )


def _url(base_url: str, path: str) -> URL:
    """The address of a path under a base URL, whose query, if it has one, is kept."""
    import httpx2
    from yarl import URL

    base = httpx2.URL(base_url)
    return URL(str(base.copy_with(raw_path=_joined(base.raw_path, path))), encoded=True)


def _joined(raw_path: bytes, path: str) -> bytes:
    before, mark, query = raw_path.partition(b"?")
    return before.rstrip(b"/") + path.encode() + mark + query


async def load_sdk() -> None:
    """Import the SDK, which takes a second or two, before any attempt's clock runs and without stopping the loop."""
    if "openai" not in sys.modules or "runner.calls.http" not in sys.modules:
        await loaded("openai", "runner.calls.http")
