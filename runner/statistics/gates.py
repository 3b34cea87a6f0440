"""Decides the gates of a launch from its runs and, where one is named, a baseline run. No files, no calls.

Three words. Against a baseline: a judge *passes* where the paired, clustered one-sided t test shows at 5 % that its
mean is not lower by more than the margin (non-inferiority); it *fails* where the mean is shown to be lower (two-sided,
Holm over all judges and jobs of the launch) and that was not shown; else it is *undecided*. Passing needs every judge
to pass, so its error stays at 5 % without a correction (intersection-union; Berger 1982); failing needs only one of
many, which is what Holm is for.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass

from runner.config.schema import Gate, GateBaseline, Threshold
from runner.errors import ConfigurationError
from runner.findings import Comparison, GateCheck, GateReport, GateWord
from runner.records import AnswerStatus, RunResult, RunSummary
from runner.statistics.compare import compare_runs
from runner.statistics.families import adjusted
from runner.statistics.power import ALPHA
from runner.statistics.sentences import plural
from runner.statistics.summary import metric_name

_PERCENTILE = re.compile(r"^latency/answer_p(\d{1,2}(?:\.\d+)?)_s$")


@dataclass(frozen=True, slots=True)
class Judged:
    """One job of the launch with its numbers."""

    run: RunResult
    summary: RunSummary


def judge_gates(gate: Gate, jobs: Sequence[Judged], baseline: RunResult | None = None) -> GateReport:
    """Every gate on every job. ``baseline`` is the stored run that ``gate.baseline.run`` names."""
    checks: list[GateCheck] = []
    for job in jobs:
        checks += [_threshold(job, threshold) for threshold in gate.thresholds]
        if gate.minimum_scored_share is not None:
            checks += _scored_shares(job, gate.minimum_scored_share)
    if baseline is not None:
        checks += _against(baseline, jobs, gate.baseline)
    return GateReport(tuple(checks), undecided_passes=gate.undecided == "pass")


def answer_latency(run: RunResult, percent: float) -> float | None:
    """The nearest-rank percentile of the seconds that answers took when they were really made."""
    seconds = sorted(
        math.fsum(call.latency_s for call in record.answer.calls)
        for record in run.records
        if record.answer.status == AnswerStatus.ANSWERED and record.answer.calls
    )
    if not seconds:
        return None
    return seconds[max(0, math.ceil(percent / 100 * len(seconds)) - 1)]


def metric_value(job: Judged, metric: str) -> float | None:
    """The number of a run under this name; ``None`` where the run does not have it."""
    percentile = _PERCENTILE.match(metric)
    if percentile:
        return answer_latency(job.run, float(percentile[1]))
    return job.summary.metrics.get(metric)


def _threshold(job: Judged, wanted: Threshold) -> GateCheck:
    limits = [("at least", wanted.at_least), ("at most", wanted.at_most)]
    asked = " and ".join(f"{word} {limit:g}" for word, limit in limits if limit is not None)
    gate = f"{wanted.metric} {asked}"
    value = metric_value(job, wanted.metric)
    if value is None:
        sentence = f"{job.run.name}: {wanted.metric} has no value here, so that {asked} cannot be checked{_why(job)}"
        return _check(job, gate, GateWord.UNDECIDED, sentence)
    for word, limit in limits:
        if limit is None:
            continue
        if value < limit if word == "at least" else value > limit:
            sentence = f"{job.run.name}: {wanted.metric} is {_number(value)}, and {word} {limit:g} is asked for"
            return _check(job, gate, GateWord.FAILED, sentence, value=value, limit=limit)
        worst = _worst(job, wanted.metric, word)
        if worst is not None and (worst < limit if word == "at least" else worst > limit):
            sentence = (
                f"{job.run.name}: {wanted.metric} is {_number(value)}, but {_number(worst)} if failed scores and "
                f"missing answers count against it, and {word} {limit:g} is asked for"
            )
            return _check(job, gate, GateWord.UNDECIDED, sentence, value=value, limit=limit)
    limit = wanted.at_least if wanted.at_least is not None else wanted.at_most
    sentence = f"{job.run.name}: {wanted.metric} is {_number(value)} ({asked})"
    return _check(job, gate, GateWord.PASSED, sentence, value=value, limit=limit)


def _worst(job: Judged, metric: str, word: str) -> float | None:
    """A judge's number in the worse of the two extreme cases about what failed; ``None`` where nothing did."""
    for judge in job.summary.judges.values():
        if metric == metric_name(judge.judge, "mean"):
            return judge.worst_case if word == "at least" else judge.best_case
        if metric == metric_name(judge.judge, "pass_rate"):
            return judge.pass_worst_case if word == "at least" else judge.pass_best_case
    return None


