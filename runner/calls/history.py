"""What the ledger's own past says about a model in a stage: the ground on which a plan estimates."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from sqlalchemy import func, select

from runner.calls.ledger.ledger import Ledger
from runner.calls.ledger.tables import attempts


@dataclass(frozen=True, slots=True)
class History:
    """What the replies of one model in one stage have come to."""

    replies: int
    mean_output_tokens: float
    least_output_tokens: int
    most_output_tokens: int
    tokens_per_byte: float
    """Input tokens for each byte of the request body."""
    mean_latency_s: float


def history(ledger: Ledger) -> Mapping[tuple[str, str], History]:
    """(stage, model as asked for) → its past. Only replies with a usage count."""
    columns = attempts.c
    query = (
        select(
            columns.stage,
            columns.asked_model,
            func.count(),
            func.avg(columns.output_tokens),
            func.min(columns.output_tokens),
            func.max(columns.output_tokens),
            func.sum(columns.input_tokens) * 1.0 / func.sum(columns.request_bytes),
            func.avg(columns.latency_s),
        )
        .where(columns.input_tokens.is_not(None), columns.request_bytes > 0)
        .group_by(columns.stage, columns.asked_model)
    )
    rows = ledger.read(query)
    return {
        (stage, model): History(count, float(mean or 0), int(least or 0), int(most or 0), float(ratio), float(latency))
        for stage, model, count, mean, least, most, ratio, latency in rows
    }


def answered(ledger: Ledger) -> Mapping[tuple[str, str, str], int]:
    """(stage, model as asked for, question) → how many different calls the ledger answers."""
    columns = attempts.c
    names = (columns.stage, columns.asked_model, columns.question)
    query = select(*names, func.count(columns.key.distinct())).where(columns.replayed == 1).group_by(*names)
    return {(stage, model, question): int(count) for stage, model, question, count in ledger.read(query)}
