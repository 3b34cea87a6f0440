"""Each run on its own: mean with clustered error, pass rate with its interval, denominators, histogram."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from runner.findings import Denominators, Interval, Measure, Side
from runner.statistics.missing import Whole
from runner.statistics.moments import design_effect, moments
from runner.statistics.proportions import wilson
from runner.statistics.scores import ScoreTable
from runner.statistics.states import NO_ANSWER, NOT_APPLICABLE, NOT_ASKED
from runner.statistics.summary import MOST_DISTINCT_VALUES, RANGES

if TYPE_CHECKING:
    import numpy

    Array = numpy.ndarray[Any, Any]


def sides(table: ScoreTable) -> list[Side]:
    """Every run of the table, over all the questions that it scored."""
    found = moments(table.values, table.scored, table.starts)
    means, passes = Whole(table, Measure.MEAN), Whole(table, Measure.PASS_RATE)
    result = []
    for row, name in enumerate(table.names):
        state, scored = table.state[row], int(found.count[row])
        passed = int((table.passed[row] & table.scored[row]).sum())
        result.append(
            Side(
                name=name,
                job_key=table.job_keys[row],
                counts=Denominators(
                    asked=int((state != NOT_ASKED).sum()),
                    scored=scored,
                    not_applicable=int((state == NOT_APPLICABLE).sum()),
                    failed=int(table.open[row].sum()),
                    reasons=table.reasons[row],
                    no_answer=int((state == NO_ANSWER).sum()),
                ),
                mean=float(found.mean[row]) if scored else None,
                standard_error=float(found.error[row]) if found.clusters[row] > 1 else None,
                pass_rate=passed / scored if scored else None,
                pass_interval=pass_interval(table, row, table.scored[row]),
                distribution=_distribution(table, row),
                worst_case=_open_mean(means, row, means.worst),
                best_case=_open_mean(means, row, means.best),
                pass_worst_case=_open_mean(passes, row, passes.worst),
                pass_best_case=_open_mean(passes, row, passes.best),
            )
        )
    return result


def _open_mean(whole: Whole, row: int, numbers: Array) -> float | None:
    """The run's mean in one of the extreme cases; ``None`` where nothing is open."""
    return float(numbers[row][whole.applies[row]].mean()) if whole.open[row].any() else None


def pass_interval(table: ScoreTable, row: int, mask: Array) -> Interval | None:
    """Wilson's interval over the questions of the mask, divided by what the clusters cost; open ones do not pass."""
    import numpy

    if not mask.any():
        return None
    first = numpy.zeros(len(mask), dtype=numpy.int64)
    first[table.starts] = 1
    cluster = numpy.cumsum(first)[mask]
    starts = numpy.flatnonzero(numpy.diff(cluster, prepend=0))
    passed = table.passed[row][mask].astype(float)
    effective = int(mask.sum()) / design_effect(passed, starts)
    return wilson(float(passed.mean()) * effective, effective)


def _distribution(table: ScoreTable, row: int) -> dict[str, int]:
    import numpy

    values = table.values[row][table.scored[row]]
    distinct, counts = numpy.unique(values, return_counts=True)
    if len(distinct) > MOST_DISTINCT_VALUES:
        counts, edges = numpy.histogram(values, bins=RANGES)
        return {f"{edges[k]:.3g}–{edges[k + 1]:.3g}": int(count) for k, count in enumerate(counts)}
    shown: Counter[str] = Counter()
    for value, count in zip(distinct.tolist(), counts.tolist(), strict=True):
        shown[table.labels.get(value, f"{round(value, 2):g}")] += count
    return dict(shown)