def _why(job: Judged) -> str:
    unknown = job.summary.unknown_prices
    return f" (price unknown: {', '.join(unknown)})" if unknown else ""


def _scored_shares(job: Judged, least: float) -> list[GateCheck]:
    found = []
    for judge in job.summary.judges.values():
        gate = f"{judge.judge}: scored share at least {least:g}"
        applicable = judge.scored + judge.failed
        if applicable == 0:
            sentence = f"{job.run.name}: there was no answer that {judge.judge} could judge"
            found.append(_check(job, gate, GateWord.UNDECIDED, sentence, value=None, limit=least))
            continue
        share = judge.scored / applicable
        counted = f"{judge.judge} scored {judge.scored} of {plural(applicable, 'answer')} ({share:.1%})"
        if share < least:
            sentence = f"{job.run.name}: {counted}, and at least {least:.1%} is asked for"
            found.append(_check(job, gate, GateWord.FAILED, sentence, value=share, limit=least))
        else:
            found.append(_check(job, gate, GateWord.PASSED, f"{job.run.name}: {counted}", value=share, limit=least))
    return found


@dataclass(frozen=True, slots=True)
class _Pair:
    job: Judged
    judge: str
    comparison: Comparison | None
    problem: str = ""


def _against(baseline: RunResult, jobs: Sequence[Judged], wanted: GateBaseline) -> list[GateCheck]:
    pairs = [_compare(job, baseline, judge, wanted.margin) for job in jobs for judge in _judges(job, wanted)]
    p_values = [pair.comparison.p if pair.comparison else None for pair in pairs]
    corrected = adjusted(p_values, "holm") if wanted.correction == "holm" else p_values
    return [_beside(pair, baseline, wanted, p) for pair, p in zip(pairs, corrected, strict=True)]


def _judges(job: Judged, wanted: GateBaseline) -> list[str]:
    return list(wanted.judges) or list(job.summary.judges)


def _compare(job: Judged, baseline: RunResult, judge: str, margin: float) -> _Pair:
    rubrics = [_rubrics(run, judge) for run in (job.run, baseline)]
    if not rubrics[0] or not rubrics[1]:
        where = job.run.name if not rubrics[0] else f"the baseline {baseline.name}"
        return _Pair(job, judge, None, f"{judge} judged nothing in {where}")
    if rubrics[0] != rubrics[1]:
        here, there = (", ".join(sorted(found)) for found in rubrics)
        return _Pair(job, judge, None, f"{judge} judged by {here} here and by {there} in the baseline")
    try:
        return _Pair(job, judge, compare_runs(job.run, baseline, judge, margin=margin))
    except ConfigurationError as error:
        return _Pair(job, judge, None, str(error))


def _rubrics(run: RunResult, judge: str) -> frozenset[str]:
    return frozenset(record.scores[judge].rubric for record in run.records if judge in record.scores)


