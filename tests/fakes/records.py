"""Builders of full records, as a run over a small knowledge base leaves them: chunks, prompt, usage, verdicts."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

from runner.records import (
    Answer,
    AnswerStatus,
    Call,
    Chunk,
    JudgeSummary,
    Question,
    Record,
    Retrieved,
    RunResult,
    RunStatus,
    RunSummary,
    Score,
    Usage,
    Verdict,
    VerdictStatus,
)
from tests.fakes.runs import make_call

START = datetime(2026, 11, 30, 8, 0, tzinfo=UTC)
CHUNK_SIZE = 800


def full_record(
    number: int,
    judges: Sequence[str] = ("grounding", "topicality", "reference_match"),
    *,
    answer: str = "",
    failing: Sequence[str] = (),
    from_ledger: bool = False,
    price: str | None = "0.001",
    chunks: int = 3,
    text: str = "",
    start: datetime = START,
    **fields: Any,
) -> Record:
    """Question ``q<number>`` with everything: the judges in ``failing`` have no score."""
    begun = start + timedelta(seconds=number)
    question = Question(
        id=f"q{number}",
        text=text or f"What is rule number {number}?",
        reference=f"Rule {number} is the rule.",
        gold=(f"doc{number}",),
    )
    filler = "The rules of the house are many and each has its number. " * (CHUNK_SIZE // 57 + 1)
    retrieved = tuple(
        Retrieved(
            Chunk(
                f"chunk{number}-{k}", f"doc{number + k}", 0, f"Rule {number + k}. {filler}"[:CHUNK_SIZE], f"rules{k}.md"
            ),
            rank=k + 1,
            score=0.9 - k / 10,
            gold=k == 0,
        )
        for k in range(chunks)
    )

    def call(stage: str, name: str, after_s: float, tokens: tuple[int, int]) -> Call:
        return make_call(
            f"{stage}-{name}-{number}",
            stage,
            price,
            usage=Usage(*tokens),
            from_ledger=from_ledger,
            latency_s=0.2,
            started_at=(begun + timedelta(seconds=after_s)).isoformat(),
        )

    said = answer or f"Rule {number} says so."
    made = Answer(
        AnswerStatus.ANSWERED,
        text=said,
        messages=(
            {"role": "system", "content": "Answer from the context."},
            {"role": "user", "content": question.text},
        ),
        calls=(call("generate", "answer", 0.0, (420, 36)),),
    )
    scores = {
        name: _score(name, call("judge", name, 0.25, (520, 60)), failed=name in failing, number=number)
        for name in judges
    }
    finished = (begun + timedelta(seconds=0.5)).isoformat()
    metrics = {"hit_rate_at_3": 1.0}
    return Record(question, retrieved, made, scores, retrieval_metrics=metrics, finished_at=finished, **fields)


def _score(name: str, call: Call, *, failed: bool, number: int) -> Score:
    common: dict[str, Any] = {"judge": name, "rubric": f"{name}@1", "rubric_hash": "h" * 64, "model": call.model}
    if failed:
        verdict = Verdict(VerdictStatus.FAILED, "malformed", "no JSON in the reply", raw="I think so", calls=(call,))
        return Score(
            **common,
            status=VerdictStatus.FAILED,
            reason="malformed",
            detail="no JSON in the reply",
            verdicts=(verdict,),
        )
    if name == "reference_match":
        value, label = (1.0, "good") if number % 3 else (0.0, "bad")
    else:
        value, label = float(1 + number % 5), None
    why = f"{name}: claim by claim, the answer to question {number} was compared with what the rubric asks for. " * 3
    verdict = Verdict(VerdictStatus.SCORED, score=value, label=label, reasoning=why, calls=(call,))
    return Score(
        **common,
        status=VerdictStatus.SCORED,
        value=value,
        label=label,
        passed=value >= (1 if label else 4),
        rationale=why,
        verdicts=(verdict,),
    )


def failed_record(number: int, judges: Sequence[str] = ("grounding", "topicality", "reference_match")) -> Record:
    """Question ``q<number>`` whose answer timed out: no judge applies."""
    answer = Answer(AnswerStatus.FAILED, reason="timeout", detail="no reply within 60 seconds")
    scores = {
        name: Score(
            judge=name,
            rubric=f"{name}@1",
            rubric_hash="h" * 64,
            status=VerdictStatus.NOT_APPLICABLE,
            reason="no_answer",
            detail="there is no answer to judge",
        )
        for name in judges
    }
    question = Question(id=f"q{number}", text=f"What is rule number {number}?")
    return Record(question, (), answer, scores, finished_at=(START + timedelta(seconds=number)).isoformat())


def full_run(name: str, records: Sequence[Record], status: RunStatus = RunStatus.COMPLETE, **fields: Any) -> RunResult:
    """A run of these records."""
    return RunResult(f"key-{name}", name, status, "", {}, tuple(records), **fields)


def full_summary(records: Sequence[Record], metrics: dict[str, float] | None = None) -> RunSummary:
    """A summary with means worked out here, beside the statistics room."""
    judges: dict[str, JudgeSummary] = {}
    shown: dict[str, float] = {}
    for name in dict.fromkeys(name for record in records for name in record.scores):
        scores = [record.scores[name] for record in records if name in record.scores]
        values = [score.value for score in scores if score.value is not None]
        failed = sum(score.status is VerdictStatus.FAILED for score in scores)
        mean = sum(values) / len(values) if values else None
        judges[name] = JudgeSummary(
            name, f"{name}@1", len(scores), len(values), len(scores) - len(values) - failed, failed, mean=mean
        )
        shown |= {f"{name}/scored": float(len(values)), f"{name}/failed": float(failed)}
        if mean is not None:
            shown[f"{name}/mean"] = mean
    answered = sum(record.answer.status is AnswerStatus.ANSWERED for record in records)
    return RunSummary(
        asked=len(records),
        answered=answered,
        failed_answers=len(records) - answered,
        abstained=0,
        judges=judges,
        retrieval={},
        retrieval_questions=0,
        spend=(),
        total_cost=Decimal(0),
        new_cost=Decimal(0),
        unknown_prices=(),
        answer_latency_p50_s=None,
        metrics=shown | (metrics or {}),
    )
