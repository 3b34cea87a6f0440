"""What a call came to: its attempts in the ledger, added up. The same figures whether it was made now or replayed."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any

from runner.calls.ledger import Attempt
from runner.records import Call, Reason, Usage

_NOTHING = Decimal(0)


def call_of(
    attempts: Sequence[Attempt], new: Sequence[Attempt], *, key: str, stage: str, status: str, provider: str, model: str
) -> Call:
    """The account of one call; ``new`` are those of ``attempts`` that this asker paid for.

    A reply without a usage makes the costs unknown. Attempts without a reply add nothing to them: those that may have
    been paid all the same are marked in the ledger and count against the cap.
    """
    last = attempts[-1] if attempts else None
    paid = [attempt for attempt in attempts if counts(attempt)]
    return Call(
        key=key,
        stage=stage,
        model=_answered(attempts) or model,
        provider=provider,
        status=status,
        from_ledger=not new,
        usage=_sum_usage(paid),
        input_cost=_sum(attempt.input_cost for attempt in paid),
        output_cost=_sum(attempt.output_cost for attempt in paid),
        total_cost=_sum(attempt.total_cost for attempt in paid),
        new_cost=_sum(attempt.total_cost for attempt in new if counts(attempt)),
        latency_s=round(sum(attempt.latency_s for attempt in attempts), 6),
        attempts=len(attempts),
        started_at=attempts[0].started_at if attempts else "",
        requested=_left_out(last),
    )


def counts(attempt: Attempt) -> bool:
    """Whether its cost, or that it is unknown, is part of what the call has cost."""
    if attempt.usage is not None:
        return True
    # A reply of a server that says nothing of tokens; where every token is free, so is the reply.
    replied = attempt.replayed or attempt.status in ("ok", Reason.TRUNCATED)
    return replied and attempt.http_status == 200 and attempt.possibly_paid and attempt.worst_case != 0


def _answered(attempts: Sequence[Attempt]) -> str:
    for attempt in reversed(attempts):
        if attempt.usage is not None or attempt.status == "ok":
            return attempt.model
    return ""


def _sum_usage(paid: Sequence[Attempt]) -> Usage | None:
    if len(paid) == 1:
        return paid[0].usage
    total: Usage | None = None
    for attempt in paid:
        if attempt.usage is not None:
            total = attempt.usage if total is None else total + attempt.usage
    return total


def _sum(amounts: Any) -> Decimal | None:
    """The sum, or ``None`` (unknown) where one of them is."""
    total = _NOTHING
    for amount in amounts:
        if amount is None:
            return None
        total += amount
    return total


def _left_out(last: Attempt | None) -> Mapping[str, Any]:
    if last is None or last.sent == "{}":
        return {}
    left_out: Mapping[str, Any] = json.loads(last.sent).get("left_out", {})
    return left_out
