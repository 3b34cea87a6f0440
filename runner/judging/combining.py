"""Several verdicts to one score: repeats of one judge, and panels of several judges."""

from __future__ import annotations

import hashlib
import statistics
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace

from runner.config.schema import Judge, Panel, Rubric
from runner.errors import ConfigurationError, Problem
from runner.judging.rubrics import rubric_name
from runner.judging.scales import bounds, label_of, pass_mark, passes, same_scale
from runner.records import Reason, Score, Verdict, VerdictStatus


def combined(values: Sequence[float], how: str) -> float:
    """Mean, median, minimum, or the commonest value (the lowest one of several that are as common)."""
    if how == "median":
        return float(statistics.median(values))
    if how == "min":
        return min(values)
    if how == "majority":
        counts = Counter(values)
        most = max(counts.values())
        return min(value for value, count in counts.items() if count == most)
    return statistics.fmean(values)


def spread_of(values: Sequence[float]) -> float | None:
    """Sample standard deviation (divisor n - 1); ``None`` for fewer than two values."""
    return statistics.stdev(values) if len(values) > 1 else None


def combine_verdicts(
    name: str, rubric: Rubric, verdicts: Sequence[Verdict], *, how: str, model: str, content_hash: str
) -> Score:
    """The score of one judge from its repeats.

    Scored as soon as one repeat is; ``detail`` then says how many others failed. The rationale is that of the repeat
    whose score is nearest to the combined one.
    """
    scored = [verdict for verdict in verdicts if verdict.score is not None]
    failed = [verdict for verdict in verdicts if verdict.status is VerdictStatus.FAILED]
    models = [call.model for verdict in verdicts for call in verdict.calls if call.model]
    model = models[-1] if models else model
    unscored = _unscored(name, rubric, model, content_hash)
    if not scored:
        source = failed or list(verdicts)
        reason = Counter(verdict.reason for verdict in source).most_common(1)[0][0]
        detail = next(verdict.detail for verdict in source if verdict.reason == reason)
        status = VerdictStatus.FAILED if failed else VerdictStatus.NOT_APPLICABLE
        return replace(unscored, status=status, reason=reason, detail=detail, verdicts=tuple(verdicts))
    values = [verdict.score for verdict in scored if verdict.score is not None]
    value = combined(values, how)
    nearest = min(scored, key=lambda verdict: abs((verdict.score or 0.0) - value))
    return replace(
        unscored,
        status=VerdictStatus.SCORED,
        detail=f"{len(failed)} of {len(verdicts)} repeats failed ({failed[0].reason})" if failed else "",
        value=value,
        label=label_of(rubric.scale, value),
        passed=passes(rubric.scale, value),
        spread=spread_of(values),
        rationale=nearest.reasoning,
        verdicts=tuple(verdicts),
        pass_at=pass_mark(rubric.scale),
    )


def not_applicable(name: str, rubric: Rubric, reason: Reason, detail: str, *, model: str, content_hash: str) -> Score:
    """The score of a judge that was not asked because there is nothing for it to judge."""
    return replace(_unscored(name, rubric, model, content_hash), reason=reason, detail=detail)


def _unscored(name: str, rubric: Rubric, model: str, content_hash: str) -> Score:
    low, high = bounds(rubric.scale)
    return Score(
        judge=name,
        rubric=rubric_name(rubric),
        rubric_hash=content_hash,
        status=VerdictStatus.NOT_APPLICABLE,
        model=model,
        lowest=low,
        highest=high,
    )


def panel_problems(panels: Mapping[str, Panel], judges: Mapping[str, Judge]) -> list[Problem]:
    """The panels whose judges score on different scales or pass marks (names are checked with the configuration)."""
    return [
        Problem(
            f"panels.{name}.judges",
            "its judges score on different scales or with different pass marks",
            "put together judges with one scale",
        )
        for name, panel in panels.items()
        if not same_scale(judges[judge].rubric.scale for judge in panel.judges if judge in judges)
    ]


def combine_panel(name: str, panel: Panel, scores: Mapping[str, Score]) -> Score:
    """One score of several judges; the judges' own scores and verdicts stay where they are.

    A member that does not apply is left out; a member that failed makes the panel failed, since a mean over other
    members would be another measure. Where the scale has labels the panel passes if most members pass (``min``: all),
    else by its own value. The spread is the standard deviation between the members.
    """
    members = [(judge, scores[judge]) for judge in panel.judges if judge in scores]
    if not members:
        raise ConfigurationError([Problem(f"panels.{name}.judges", "none of these judges is in the run")])
    ranges = {(score.lowest, score.highest) for _, score in members}
    if len(ranges) > 1:
        raise ConfigurationError([Problem(f"panels.{name}.judges", "these judges score on different scales")])
    first = members[0][1]
    hashes = sorted({score.rubric_hash for _, score in members})
    rubrics = " + ".join(dict.fromkeys(score.rubric for _, score in members))
    content_hash = hashes[0] if len(hashes) == 1 else hashlib.sha256("\n".join(hashes).encode()).hexdigest()
    model = f"{panel.combine} of {', '.join(judge for judge, _ in members)}"
    rationale = "\n".join(f"{judge}: {_member(score)}" for judge, score in members)
    unscored = Score(
        judge=name,
        rubric=rubrics,
        rubric_hash=content_hash,
        status=VerdictStatus.NOT_APPLICABLE,
        model=model,
        rationale=rationale,
        lowest=first.lowest,
        highest=first.highest,
    )
    failed = [(judge, score) for judge, score in members if score.status is VerdictStatus.FAILED]
    scored = [score for _, score in members if score.status is VerdictStatus.SCORED]
    if failed or not scored:
        judge, source = failed[0] if failed else members[0]
        return replace(unscored, status=source.status, reason=source.reason, detail=f"{judge}: {source.detail}")
    values = [score.value for score in scored if score.value is not None]
    value = combined(values, panel.combine)
    passing = [score.passed is True for score in scored]
    labelled = [score for score in scored if score.label is not None]
    marks = {score.pass_at for score in scored}
    mark = next(iter(marks)) if len(marks) == 1 else None
    if labelled or mark is None:
        passed = all(passing) if panel.combine == "min" else 2 * sum(passing) > len(passing)
    else:
        passed = value >= mark
    near = min(labelled, key=lambda score: (abs((score.value or 0.0) - value), score.value), default=None)
    return replace(
        unscored,
        status=VerdictStatus.SCORED,
        detail="" if len(scored) == len(members) else f"{len(members) - len(scored)} judges do not apply",
        value=value,
        label=near.label if near else None,
        passed=passed,
        spread=spread_of(values),
        pass_at=mark,
    )


def _member(score: Score) -> str:
    if score.value is None:
        return f"{score.status} ({score.reason})"
    return f"{score.value:.4g}" if score.label is None else f"{score.label} ({score.value:.4g})"
