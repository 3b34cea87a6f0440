"""What is asked of a model and what comes back: the types at the door, without any behaviour."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from runner.records import Call


@dataclass(frozen=True, slots=True)
class ModelEndpoint:
    """Where a model is served, with nothing left to look up. Never holds a key."""

    provider: str
    """openai | openai_compatible | embedded."""
    base_url: str
    """As the SDK would use it, for example ``https://api.openai.com/v1``."""
    api_key_env: str | None
    """Name of the environment variable that holds the key; ``None``: the server wants none."""
    identity: str
    """What stands for the server in the ledger key: the base URL, or weights and runtime of the embedded server."""
    api: str = "chat"
    """chat | responses."""
    requests_per_minute: int | None = None
    tokens_per_minute: int | None = None


@dataclass(frozen=True, slots=True)
class ChatRequest:
    """One request to a chat model, as the user meant it."""

    endpoint: ModelEndpoint
    model: str
    messages: tuple[Mapping[str, str], ...]
    """``{"role": ..., "content": ...}`` each."""
    max_tokens: int
    """Output limit; always sent, under the name that the model takes."""
    temperature: float | None = None
    schema_name: str = ""
    schema: Mapping[str, Any] | None = None
    """A strict JSON schema that the reply must follow."""
    top_logprobs: int | None = None
    """Ask for log probabilities with this many alternatives for each token."""
    seed: int | None = None
    repeat: int = 0
    """0-based; each repeat is a call of its own."""
    reask: int = 0
    """0 for the first question, 1 for the one re-ask after a reply that could not be read."""


@dataclass(frozen=True, slots=True)
class TokenChoice:
    """One output token with its alternatives."""

    token: str
    logprob: float
    alternatives: tuple[tuple[str, float], ...]
    """(token, log probability), best first."""


@dataclass(frozen=True, slots=True)
class Reply:
    """What came back. A reply that failed has a reason, and is never raised as an exception."""

    status: str
    """``ok`` or ``failed``."""
    text: str
    reason: str
    """A ``records.Reason`` (or ``http_<code>``) where failed, else empty."""
    detail: str
    """The reason in a sentence, without secrets."""
    call: Call
    logprobs: tuple[TokenChoice, ...] = ()

    @property
    def ok(self) -> bool:
        return self.status == "ok"
