"""All records of a run as one table artifact: for more runs and more questions than the trace pages can show."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from typing import Any

from runner.records import AnswerStatus, Record, VerdictStatus
from runner.tracking import text as t

TABLE = "per_question.json"


def per_question(records: Sequence[Record]) -> str:
    """The table in MLflow's own form, in the order of the question ids.

    The first two columns are what its page groups by and compares when it is opened: id, then answer.
    """
    judges = list(dict.fromkeys(name for record in records for name in record.scores))
    columns = ["id", "answer", "question", "reference", "answer_status", "abstained"]
    for name in judges:
        columns += [f"{name}.score", f"{name}.label", f"{name}.status", f"{name}.rationale"]
    columns += ["retrieved", "total_cost_usd", "new_cost_usd"]
    rows = [_row(record, judges) for record in sorted(records, key=lambda record: record.question.id)]
    return t.dumps({"columns": columns, "data": rows})


def _row(record: Record, judges: Sequence[str]) -> list[Any]:
    answer = record.answer
    failed = answer.status is AnswerStatus.FAILED
    row: list[Any] = [
        record.question.id,
        f"(no answer: {answer.reason})" if failed else answer.text,
        record.question.text,
        record.question.reference,
        f"failed: {answer.reason}" if failed else str(answer.status),
        answer.abstained,
    ]
    for name in judges:
        score = record.scores.get(name)
        if score is None:
            row += [None, None, "not_asked", ""]
        elif score.status is VerdictStatus.SCORED:
            row += [score.value, score.label, str(score.status), score.rationale]
        else:
            row += [None, None, f"{score.status}: {score.reason}", score.detail]
    found = ", ".join(f"{'*' if hit.gold else ''}{hit.chunk.document_id}" for hit in record.retrieved)
    return [*row, found, _sum([call.total_cost for call in record.calls]), _sum([c.new_cost for c in record.calls])]


def _sum(costs: Sequence[Decimal | None]) -> float | None:
    """Dollars; ``None`` (an empty cell) as soon as one price is unknown."""
    known = [cost for cost in costs if cost is not None]
    return float(sum(known, Decimal(0))) if len(known) == len(costs) else None
