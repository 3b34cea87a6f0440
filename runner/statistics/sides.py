"""Each run on its own: mean with clustered error, pass rate with its interval, denominators, histogram."""

from __future__ import annotations

from collections import Counter

from runner.findings import Denominators, Interval, Side
from runner.statistics.moments import design_effect, moments
from runner.statistics.proportions import wilson
from runner.statistics.scores import FAILED, NOT_APPLICABLE, NOT_ASKED, ScoreTable
from runner.statistics.summary import MOST_DISTINCT_VALUES, RANGES


def sides(table: ScoreTable) -> list[Side]:
    """Every run of the table, over all the questions that it scored."""
    found = moments(table.values, table.scored, table.starts)
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
                    failed=int((state == FAILED).sum()),
                    reasons=table.reasons[row],
                ),
                mean=float(found.mean[row]) if scored else None,
                standard_error=float(found.error[row]) if found.clusters[row] > 1 else None,
                pass_rate=passed / scored if scored else None,
                pass_interval=_pass_interval(table, row, passed, scored),
                distribution=_distribution(table, row),
            )
        )
    return result


def _pass_interval(table: ScoreTable, row: int, passed: int, scored: int) -> Interval | None:
    """Wilson's interval, the questions divided by what the clusters cost."""
    import numpy

    if not scored:
        return None
    mask = table.scored[row]
    first = numpy.zeros(len(mask), dtype=numpy.int64)
    first[table.starts] = 1
    cluster = numpy.cumsum(first)[mask]
    starts = numpy.flatnonzero(numpy.diff(cluster, prepend=0))
    effective = scored / design_effect(table.passed[row][mask].astype(float), starts)
    return wilson(passed / scored * effective, effective)


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
