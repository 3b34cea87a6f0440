"""Score against money: what a correct answer costs, with an interval, and which jobs are on the Pareto front."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from runner.findings import Interval
from runner.statistics.power import ALPHA
from runner.statistics.proportions import unseen_rate
from runner.statistics.scores import ScoreTable
from runner.statistics.states import FAILED, NOT_ASKED
from runner.statistics.verdicts import t_quantile

if TYPE_CHECKING:
    import numpy

    Array = numpy.ndarray[Any, Any]


@dataclass(frozen=True, slots=True)
class Cost:
    """What a job's answers cost; see ``findings.Standing``."""

    per_answer: float | None
    per_correct: float | None
    interval: Interval | None


def costs(table: ScoreTable) -> list[Cost]:
    """Each run's cost per question asked and per answer that passes."""
    return [_cost(table, row) if table.cost_known[row] else Cost(None, None, None) for row in range(len(table.names))]


def _cost(table: ScoreTable, row: int) -> Cost:
    asked = table.state[row] != NOT_ASKED
    if not asked.any():
        return Cost(None, None, None)
    per_answer = float(table.cost[row][asked].mean())
    # A verdict that failed says neither right nor wrong; an answer that declines, or never came, was paid for and is no
    # right one.
    known = asked & (table.state[row] != FAILED)
    passed = (table.passed[row] & table.scored[row]).astype(float)
    correct = float(passed.sum())
    if correct == 0:
        return Cost(per_answer, None, None)
    interval = ratio_interval(table.cost[row] * known, passed, known, table.starts)
    if interval is not None and correct == known.sum():
        # All pass, so the pass rate has no variance, but so many documents do not show that it is 1.
        interval = Interval(interval.low, interval.high / (1 - unseen_rate(_clusters(known, table.starts))))
    return Cost(per_answer, float(table.cost[row][known].sum()) / correct, interval)


def _clusters(mask: Array, starts: Array) -> int:
    import numpy

    return int((numpy.add.reduceat(mask, starts, dtype=numpy.int64) > 0).sum())


def ratio_interval(upper: Array, lower: Array, mask: Array, starts: Array) -> Interval | None:
    """Fieller's interval of the ratio of two means over the same questions, clustered, t with C-1 degrees.

    ``None`` with fewer than two clusters, or where the lower mean cannot be told from 0 (the interval has no end).
    """
    import numpy

    count = int(mask.sum())
    clusters = _clusters(mask, starts)
    if clusters < 2 or count == 0:
        return None
    means, sums = [], []
    for values in (upper, lower):
        mean = float(values[mask].sum()) / count
        means.append(mean)
        sums.append(numpy.add.reduceat(numpy.where(mask, values - mean, 0.0), starts))
    factor = clusters / (clusters - 1) / count**2
    variance_u, variance_l = factor * float(sums[0] @ sums[0]), factor * float(sums[1] @ sums[1])
    covariance = factor * float(sums[0] @ sums[1])
    t = t_quantile(1 - ALPHA / 2, clusters - 1)
    # The ends solve (u - r l)^2 = t^2 (Vu - 2 r C + r^2 Vl).
    a = means[1] ** 2 - t * t * variance_l
    b = means[0] * means[1] - t * t * covariance
    c = means[0] ** 2 - t * t * variance_u
    inside = b * b - a * c
    if a <= 0 or inside < 0:
        return None
    root = math.sqrt(inside)
    return Interval(max(0.0, (b - root) / a), (b + root) / a)


def pareto_front(scores: Sequence[float | None], prices: Sequence[float | None]) -> list[bool]:
    """For each job whether no other is at least as good for at most the money, and better in one of the two.

    A job without a score or a price is on no front.
    """
    known = [
        (score, price) for score, price in zip(scores, prices, strict=True) if score is not None and price is not None
    ]
    return [
        score is not None
        and price is not None
        and not any(s >= score and p <= price and (s > score or p < price) for s, p in known)
        for score, price in zip(scores, prices, strict=True)
    ]
