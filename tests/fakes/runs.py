"""Builders of small runs, for the tests of statistics, report and tracking."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any

from runner.records import (
    Answer,
    AnswerStatus,
    Call,
    Question,
    Record,
    RunResult,
    RunStatus,
    Score,
    Usage,
    Verdict,
    VerdictStatus,
)


def make_call(key: str, stage: str = "judge", cost: str | None = "0.001", **fields: Any) -> Call:
    money = None if cost is None else Decimal(cost)
    defaults: dict[str, Any] = {
        "key": key,
        "stage": stage,
        "model": "model-a",
        "provider": "openai",
        "status": "ok",
        "from_ledger": False,
        "usage": Usage(100, 10),
        "input_cost": money,
        "output_cost": None if money is None else Decimal(0),
        "total_cost": money,
        "new_cost": Decimal(0) if fields.get("from_ledger") else money,
        "latency_s": 1.0,
        "attempts": 1,
        "started_at": "2026-11-30T00:00:00+00:00",
    }
    return Call(**(defaults | fields))


def make_score(judge: str, value: float | None, reason: str = "malformed", **fields: Any) -> Score:
    """A scored score, or, where ``value`` is None, a failed one with ``reason``."""
    calls = fields.pop("calls", ())
    pass_at = fields.pop("pass_at", 4.0)
    status = fields.pop("status", VerdictStatus.SCORED if value is not None else VerdictStatus.FAILED)
    defaults: dict[str, Any] = {
        "judge": judge,
        "rubric": f"{judge}@1",
        "rubric_hash": "hash",
        "status": status,
        "reason": "" if value is not None else reason,
        "value": value,
        "passed": None if value is None else value >= pass_at,
        "lowest": 1.0,
        "highest": 5.0,
        "pass_at": None if value is None else pass_at,
        "verdicts": (Verdict(status=status, score=value, calls=tuple(calls)),),
    }
    return Score(**(defaults | fields))


def make_record(
    question_id: str,
    scores: Mapping[str, float | Score | None] | None = None,
    gold: Sequence[str] = (),
    text: str = "an answer",
    **fields: Any,
) -> Record:
    made = {
        judge: value if isinstance(value, Score) else make_score(judge, value)
        for judge, value in (scores or {}).items()
    }
    metadata = fields.pop("metadata", {})
    answer = fields.pop("answer", Answer(status=AnswerStatus.ANSWERED, text=text, calls=fields.pop("answer_calls", ())))
    question = Question(id=question_id, text=f"question {question_id}?", gold=tuple(gold), metadata=metadata)
    return Record(question=question, retrieved=fields.pop("retrieved", ()), answer=answer, scores=made, **fields)


def make_run(name: str, records: Sequence[Record], **fields: Any) -> RunResult:
    defaults: dict[str, Any] = {
        "job_key": f"key-{name}",
        "name": name,
        "status": RunStatus.COMPLETE,
        "reason": "",
        "choices": {},
        "records": tuple(records),
    }
    return RunResult(**(defaults | fields))


def run_of(
    name: str,
    values: Sequence[float | None],
    clusters: Sequence[str] | None = None,
    judge: str = "grounding",
    **fields: Any,
) -> RunResult:
    """A run with one judge, one question a value; None is a failed score."""
    gold = clusters or [f"d{k}" for k in range(len(values))]
    records = [make_record(f"q{k}", {judge: value}, [gold[k]]) for k, value in enumerate(values)]
    return make_run(name, records, **fields)
