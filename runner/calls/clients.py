"""SDK and HTTP clients for other code: langchain's and a user's own. They hold no key, only the way to the door."""

from __future__ import annotations

from typing import TYPE_CHECKING

import httpx2
import openai

from runner.calls.entrance import Entrance
from runner.calls.requests import ModelEndpoint
from runner.calls.transports import AsyncTransport, SyncTransport, legacy_transports

if TYPE_CHECKING:
    import httpx

KEY = "held-by-the-door"
"""Stands where the SDK wants a key; the real one is put in when the request goes out."""


def local_base(endpoint: ModelEndpoint) -> str:
    """The base URL that a client is given: the real one, or a name for the embedded server, which may not run yet."""
    return "http://embedded.invalid/v1" if endpoint.provider == "embedded" else endpoint.base_url


def async_openai_client(entrance: Entrance, endpoint: ModelEndpoint) -> openai.AsyncOpenAI:
    return openai.AsyncOpenAI(
        api_key=KEY, base_url=local_base(endpoint), max_retries=0, timeout=None, http_client=async_http_client(entrance)
    )


def openai_client(entrance: Entrance, endpoint: ModelEndpoint) -> openai.OpenAI:
    return openai.OpenAI(
        api_key=KEY, base_url=local_base(endpoint), max_retries=0, timeout=None, http_client=http_client(entrance)
    )


def async_http_client(entrance: Entrance) -> httpx2.AsyncClient:
    return httpx2.AsyncClient(transport=AsyncTransport(entrance), timeout=None, trust_env=False)


def http_client(entrance: Entrance) -> httpx2.Client:
    return httpx2.Client(transport=SyncTransport(entrance), timeout=None, trust_env=False)


def legacy_clients(entrance: Entrance) -> tuple[httpx.Client, httpx.AsyncClient]:
    """Clients of the older ``httpx``: (synchronous, asynchronous)."""
    import httpx

    synchronous, asynchronous = legacy_transports(entrance)
    return (
        httpx.Client(transport=synchronous, timeout=None, trust_env=False),  # noqa: S113 (the door has the deadlines)
        httpx.AsyncClient(transport=asynchronous, timeout=None, trust_env=False),  # noqa: S113
    )
