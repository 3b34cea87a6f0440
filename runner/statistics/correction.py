"""Correct a judge's numbers with a few human labels: PPI++, and Rogan-Gladen where only error rates are known.

PPI++ (Angelopoulos, Duchi, Zrnic 2023, arXiv 2311.01453) is the one to use: on 12 human-labelled systems its intervals
kept their coverage at half the width of the labels alone, where the judge's own interval was wrong one time in three
and Rogan-Gladen was wider than the labels alone. It needs labels drawn at random from the answers that it corrects.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from statistics import NormalDist

from runner.findings import Estimate, Interval
from runner.statistics.moments import NEGLIGIBLE
from runner.statistics.power import ALPHA
from runner.statistics.verdicts import t_quantile

FEW_LABELS = 50
"""Below this PPI++ covers a little less than it says (92 % at 30 labels); said in a note."""
LEAST_LABELS = 2


def ppi_mean(
    truth: Sequence[float],
    judged: Sequence[float],
    unlabelled: Sequence[float],
    *,
    clusters: Sequence[Hashable] | None = None,
    unlabelled_clusters: Sequence[Hashable] | None = None,
    weight: float | None = None,
    small_sample: bool = True,
) -> Estimate | None:
    """The mean of the true score over all items, of which only some have a human label.

    ``lambda mean(F_unlabelled) + mean(Y - lambda F)`` over the labelled. ``None`` with fewer than two labels, or labels
    of fewer than two clusters.

    Parameters
    ----------
    truth, judged
        Human and judge on the labelled items.
    unlabelled
        The judge on the other items.
    clusters, unlabelled_clusters
        What each item belongs to; ``None``: items are independent.
    weight
        lambda; ``None``: the one with the least variance, between 0 (labels alone) and 1.
    small_sample
        Divisors n-1 and Student's t with clusters minus 1 degrees; False: divisors n and the normal distribution, as
        ppi-python has it.
    """
    import numpy

    y, f, u = (numpy.asarray(one, dtype=float) for one in (truth, judged, unlabelled))
    groups = list(clusters) if clusters is not None else [("labelled", k) for k in range(len(y))]
    others = list(unlabelled_clusters) if unlabelled_clusters is not None else [("other", k) for k in range(len(u))]
    labelled_clusters = len(set(groups))
    if len(y) < LEAST_LABELS or labelled_clusters < 2:
        return None
    power = 0.0 if len(u) == 0 else _best_weight(y, f, u, small_sample) if weight is None else weight
    rest = y - power * f
    value = float(rest.mean() + (power * u.mean() if len(u) else 0.0))
    parts: dict[Hashable, float] = {}
    for group, one in zip(groups, (rest - rest.mean()) / len(y), strict=True):
        parts[group] = parts.get(group, 0.0) + float(one)
    if len(u):
        for group, one in zip(others, power * (u - u.mean()) / len(u), strict=True):
            parts[group] = parts.get(group, 0.0) + float(one)
    factor = labelled_clusters / (labelled_clusters - 1) if small_sample else 1.0
    error = math.sqrt(factor * math.fsum(part * part for part in parts.values()))
    quantile = t_quantile(1 - ALPHA / 2, labelled_clusters - 1) if small_sample else NormalDist().inv_cdf(1 - ALPHA / 2)
    return Estimate(
        value=value,
        standard_error=error,
        # Without variance there is nothing to make an interval of; one of width 0 would claim to be certain.
        interval=Interval(value - quantile * error, value + quantile * error) if error > NEGLIGIBLE else None,
        labelled=len(y),
        unlabelled=len(u),
        weight=float(power),
        note=_note(len(y), error),
    )


def _note(labels: int, error: float) -> str:
    if error <= NEGLIGIBLE:
        return f"{labels} labels without any variance: no interval"
    return f"{labels} labels are few: the interval may be a little too narrow" if labels < FEW_LABELS else ""


def _best_weight(y: object, f: object, u: object, small_sample: bool) -> float:
    import numpy

    truth, judged, others = (numpy.asarray(one, dtype=float) for one in (y, f, u))
    spread = float(numpy.var(numpy.concatenate([judged, others]), ddof=1))
    if spread <= 0:
        return 0.0
    together = float(numpy.cov(truth, judged, ddof=1 if small_sample else 0)[0, 1])
    return min(1.0, max(0.0, together / ((1 + len(truth) / len(others)) * spread)))


def difference_of(a: Estimate, b: Estimate) -> Estimate:
    """A minus B from two separate estimates: wider than a paired one, for labels on different questions."""
    error = math.hypot(a.standard_error or 0.0, b.standard_error or 0.0)
    freedom = max(1, min(a.labelled, b.labelled) - 1)
    half = t_quantile(1 - ALPHA / 2, freedom) * error
    value = a.value - b.value
    return Estimate(
        value=value,
        standard_error=error,
        interval=Interval(value - half, value + half) if a.interval is not None and b.interval is not None else None,
        labelled=a.labelled + b.labelled,
        unlabelled=a.unlabelled + b.unlabelled,
        note="from labels on different questions, so wider than paired labels would make it",
    )


def rogan_gladen(
    rate: float, count: int, sensitivity: float, specificity: float, *, positives: int, negatives: int
) -> Estimate | None:
    """The true pass rate from a judge's rate and its error rates, with the interval of Lee et al. (arXiv 2511.21140).

    For error rates that come from elsewhere. ``None`` where sensitivity plus specificity is at most 1: such a judge
    says nothing.

    Parameters
    ----------
    rate, count
        The judge's pass rate over so many answers.
    sensitivity, specificity
        TPR and TNR, from ``positives`` and ``negatives`` labelled answers.
    """
    if sensitivity + specificity <= 1:
        return None
    z = NormalDist().inv_cdf(1 - ALPHA / 2)
    point = (rate + specificity - 1) / (sensitivity + specificity - 1)
    n = count + z * z
    p = (count * rate + z * z / 2) / n
    m0, m1 = negatives + 2, positives + 2
    q0, q1 = (negatives * specificity + 1) / m0, (positives * sensitivity + 1) / m1
    if q0 + q1 <= 1:
        return None
    theta = (p + q0 - 1) / (q0 + q1 - 1)
    shift = 2 * z * z * (theta * q1 * (1 - q1) / m1 - (1 - theta) * q0 * (1 - q0) / m0)
    variance = p * (1 - p) / n + (1 - theta) ** 2 * q0 * (1 - q0) / m0 + theta**2 * q1 * (1 - q1) / m1
    error = math.sqrt(variance) / (q0 + q1 - 1)
    low, high = theta + shift - z * error, theta + shift + z * error
    return Estimate(
        value=min(1.0, max(0.0, point)),
        standard_error=error,
        interval=Interval(min(1.0, max(0.0, low)), min(1.0, max(0.0, high))),
        labelled=positives + negatives,
        unlabelled=count,
    )
