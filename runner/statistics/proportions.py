"""Pass rates: intervals for one rate and for the paired difference of two, McNemar's exact test."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from runner.findings import Interval

if TYPE_CHECKING:
    import numpy

    Array = numpy.ndarray[Any, Any]

LEVEL = 0.95
SMALL_CORRECTION = 0.125
"""The continuity correction that kept coverage best for its width (Chang et al. 2024, J. Applied Statistics 51:139)."""
_BISECTIONS = 60


def wilson(passed: float, count: float, level: float = LEVEL) -> Interval:
    """Wilson's score interval of a rate; ``count`` may be an effective number (questions over the design effect)."""
    z = _normal_quantile(level)
    rate = passed / count
    centre = (rate + z * z / (2 * count)) / (1 + z * z / count)
    half = z / (1 + z * z / count) * math.sqrt(rate * (1 - rate) / count + z * z / (4 * count * count))
    return Interval(max(0.0, centre - half), min(1.0, centre + half))


def pass_interval(passed: int, count: int, method: str = "wilson", level: float = LEVEL) -> Interval:
    """The interval of a rate: ``wilson``, ``beta`` (Clopper-Pearson), ``jeffreys``, ``normal`` (Wald); statsmodels."""
    from statsmodels.stats.proportion import proportion_confint

    low, high = proportion_confint(passed, count, alpha=1 - level, method=method)
    return Interval(float(low), float(high))


def unseen_rate(count: int, level: float = LEVEL) -> float:
    """The highest failure rate that ``count`` passes out of ``count`` do not rule out (the exact rule of three)."""
    return float(1 - (1 - level) ** (1 / count))


def mcnemar(only_a: Array, only_b: Array) -> Array:
    """McNemar's exact test, two-sided: a binomial test of the discordant pairs; 1 where there are none."""
    import numpy
    from scipy.stats import binom

    only_a, only_b = numpy.asarray(only_a), numpy.asarray(only_b)
    doubled: Array = 2 * binom.cdf(numpy.minimum(only_a, only_b), only_a + only_b, 0.5)
    return numpy.minimum(1.0, doubled)


def tango(
    only_a: Array, only_b: Array, count: Array, level: float = LEVEL, correction: float = SMALL_CORRECTION
) -> tuple[Array, Array]:
    """Tango's score interval of the paired difference of two rates (Statistics in Medicine 1998, 17:891).

    The ends are the differences D at which ``(a - b - nD) / sqrt(n (2 q + D (1 - D)))`` is plus or minus z, where q
    is the constrained estimate of the rate of "only B" under D. Found by bisection, all pairs at once.

    Parameters
    ----------
    correction
        Continuity correction of the numerator; 0 is Tango's own interval.
    """
    import numpy

    only_a, only_b, count = (numpy.asarray(one, dtype=float) for one in (only_a, only_b, count))
    z = _normal_quantile(level)
    estimate = (only_a - only_b) / count
    ends = []
    for sign in (1.0, -1.0):
        near, far = estimate.copy(), numpy.full_like(estimate, -sign)
        for _ in range(_BISECTIONS):
            middle = (near + far) / 2
            accepted = _tango_score(only_a, only_b, count, middle, sign=sign, correction=correction) < z
            near, far = numpy.where(accepted, middle, near), numpy.where(accepted, far, middle)
        ends.append((near + far) / 2)
    return ends[0], ends[1]


def _tango_score(
    only_a: Array, only_b: Array, count: Array, difference: Array, *, sign: float, correction: float
) -> Array:
    import numpy

    linear = -only_a - only_b + (2 * count - only_a + only_b) * difference
    constant = -only_b * difference * (1 - difference)
    root = numpy.sqrt(numpy.maximum(linear**2 - 8 * count * constant, 0.0))
    rate = (root - linear) / (4 * count)
    variance = count * (2 * rate + difference * (1 - difference))
    gap = sign * (only_a - only_b - count * difference) - correction
    with numpy.errstate(divide="ignore", invalid="ignore"):
        score: Array = numpy.where(
            variance > 0, gap / numpy.sqrt(numpy.maximum(variance, 1e-300)), numpy.sign(gap) * 1e9
        )
    return score


def newcombe(both: int, only_a: int, only_b: int, neither: int, level: float = LEVEL) -> Interval:
    """Newcombe's hybrid score interval of the paired difference (Statistics in Medicine 1998, 17:2635, method 10).

    Square-and-add of the two Wilson intervals with the correlation phi of the pairs, itself corrected for continuity.
    """
    count = both + only_a + only_b + neither
    rate_a, rate_b = (both + only_a) / count, (both + only_b) / count
    a, b = wilson(both + only_a, count, level), wilson(both + only_b, count, level)
    product = (both + only_a) * (only_b + neither) * (both + only_b) * (only_a + neither)
    excess = both * neither - only_a * only_b
    corrected = max(excess - count / 2, 0.0) if excess > 0 else float(excess)
    phi = corrected / math.sqrt(product) if product else 0.0
    low_a, high_a, low_b, high_b = rate_a - a.low, a.high - rate_a, rate_b - b.low, b.high - rate_b
    below = math.sqrt(max(0.0, low_a**2 - 2 * phi * low_a * high_b + high_b**2))
    above = math.sqrt(max(0.0, high_a**2 - 2 * phi * high_a * low_b + low_b**2))
    difference = rate_a - rate_b
    return Interval(difference - below, difference + above)


def _normal_quantile(level: float) -> float:
    from statistics import NormalDist

    return NormalDist().inv_cdf(0.5 + level / 2)
