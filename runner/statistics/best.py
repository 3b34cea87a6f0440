"""Who may be the best of many, how much picking the best flatters it, and intervals that hold all at once.

All on the same questions for every run, resampled by cluster with one seed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import TYPE_CHECKING, Any

from runner.statistics.power import ALPHA
from runner.statistics.verdicts import t_quantile

if TYPE_CHECKING:
    import numpy

    Array = numpy.ndarray[Any, Any]

RESAMPLES = 1_000
MULTIPLIERS = 8_000
_CHUNK = 200
_ROUNDING = 1e-13


@dataclass(frozen=True)
class Resampled:
    """Means of each run in resampled sets of clusters."""

    means: Array
    """Of the real data, one a run."""
    resampled: Array
    """Resamples × runs."""


def resample(
    values: Array, starts: Array, seed: int, resamples: int = RESAMPLES, draws: int | None = None
) -> Resampled:
    """Draw whole clusters with replacement and take every run's mean; all runs share the draws.

    Parameters
    ----------
    values
        Runs × questions, complete, sorted by cluster.
    draws
        How many clusters a set has; ``None``: as many as there are.
    """
    import numpy

    generator = numpy.random.default_rng(seed)
    clusters = len(starts)
    sizes = numpy.diff(numpy.append(starts, values.shape[1])).astype(float)
    totals = numpy.add.reduceat(values, starts, axis=1)
    parts = []
    for start in range(0, resamples, _CHUNK):
        now = min(_CHUNK, resamples - start)
        weights = generator.multinomial(draws or clusters, numpy.full(clusters, 1 / clusters), size=now).astype(float)
        parts.append(weights @ totals.T / (weights @ sizes)[:, None])
    return Resampled(values.mean(axis=1), numpy.concatenate(parts))


def probability_best(found: Resampled) -> list[float]:
    """In which share of the resampled sets each run has the highest mean; ties are shared."""
    top = found.resampled == found.resampled.max(axis=1, keepdims=True)
    return [float(one) for one in (top / top.sum(axis=1, keepdims=True)).mean(axis=0)]


def probability_bounds(lowest: Resampled, highest: Resampled) -> list[tuple[float, float]]:
    """The same where scores are open: each run's own at their lowest with the others' at their highest, and reversed.

    Both must come from the same draws.
    """
    return list(
        zip(
            _alone_against(lowest.resampled, highest.resampled),
            _alone_against(highest.resampled, lowest.resampled),
            strict=True,
        )
    )


def _alone_against(own: Array, others: Array) -> list[float]:
    import numpy

    shares = []
    for row in range(own.shape[1]):
        rest = numpy.delete(others, row, axis=1)
        top = rest.max(axis=1, initial=-numpy.inf)
        level = 1 + (rest == own[:, [row]]).sum(axis=1)
        share = numpy.where(own[:, row] > top, 1.0, numpy.where(own[:, row] == top, 1.0 / level, 0.0))
        shares.append(float(share.mean()))
    return shares


def expected_drop(found: Resampled) -> float:
    """How much the winner's mean exceeds its own true mean, on average: the optimism of picking the best.

    In each resampled set the winner is picked, and its mean there is compared with the same run's mean in the whole
    data, which is the truth of that resampled world.
    """
    winners = found.resampled.argmax(axis=1)
    picked = found.resampled.max(axis=1)
    return float((picked - found.means[winners]).mean())


def confidence_set(found: Resampled, size: float = ALPHA) -> list[int]:
    """The rows that may be the best: the model confidence set of Hansen, Lunde and Nason (2011), range statistic.

    Runs are dropped one by one, the one that another beats most clearly first, until the rest cannot be told apart at
    level ``size``. The best run is always in it. Rows come best first.
    """
    import numpy

    means, draws = found.means, found.resampled - found.means
    spread = _spreads(draws)
    gaps = means[None, :] - means[:, None]  # [i, j]: by how much j beats i
    with numpy.errstate(divide="ignore", invalid="ignore"):
        ratios = numpy.where(spread > 0, gaps / spread, numpy.where(gaps == 0, 0.0, numpy.sign(gaps) * numpy.inf))
    kept = list(range(len(means)))
    while len(kept) > 1:
        inside = ratios[numpy.ix_(kept, kept)]
        statistic = inside.max()
        reached = _range_draws(draws[:, kept], spread[numpy.ix_(kept, kept)])
        if float((reached >= statistic).mean()) > size:
            break
        kept.pop(int(inside.max(axis=1).argmax()))
    return sorted(kept, key=lambda row: -means[row])


def _spreads(draws: Array) -> Array:
    """Standard deviation over the resamples of the difference of each two rows."""
    import numpy

    products = draws.T @ draws / len(draws)
    own = numpy.diag(products)
    variance = own[:, None] + own[None, :] - 2 * products
    # Two equal rows differ by rounding only; that is no variance.
    return numpy.where(variance > _ROUNDING * (own[:, None] + own[None, :]), numpy.sqrt(numpy.abs(variance)), 0.0)


def _range_draws(draws: Array, spread: Array) -> Array:
    """The largest standardised difference of two rows in each resample."""
    import numpy

    inverse = numpy.divide(1.0, spread, out=numpy.zeros_like(spread), where=spread > 0)
    largest = numpy.zeros(len(draws))
    for row in range(draws.shape[1] - 1):
        later = numpy.abs(draws[:, [row]] - draws[:, row + 1 :]) * inverse[row, row + 1 :]
        numpy.maximum(largest, later.max(axis=1), out=largest)
    return largest


def critical_value(values: Array, starts: Array, pairs: Sequence[tuple[int, int]], seed: int) -> float | None:
    """The max-T critical value of all pairs' intervals together, on the scale of t with clusters minus 1 degrees.

    Gaussian multipliers on the cluster sums give the joint distribution of the standardised differences; each margin
    is exactly normal, so the quantile is carried over to t. ``None`` where no pair has variance.
    """
    import numpy

    deviations = values - values.mean(axis=1, keepdims=True)
    sums = numpy.add.reduceat(deviations, starts, axis=1)
    left, right = numpy.array([pair[0] for pair in pairs]), numpy.array([pair[1] for pair in pairs])
    gram = sums @ sums.T
    own = numpy.diag(gram)
    size = numpy.sqrt(numpy.maximum(own[left] + own[right] - 2 * gram[left, right], 0.0))
    live = size > 1e-12 * max(1.0, float(numpy.abs(sums).max()))
    if not live.any():
        return None
    left, right, size = left[live], right[live], size[live]
    generator = numpy.random.default_rng(seed)
    largest = []
    for start in range(0, MULTIPLIERS, _CHUNK):
        now = min(_CHUNK, MULTIPLIERS - start)
        drawn = generator.standard_normal((now, sums.shape[1])) @ sums.T
        largest.append((numpy.abs(drawn[:, left] - drawn[:, right]) / size).max(axis=1))
    normal = float(numpy.quantile(numpy.concatenate(largest), 1 - ALPHA))
    return t_quantile(NormalDist().cdf(normal), len(starts) - 1)