def _beside(pair: _Pair, baseline: RunResult, wanted: GateBaseline, p: float | None) -> GateCheck:
    job, margin = pair.job, wanted.margin
    gate = f"{pair.judge}: not worse than {baseline.name} by more than {margin:g}"
    head = f"{job.run.name}: {pair.judge}"
    found = pair.comparison
    if found is None:
        sentence = f"{head} cannot be compared with {baseline.name}: {pair.problem}"
        return _check(job, gate, GateWord.UNDECIDED, sentence, value=None, limit=-margin)
    if found.difference is None or found.clusters < 2:
        sentence = (
            f"{head} cannot be compared with {baseline.name}: too few questions "
            f"({found.questions} scored in both; at least 2 about different documents are needed)"
        )
        return _check(job, gate, GateWord.UNDECIDED, sentence, value=found.difference, limit=-margin)
    difference = found.difference
    interval = f", 95 % interval {found.interval.low:+.3g} to {found.interval.high:+.3g}" if found.interval else ""
    seen = f"{difference:+.3g} against {baseline.name} ({plural(found.questions, 'question')}{interval})"
    bounds = found.bounds
    if _not_inferior_p(found, margin) < ALPHA:
        if not found.standard_error:
            # Not the interval, which is about the mean of other questions: what passes here is the sign test.
            counted = f"{plural(found.questions, 'question')}, the same in each of {plural(found.clusters, 'document')}"
            seen = f"{difference:+.3g} against {baseline.name} ({counted})"
        # As sure as of what was scored: a run that answers only what it knows has not shown that it is no worse.
        if bounds is None or _one_sided_p(bounds.lowest, bounds.lowest_error, bounds.clusters, margin) < ALPHA:
            return _check(job, gate, GateWord.PASSED, f"{head} is {seen}", value=difference, limit=-margin)
        hidden = "missing answers" if found.a.counts.no_answer or found.b.counts.no_answer else "scores that failed"
        seen += f"; {hidden} may hide more"
    elif p is not None and p < ALPHA and difference < 0 and (bounds is None or bounds.highest < 0):
        sentence = f"{head} is worse than the baseline: {seen}, and the margin is {margin:g}"
        return _check(job, gate, GateWord.FAILED, sentence, value=difference, limit=-margin)
    sentence = f"{head} cannot be told from a loss of more than {margin:g}: {seen}; {_needed(found, margin)}"
    return _check(job, gate, GateWord.UNDECIDED, sentence, value=difference, limit=-margin)


def _not_inferior_p(found: Comparison, margin: float) -> float:
    """The one-sided p of "the run is lower by the margin or more", t with clusters minus 1 degrees.

    Where all differences are equal there is nothing to divide by, and the sign test takes its place (five documents
    are the fewest that can show it); a run is never worse than itself.
    """
    assert found.difference is not None
    if found.a.job_key == found.b.job_key and found.difference == 0:
        return 0.0
    return _one_sided_p(found.difference, found.standard_error or 0.0, found.clusters, margin)


def _one_sided_p(difference: float, error: float, clusters: int, margin: float) -> float:
    """The p of "lower by the margin or more" from a difference with its clustered standard error."""
    gap = difference + margin
    if not error:
        return 0.5**clusters if gap > 0 else 1.0
    from scipy.special import stdtr

    return float(stdtr(clusters - 1, -gap / error))


def _needed(found: Comparison, margin: float) -> str:
    """About how many questions would show it with 80 % power, if the difference stays what it is."""
    gap = (found.difference or 0.0) + margin
    few = "too few questions"
    if gap <= 0 or not found.standard_error:
        return few
    times = (2.486 * found.standard_error / gap) ** 2
    needed = math.ceil(found.questions * max(times, 1.0))
    return f"{few}: about {needed:,} would decide" if found.questions < needed <= 1_000_000 else few


def _check(
    job: Judged, gate: str, word: GateWord, sentence: str, *, value: float | None = None, limit: float | None = None
) -> GateCheck:
    return GateCheck(job.run.name, job.run.job_key, gate, word, sentence, value, limit)


def _number(value: float) -> str:
    return f"{value:.6g}"
