"""One call as the core sees it, on its way in and out: what is asked, what the wire answers, what has landed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from runner.calls.context import CallContext
from runner.calls.ledger import Attempt, Found, final_attempt
from runner.calls.requests import ModelEndpoint


@dataclass(frozen=True, slots=True)
class WireReply:
    """An HTTP answer, read to its end and decoded."""

    status: int
    headers: Mapping[str, str]
    body: bytes


class Wire(Protocol):
    """Sends one request once. Raises what its HTTP client raises; see ``retries`` for what that means."""

    async def ready(self) -> None:
        """Wait until there is a server to send to. Raises ConfigurationError and JobStopped."""

    async def send(self, path: str, content: bytes) -> WireReply: ...


@dataclass(frozen=True, slots=True)
class Ask:
    """One request, by whomever it is made."""

    key: str
    endpoint: ModelEndpoint
    path: str
    api: str
    """chat | responses | embeddings, or empty for anything else."""
    model: str
    body: Mapping[str, Any]
    """As meant."""
    context: CallContext
    wire: Wire
    limit: int | None
    """The output limit in tokens; ``None`` where the asker gave none."""
    adaptable: bool
    """Ours: may go out without a refused parameter, or again with twice the limit. A user's own goes out as it is."""
    replayable: bool = True
    """Whether the reply is kept and answers later calls."""
    repeat: int = 0
    reask: int = 0
    occurrence: int = 0


@dataclass(frozen=True, slots=True)
class Landed:
    """What became of a call."""

    attempts: Found
    """All attempts that the ledger has of the key, oldest first."""
    new: Found = ()
    """Those that this asker paid for."""
    reason: str = ""
    """Where no reply counts: why."""
    detail: str = ""
    body: bytes | None = None
    """The body of the last answer, where it came just now; embeddings are not kept in the ledger."""

    @property
    def final(self) -> Attempt | None:
        """The attempt whose reply counts."""
        return final_attempt(self.attempts)

    @property
    def status(self) -> str:
        """``ok`` or a ``Reason``."""
        if self.reason:
            return self.reason
        final = self.final or (self.attempts[-1] if self.attempts else None)
        return final.status if final is not None else ""

    @property
    def received(self) -> Attempt | None:
        """The last attempt that brought a reply of a model: the final one, or what it was cut short from."""
        for attempt in reversed(self.attempts):
            if attempt.http_status == 200 and attempt.response is not None:
                return attempt
        return self.final
