"""Coefficients of agreement for categories, computed from sums over items, so that resampling is cheap.

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
        """The parts of a sum of rows."""
        size, raters = self._shape
        ends = [size * size, len(WEIGHTS), 1, size, 1]
        parts, start = [], 0
        for length in ends:
            parts.append(total[start : start + length])
            start += length
        return Sums(
            parts[0].reshape(size, size), parts[1], parts[2], parts[3], parts[4], total[start:].reshape(raters, size)
        )


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


def percent(sums: Sums, kind: int = 0) -> float | None:
    """Mean agreement of two ratings of one item."""
    return float(sums.observed[kind] / sums.pairable[0]) if sums.pairable[0] else None


def gwet(sums: Sums, weights: Array, kind: int) -> float | None:
    """AC1 (identity weights) or AC2: chance agreement from how far ratings are from being all alike."""
    size = len(weights)
    if size < 2 or not sums.pairable[0]:
        return None
    share = sums.shares / sums.rated[0]
    chance = float(weights.sum() / (size * (size - 1)) * (share * (1 - share)).sum())
    return _corrected(percent(sums, kind), chance)


def fleiss(sums: Sums, weights: Array, kind: int) -> float | None:
    """Fleiss' kappa (Scott's pi for two raters): chance agreement from the common distribution."""
    if not sums.pairable[0]:
        return None
    share = sums.shares / sums.rated[0]
    return _corrected(percent(sums, kind), float(share @ weights @ share))


def brennan_prediger(sums: Sums, weights: Array, kind: int) -> float | None:
    """Chance agreement as if all categories were equally likely."""
    return _corrected(percent(sums, kind), float(weights.mean())) if weights.size else None


def conger(sums: Sums, weights: Array, kind: int) -> float | None:
    """Conger's kappa: chance agreement from each rater's own distribution; Cohen's kappa for two raters."""
    import numpy

    given = sums.by_rater.sum(axis=1)
    if not sums.pairable[0] or (given == 0).any():
        return None
    own = sums.by_rater / given[:, None]
    raters = len(own)
    mean = own.mean(axis=0)
    covariance = (own.T @ own - raters * numpy.outer(mean, mean)) / (raters - 1)
    chance = float((weights * (numpy.outer(mean, mean) - covariance / raters)).sum())
    return _corrected(percent(sums, kind), chance)


def krippendorff(sums: Sums, categories: Array, metric: str) -> float | None:
    """Alpha with a ``nominal``, ``ordinal``, ``interval`` or ``ratio`` metric; ``None`` where all ratings are equal."""
    import numpy

    observed = sums.coincidence
    totals = observed.sum(axis=1)
    count = totals.sum()
    if count <= 1:
        return None
    distance = _distance(categories, totals, metric)
    expected = (numpy.outer(totals, totals) - numpy.diag(totals)) / (count - 1)
    below = float((expected * distance).sum())
    return None if below <= 0 else 1 - float((observed * distance).sum()) / below


def _distance(categories: Array, totals: Array, metric: str) -> Array:
    import numpy

    if metric == "nominal":
        return numpy.ones((len(categories), len(categories))) - numpy.eye(len(categories))
    if metric == "ordinal":
        middle = numpy.cumsum(totals) - totals / 2
        ranks: Array = numpy.subtract.outer(middle, middle) ** 2
        return ranks
    squares: Array = numpy.subtract.outer(categories, categories) ** 2
    if metric == "interval":
        return squares
    sums = numpy.add.outer(categories, categories)
    ratios: Array = numpy.divide(squares, sums**2, out=numpy.zeros_like(squares, dtype=float), where=sums != 0)
    return ratios


def _corrected(observed: float | None, chance: float) -> float | None:
    if observed is None or 1 - chance < 1e-12:
        return None
    return (observed - chance) / (1 - chance)
