"""Coefficients of agreement for categories, computed from sums over items, for all resamples at once.

Axes before the last ones are resamples: each function returns one value a resample, not a number where it is undefined.

Own code, as the kept permissive libraries have none of them for missing ratings: Krippendorff's alpha (Krippendorff
2011, "Computing Krippendorff's alpha-reliability"), Gwet's AC1 and AC2, Fleiss, Brennan-Prediger and Conger with
weights (Gwet 2014, "Handbook of Inter-Rater Reliability"). Checked against recorded values of other programs.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy

    Array = numpy.ndarray[Any, Any]

WEIGHTS = ("identity", "linear", "quadratic", "ordinal")


@dataclass(frozen=True)
class Sums:
    """What the coefficients need of a set of items; each part adds up over items."""

    coincidence: Array
    """Categories × categories, Krippendorff's coincidence matrix."""
    observed: Array
    """Per weighting: summed agreement of the items with at least two ratings."""
    pairable: Array
    """(number of items with at least two ratings,)"""
    shares: Array
    """Per category: summed share of each item's ratings."""
    rated: Array
    """(number of items with any rating,)"""
    by_rater: Array
    """Raters × categories: ratings given."""


class Items:
    """Ratings (items × raters, NaN where missing) as one row of sums an item."""

    def __init__(self, ratings: Array) -> None:
        import numpy

        self.categories: Array = numpy.unique(ratings[~numpy.isnan(ratings)])
        size = len(self.categories)
        self.weights = [agreement_weights(self.categories, kind) for kind in WEIGHTS]
        given = ratings[:, :, None] == self.categories
        counts = given.sum(axis=1).astype(float)
        number = counts.sum(axis=1)
        pairable = number > 1
        safe = numpy.where(pairable, number - 1, 1.0)
        products = counts[:, :, None] * counts[:, None, :] - counts[:, :, None] * numpy.eye(size)
        coincidence = numpy.where(pairable[:, None, None], products / safe[:, None, None], 0.0)
        observed = numpy.stack(
            [
                numpy.where(pairable, (counts * (counts @ w - 1)).sum(axis=1) / (numpy.maximum(number, 1) * safe), 0.0)
                for w in self.weights
            ],
            axis=1,
        )
        shares = counts / numpy.maximum(number, 1)[:, None]
        self._shape = (size, ratings.shape[1])
        parts = [coincidence, observed, pairable, shares, number > 0, given]
        self.rows: Array = numpy.concatenate([part.reshape(len(ratings), -1) for part in parts], axis=1, dtype=float)

    def sums(self, total: Array) -> Sums:
        """The parts of sums of rows (the last axis)."""
        size, raters = self._shape
        before = total.shape[:-1]
        parts, start = [], 0
        for length in [size * size, len(WEIGHTS), 1, size, 1, raters * size]:
            parts.append(total[..., start : start + length])
            start += length
        coincidence, by_rater = parts[0].reshape(*before, size, size), parts[5].reshape(*before, raters, size)
        return Sums(coincidence, parts[1], parts[2], parts[3], parts[4], by_rater)


def agreement_weights(categories: Array, kind: str) -> Array:
    """How much two categories agree, 1 on the diagonal: identity, linear, quadratic, or Gwet's ordinal weights."""
    import numpy

    size = len(categories)
    if kind == "identity" or size < 2:
        return numpy.eye(size)
    if kind == "ordinal":
        between = numpy.abs(numpy.subtract.outer(numpy.arange(size), numpy.arange(size))) + 1
        pairs = between * (between - 1) / 2
        ordinal: Array = 1 - pairs / pairs.max()
        return ordinal
    distance = numpy.abs(numpy.subtract.outer(categories, categories)) / (categories[-1] - categories[0])
    weights: Array = 1 - distance ** (1 if kind == "linear" else 2)
    return weights


def percent(sums: Sums, kind: int = 0) -> Array:
    """Mean agreement of two ratings of one item."""
    return _over(sums.observed[..., kind], sums.pairable[..., 0])


def gwet(sums: Sums, weights: Array, kind: int) -> Array:
    """AC1 (identity weights) or AC2: chance agreement from how far ratings are from being all alike."""
    size = len(weights)
    share = _over(sums.shares, sums.rated)
    # With one category the sum is 0 whatever it is divided by, and agreement by chance is not defined.
    chance = weights.sum() / max(size * (size - 1), 1) * (share * (1 - share)).sum(axis=-1)
    return _corrected(percent(sums, kind), chance if size > 1 else chance + 1)


def fleiss(sums: Sums, weights: Array, kind: int) -> Array:
    """Fleiss' kappa (Scott's pi for two raters): chance agreement from the common distribution."""
    share = _over(sums.shares, sums.rated)
    return _corrected(percent(sums, kind), ((share @ weights) * share).sum(axis=-1))


def brennan_prediger(sums: Sums, weights: Array, kind: int) -> Array:
    """Chance agreement as if all categories were equally likely."""
    return _corrected(percent(sums, kind), weights.mean())


def conger(sums: Sums, weights: Array, kind: int) -> Array:
    """Conger's kappa: chance agreement from each rater's own distribution; Cohen's kappa for two raters."""
    own = _over(sums.by_rater, sums.by_rater.sum(axis=-1, keepdims=True))
    raters = own.shape[-2]
    mean = own.mean(axis=-2)
    outer = mean[..., :, None] * mean[..., None, :]
    covariance = (own.swapaxes(-1, -2) @ own - raters * outer) / (raters - 1)
    chance = (weights * (outer - covariance / raters)).sum(axis=(-2, -1))
    return _corrected(percent(sums, kind), chance)


def krippendorff(sums: Sums, categories: Array, metric: str) -> Array:
    """Alpha with a ``nominal``, ``ordinal``, ``interval`` or ``ratio`` metric; undefined where all are equal."""
    observed = sums.coincidence
    totals = observed.sum(axis=-1)
    distance = _distance(categories, totals, metric)
    # The diagonal, where a rating would meet itself, has distance 0.
    expected = (totals[..., :, None] * totals[..., None, :] * distance).sum(axis=(-2, -1))
    return 1 - _over((observed * distance).sum(axis=(-2, -1)) * (totals.sum(axis=-1) - 1), expected)


def _distance(categories: Array, totals: Array, metric: str) -> Array:
    import numpy

    if metric == "nominal":
        return numpy.ones((len(categories), len(categories))) - numpy.eye(len(categories))
    if metric == "ordinal":
        middle = numpy.cumsum(totals, axis=-1) - totals / 2
        ranks: Array = (middle[..., :, None] - middle[..., None, :]) ** 2
        return ranks
    squares: Array = numpy.subtract.outer(categories, categories) ** 2
    if metric == "interval":
        return squares
    sums = numpy.add.outer(categories, categories)
    ratios: Array = numpy.divide(squares, sums**2, out=numpy.zeros_like(squares, dtype=float), where=sums != 0)
    return ratios


def _corrected(observed: Array, chance: Array) -> Array:
    return _over(observed - chance, 1 - chance, above=1e-12)


def _over(above_line: Array, below_line: Array, above: float = 0.0) -> Array:
    """A quotient, not a number where the divisor is not above a limit (or is not a number itself)."""
    import numpy

    top, bottom = numpy.broadcast_arrays(above_line, below_line)
    quotient: Array = numpy.divide(top, bottom, out=numpy.full(top.shape, numpy.nan), where=bottom > above)
    return quotient
