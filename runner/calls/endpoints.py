"""From an endpoint of the configuration to where a model really is: base URL, key and what stands for the server."""

from __future__ import annotations

import os

from runner.calls.requests import ModelEndpoint
from runner.config.schema import Endpoint
from runner.errors import ConfigurationError, Problem

OPENAI_BASE_URL = "https://api.openai.com/v1"
"""The SDK's own default."""

EMBEDDED = "embedded://"
"""In place of an address where the model runs in a server of ours."""


def resolve(endpoint: Endpoint, model: str, *, needs_key: bool = True) -> ModelEndpoint:
    """Where a hosted model is. Raises ConfigurationError for a missing key or address; nothing is sent.

    ``needs_key``: false for a door that makes no call.
    """
    base_url = endpoint.base_url or os.environ.get("OPENAI_BASE_URL") or ""
    problems = []
    if not base_url:
        if endpoint.provider == "openai":
            base_url = OPENAI_BASE_URL
        else:
            problems.append(
                Problem(
                    "endpoint.base_url",
                    f"the address of the server of {model} is missing",
                    "set it, for example http://127.0.0.1:11434/v1",
                )
            )
    elif not base_url.startswith(("http://", "https://")):
        problems.append(Problem("endpoint.base_url", f"{base_url} does not begin with http:// or https://"))
    name = endpoint.api_key_env
    if needs_key and name is not None and not os.environ.get(name):
        problems.append(
            Problem(
                name,
                f"the environment variable with the API key for {model} is not set",
                f"export {name}=… or write it into .env (set api_key_env to null for a server that wants no key)",
            )
        )
    if problems:
        raise ConfigurationError(problems)
    base_url = base_url.rstrip("/")
    return ModelEndpoint(
        provider=endpoint.provider,
        base_url=base_url,
        api_key_env=name,
        identity=base_url,
        api=endpoint.api,
        requests_per_minute=endpoint.requests_per_minute,
        tokens_per_minute=endpoint.tokens_per_minute,
    )


def embedded(endpoint: Endpoint, model: str, identity: str) -> ModelEndpoint:
    """A model of the embedded server, whose port is known only when it has started."""
    return ModelEndpoint(
        provider="embedded",
        base_url=f"{EMBEDDED}{model}",
        api_key_env=None,
        identity=identity,
        api="chat",
        requests_per_minute=endpoint.requests_per_minute,
        tokens_per_minute=endpoint.tokens_per_minute,
    )
