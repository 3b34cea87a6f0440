"""Agreement between judges, and between repeats of one judge, from stored records."""

from __future__ import annotations

from collections.abc import Sequence

from runner.errors import ConfigurationError
from runner.findings import Agreement
from runner.records import Record, RunResult, Score, VerdictStatus
from runner.statistics.agreement import agreement
from runner.statistics.clusters import BY_GOLD, cluster_of
from runner.statistics.summary import is_scored


def between_judges(
    runs: Sequence[RunResult], judges: Sequence[str], *, cluster_by: str = BY_GOLD, seed: int = 7
) -> Agreement:
    """How far judges agree on the answers of the runs; every answer is an item.

    Raises
    ------
    ConfigurationError
        Fewer than two judges, or one that no run has.
    """
    records = [record for run in runs for record in run.records]
    known = {name for record in records for name in record.scores}
    unknown = [judge for judge in judges if judge not in known]
    if unknown or len(set(judges)) < 2:
        what = f"no run has {', '.join(unknown)}" if unknown else "two different judges are needed"
        raise ConfigurationError(f"agreement: {what}; the runs have: {', '.join(sorted(known)) or 'none'}")
    marks = {score.pass_at for record in records for judge in judges if (score := record.scores.get(judge))} - {None}
    return agreement(
        {judge: [_value(record.scores.get(judge)) for record in records] for judge in judges},
        clusters=[cluster_of(record.question, cluster_by) for record in records],
        pass_at=marks.pop() if len(marks) == 1 else None,
        seed=seed,
    )


def between_repeats(
    runs: Sequence[RunResult], judge: str, *, cluster_by: str = BY_GOLD, seed: int = 7
) -> Agreement | None:
    """How far a judge agrees with itself when asked again; ``None`` where no answer was judged twice."""
    items: list[tuple[Record, list[float | None]]] = []
    for run in runs:
        for record in run.records:
            score = record.scores.get(judge)
            if score is not None and len(score.verdicts) > 1:
                values = [v.score if v.status == VerdictStatus.SCORED else None for v in score.verdicts]
                items.append((record, values))
    width = max((len(values) for _, values in items), default=0)
    if width < 2:
        return None
    return agreement(
        {f"repeat {k + 1}": [values[k] if k < len(values) else None for _, values in items] for k in range(width)},
        clusters=[cluster_of(record.question, cluster_by) for record, _ in items],
        seed=seed,
    )


def _value(score: Score | None) -> float | None:
    return score.value if is_scored(score) else None
