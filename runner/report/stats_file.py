"""The content of ``stats.json``: run information, one assessment a question, one entry a call.

Money becomes a number here, rounded to 12 digits after the point, and nowhere before.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from decimal import Decimal, localcontext
from typing import Any

from runner.records import (
    Call,
    Record,
    RunResult,
    RunSummary,
    Score,
    Stage,
    StageSpend,
    Usage,
    VerdictStatus,
    total_money,
)

_DIGITS = 12
_WITHOUT_MODEL = ("extractive", "evidence", "recorded", "none", "callable", "http", "command")


def stats_json(run: RunResult, summary: RunSummary) -> dict[str, Any]:
    """Everything that ``stats.json`` holds, ready for ``json.dumps``. A score that failed is null, with its reason."""
    usage = {stage: _usage([part for part in summary.spend if part.stage == stage]) for stage in _stages(summary)}
    for stage, numbers in usage.items():
        numbers["model"] = _models(run, summary, stage)
    overall = _usage(summary.spend)
    return {
        "run_info": {
            "generator_model": _models(run, summary, Stage.GENERATE),
            "judge_model": _models(run, summary, Stage.JUDGE),
            "embed_model": _models(run, summary, Stage.EMBED),
            "timestamp": run.started_at,
            "total_questions": summary.asked,
            "total_api_calls": sum(part.calls_made + part.calls_from_ledger for part in summary.spend),
            "usage": {**usage, **overall},
        },
        "assessments": [_assessment(record) for record in run.records],
        "calls": list(_calls(run)),
    }


def _stages(summary: RunSummary) -> list[str]:
    return list(dict.fromkeys(part.stage for part in summary.spend))


def _usage(spend: Sequence[StageSpend]) -> dict[str, Any]:
    usage = sum((part.usage for part in spend), Usage())
    return {
        "total_input_tokens": usage.input_tokens,
        "total_output_tokens": usage.output_tokens,
        "total_tokens": usage.input_tokens + usage.output_tokens,
        "total_cost": _money(total_money(part.total_cost for part in spend)),
    }


def _models(run: RunResult, summary: RunSummary, stage: str) -> str:
    """The models that really answered; where none was asked, what the configuration chose."""
    answered = list(dict.fromkeys(part.model for part in summary.spend if part.stage == stage))
    if answered:
        return ", ".join(answered)
    if stage == Stage.JUDGE:
        nodes = [f"judges.{judge}" for judge in summary.judges]
    else:
        nodes = ["generator" if stage == Stage.GENERATE else "embedder"]
    chosen = [_choice(run, node) for node in nodes]
    return ", ".join(dict.fromkeys(choice for choice in chosen if choice))


def _choice(run: RunResult, node: str) -> str:
    kind = str(run.choices.get(f"{node}.kind", "model"))
    return str(run.choices.get(f"{node}.model", "")) if kind not in _WITHOUT_MODEL else kind


def _assessment(record: Record) -> dict[str, Any]:
    found: dict[str, Any] = {
        "question": record.question.text,
        "answer": record.answer.text,
        "chunks": [
            {"source": one.chunk.source or one.chunk.document_id, "text": one.chunk.text} for one in record.retrieved
        ],
    }
    for judge, score in record.scores.items():
        found[f"{judge}_score"] = score.value
        found[f"{judge}_reason"] = _reason(score)
    return found


def _reason(score: Score) -> str:
    if score.status == VerdictStatus.SCORED:
        return score.rationale
    return f"{score.status.value} ({score.reason}){': ' + score.detail if score.detail else ''}"


def _calls(run: RunResult) -> Iterator[dict[str, Any]]:
    """The calls that count (see ``RunResult.calls``), so that the entries add up to the totals."""
    counted = Counter(id(call) for call in run.calls)
    for call, text, result in _occurrences(run):
        if counted[id(call)] > 0:
            counted[id(call)] -= 1
            yield _call(call, text, result)


def _occurrences(run: RunResult) -> Iterator[tuple[Call, str, str]]:
    yield from ((call, "", "") for call in run.index_calls)
    for record in run.records:
        text = record.question.text
        yield from ((call, text, "") for call in record.retrieval_calls)
        yield from ((call, text, record.answer.text) for call in record.answer.calls)
        for score in record.scores.values():
            yield from ((call, text, verdict.raw) for verdict in score.verdicts for call in verdict.calls)
    yield from ((call, "", "") for call in run.control_calls)


def _call(call: Call, text: str, result: str) -> dict[str, Any]:
    usage = call.usage or Usage()
    return {
        "timestamp": call.started_at,
        "stage": str(call.stage),
        "model": call.model,
        "text": text,
        "result": {
            "result": result,
            "prompt_tokens": usage.input_tokens,
            "completion_tokens": usage.output_tokens,
            "total_tokens": usage.input_tokens + usage.output_tokens,
            "input_cost": _money(call.input_cost),
            "output_cost": _money(call.output_cost),
            "total_cost": _money(call.total_cost),
        },
        "time_taken_seconds": call.latency_s,
    }


def _money(amount: Decimal | None) -> float | None:
    if amount is None:
        return None
    with localcontext() as context:
        # All digits before the point and the twelve after it, also of sums with which nobody reckoned.
        context.prec = max(context.prec, amount.adjusted() + _DIGITS + 2)
        return float(round(amount, _DIGITS))
