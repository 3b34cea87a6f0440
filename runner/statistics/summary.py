"""What one run comes down to: scores with honest denominators, retrieval, money, latency and the MLflow metrics.

Must stay light (no numpy, no scipy): every run is summarised, also by commands that compare nothing.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from statistics import median
from typing import TypeGuard

from runner.records import (
    AnswerStatus,
    JudgeSummary,
    Reason,
    Record,
    RunResult,
    RunSummary,
    Score,
    StageSpend,
    VerdictStatus,
    total_money,
)
from runner.statistics.clusters import BY_GOLD, cluster_of, clustered_standard_error, mean
from runner.statistics.spending import spending, unknown_prices
from runner.statistics.states import FAILED, NO_ANSWER, NOT_APPLICABLE, state_of

MOST_DISTINCT_VALUES = 20
"""A scale with more distinct scores than this is shown in ranges."""
RANGES = 10


def summarise(run: RunResult) -> RunSummary:
    """Bring a run down to its numbers. A number that is not defined is ``None`` or left out, never NaN or 0."""
    records = run.records
    spend = spending(run)
    retrieval, gold_questions = _retrieval(records)
    summary = RunSummary(
        asked=len(records),
        answered=sum(record.answer.status == AnswerStatus.ANSWERED for record in records),
        failed_answers=sum(record.answer.status == AnswerStatus.FAILED for record in records),
        abstained=sum(record.answer.abstained for record in records),
        judges={judge: summarise_judge(judge, records) for judge in judge_names(records)},
        retrieval=retrieval,
        retrieval_questions=gold_questions,
        retrieval_chunk_questions=sum(
            any(name.startswith("chunk_") for name in record.retrieval_metrics) for record in records
        ),
        evidence_in_no_chunk=sum(record.relevant_chunks == 0 for record in records),
        spend=spend,
        total_cost=total_money(part.total_cost for part in spend),
        new_cost=total_money(part.new_cost for part in spend),
        unknown_prices=unknown_prices(run),
        answer_latency_p50_s=_answer_latency(records),
    )
    return replace(summary, metrics=_metrics(summary))


def judge_names(records: Iterable[Record]) -> list[str]:
    """All judges of the records, in the order of the configuration."""
    return list(dict.fromkeys(judge for record in records for judge in record.scores))


def summarise_judge(judge: str, records: Sequence[Record]) -> JudgeSummary:
    """One judge over all records: a record without a score of this judge counts as asked and failed (interrupted), and
    so does one without an answer."""
    scores = [record.scores.get(judge) for record in records]
    scored = [(record, score) for record in records if is_scored(score := record.scores.get(judge))]
    values = [_value(score) for _, score in scored]
    states = [state_of(record, score) for record, score in zip(records, scores, strict=True)]
    failed = sum(state >= FAILED for state in states)
    passed = [float(bool(score.passed)) for _, score in scored]
    known = [score for score in scores if score is not None]
    reasons = Counter(
        Reason.INTERRUPTED.value if score is None else score.reason for score in scores if not is_scored(score)
    )
    worst, best = bounds(values, failed, *scale_ends(known))
    pass_worst, pass_best = bounds(passed, failed, 0.0, 1.0)
    return JudgeSummary(
        judge=judge,
        rubric=known[0].rubric if known else "",
        asked=len(records),
        scored=len(values),
        not_applicable=states.count(NOT_APPLICABLE),
        failed=failed,
        reasons=dict(reasons.most_common()),
        mean=mean(values) if values else None,
        standard_error=clustered_standard_error(values, [cluster_of(record.question, BY_GOLD) for record, _ in scored]),
        pass_rate=mean(passed) if scored else None,
        worst_case=worst,
        best_case=best,
        distribution=_distribution([score for _, score in scored]),
        no_answer=states.count(NO_ANSWER),
        pass_worst_case=pass_worst,
        pass_best_case=pass_best,
    )


def is_scored(score: Score | None) -> TypeGuard[Score]:
    """Whether there is a number."""
    return score is not None and score.status == VerdictStatus.SCORED and score.value is not None


def scale_ends(scores: Iterable[Score]) -> tuple[float | None, float | None]:
    """The ends of the scale as the scores carry them; ``None`` where they do not."""
    for score in scores:
        if score.lowest is not None and score.highest is not None:
            return score.lowest, score.highest
    return None, None


def bounds(
    values: Sequence[float], failed: int, lowest: float | None, highest: float | None
) -> tuple[float | None, float | None]:
    """The mean if every failed score were the lowest, and the highest, of the scale.

    ``(None, None)`` where nothing failed (there is nothing to bound) or the scale is not known.
    """
    if failed == 0 or lowest is None or highest is None:
        return None, None
    return mean([*values, *[lowest] * failed]), mean([*values, *[highest] * failed])


def metric_name(group: str, name: str) -> str:
    """A metric name that MLflow accepts, with exactly one slash (its charts group by it)."""
    return f"{_clean(group)}/{_clean(name)}"


def _clean(part: str) -> str:
    return re.sub(r"[^A-Za-z0-9_.\- ]", "_", part) or "_"


def _value(score: Score) -> float:
    assert score.value is not None
    return score.value


def _distribution(scores: Sequence[Score]) -> dict[str, int]:
    in_order = sorted(scores, key=_value)
    shown = Counter(score.label if score.label is not None else _show(_value(score)) for score in in_order)
    if len(shown) <= MOST_DISTINCT_VALUES:
        return dict(shown)  # a Counter keeps the order of first appearance: lowest first
    low, high = _value(in_order[0]), _value(in_order[-1])
    width = (high - low) / RANGES
    places = Counter(min(int((_value(score) - low) / width), RANGES - 1) for score in in_order)
    return {f"{_show(low + k * width)}–{_show(low + (k + 1) * width)}": places[k] for k in range(RANGES)}


def _show(value: float) -> str:
    return f"{round(value, 2):g}"


def _retrieval(records: Sequence[Record]) -> tuple[dict[str, float], int]:
    names = dict.fromkeys(name for record in records for name in record.retrieval_metrics)
    means = {
        name: mean([record.retrieval_metrics[name] for record in records if name in record.retrieval_metrics])
        for name in names
    }
    return means, sum(bool(record.question.gold) for record in records)


def _answer_latency(records: Sequence[Record]) -> float | None:
    """Median over answers of the seconds their calls took (as measured when they were really made)."""
    seconds = [
        sum(call.latency_s for call in record.answer.calls)
        for record in records
        if record.answer.status == AnswerStatus.ANSWERED and record.answer.calls
    ]
    return median(seconds) if seconds else None


def _metrics(summary: RunSummary) -> dict[str, float]:
    found: dict[str, float | None] = {
        "answers/answered": summary.answered,
        "answers/failed": summary.failed_answers,
        "answers/abstained": summary.abstained,
    }
    for judge in summary.judges.values():
        for name, number in _judge_numbers(judge).items():
            found[metric_name(judge.judge, name)] = number
    for name, number in summary.retrieval.items():
        found[metric_name("retrieval", name)] = number
    if summary.retrieval:
        found["retrieval/questions"] = summary.retrieval_questions
        if summary.retrieval_chunk_questions or summary.evidence_in_no_chunk:
            found["retrieval/chunk_questions"] = summary.retrieval_chunk_questions
    found |= _spend_numbers(summary.spend)
    found["cost/new_usd"] = _number(summary.new_cost)
    found["cost/total_usd"] = _number(summary.total_cost)
    found["latency/answer_p50_s"] = summary.answer_latency_p50_s
    return {name: float(number) for name, number in found.items() if number is not None}


def _judge_numbers(judge: JudgeSummary) -> Mapping[str, float | None]:
    return {
        "mean": judge.mean,
        "standard_error": judge.standard_error,
        "pass_rate": judge.pass_rate,
        "scored": judge.scored,
        "failed": judge.failed,
        "not_applicable": judge.not_applicable,
        "worst_case": judge.worst_case,
        "best_case": judge.best_case,
        "pass_rate_worst_case": judge.pass_worst_case,
        "pass_rate_best_case": judge.pass_best_case,
    }


def _spend_numbers(spend: Sequence[StageSpend]) -> dict[str, float | None]:
    found: dict[str, float | None] = {}
    for stage in dict.fromkeys(part.stage for part in spend):
        found |= _sums([part for part in spend if part.stage == stage], f"{_clean(stage)}_")
        cost = total_money(part.total_cost for part in spend if part.stage == stage)
        found[metric_name("cost", f"{stage}_usd")] = _number(cost)
    return found | _sums(spend, "")


def _sums(parts: Sequence[StageSpend], prefix: str) -> dict[str, float | None]:
    return {
        f"tokens/{prefix}input": sum(part.usage.input_tokens for part in parts),
        f"tokens/{prefix}output": sum(part.usage.output_tokens for part in parts),
        f"calls/{prefix}made": sum(part.calls_made for part in parts),
        f"calls/{prefix}from_ledger": sum(part.calls_from_ledger for part in parts),
    }


def _number(amount: Decimal | None) -> float | None:
    return None if amount is None else float(amount)
