"""A door without a wire: replies are queued or computed in the test, and every request is kept."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any

from runner.calls.requests import ChatRequest, ModelEndpoint, Reply, TokenChoice
from runner.config.schema import Endpoint
from runner.records import Call, Reason, Usage

Answering = Callable[[ChatRequest], "Reply | str"]


def a_call(
    model: str = "fake", status: str = "ok", requested: Mapping[str, Any] | None = None, cost: str = "0.001"
) -> Call:
    """A call that cost ``cost`` dollars."""
    money = Decimal(cost)
    return Call(
        key="k",
        stage="judge",
        model=model,
        provider="fake",
        status=status,
        from_ledger=False,
        usage=Usage(10, 2),
        input_cost=money,
        output_cost=Decimal(0),
        total_cost=money,
        new_cost=money,
        latency_s=0.01,
        attempts=1,
        started_at="2026-01-01T00:00:00Z",
        requested=requested or {},
    )


def ok(text: str, logprobs: tuple[TokenChoice, ...] = (), model: str = "fake-2026") -> Reply:
    """A reply that came."""
    return Reply(status="ok", text=text, reason="", detail="", call=a_call(model), logprobs=logprobs)


def failed(reason: str = Reason.TIMEOUT, text: str = "") -> Reply:
    """A reply that did not come, or came as a refusal."""
    return Reply(
        status="failed", text=text, reason=reason, detail=f"it ended with {reason}", call=a_call(status=reason)
    )


def verdict(value: object, reasoning: str = "Because.", key: str = "score") -> str:
    """A verdict as a judge writes it."""
    return json.dumps({"reasoning": reasoning, key: value})


def token(text: str, **alternatives: float) -> TokenChoice:
    """One output token with the probabilities (not logs) of its alternatives."""
    ranked = sorted(alternatives.items(), key=lambda item: -item[1])
    return TokenChoice(text, 0.0, tuple((word, math.log(p)) for word, p in ranked))


class QueuedDoor:
    """Hands out the queued replies in order, or asks a function for each; fails where the queue is empty."""

    def __init__(self, *replies: Reply | str, answering: Answering | None = None) -> None:
        self.requests: list[ChatRequest] = []
        self.retry_failed = False
        self._replies = list(replies)
        self._answering = answering

    def endpoint(self, endpoint: Endpoint, model: str) -> ModelEndpoint:
        """Nowhere."""
        return ModelEndpoint("openai_compatible", "http://fake/v1", None, "http://fake/v1")

    async def chat(self, request: ChatRequest, *, again: bool = False) -> Reply:
        """The next reply."""
        self.requests.append(request)
        reply = self._answering(request) if self._answering else self._replies.pop(0)
        return ok(reply) if isinstance(reply, str) else reply
