"""Means, clustered standard errors and cluster sums of many rows at once (numpy), with masks for what is missing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy

    Array = numpy.ndarray[Any, Any]

NEGLIGIBLE = 1e-12
"""Relative size below which a standard error is rounding, not variance."""


@dataclass(frozen=True)
class Moments:
    """One row a comparison (or a run). Where ``clusters`` is below 2 the error is 0 and means nothing."""

    count: Array
    clusters: Array
    mean: Array
    """0 where ``count`` is 0."""
    error: Array
    """Clustered standard error of the mean; exactly 0 where all values of a row are equal."""


def moments(values: Array, mask: Array, starts: Array) -> Moments:
    """Mean and clustered standard error of each row over its masked values.

    ``(1/n) sqrt(C/(C-1) sum_c S_c^2)``, see ``clusters.clustered_standard_error``.
    """
    import numpy

    count = mask.sum(axis=1)
    safe = numpy.maximum(count, 1)
    kept = numpy.where(mask, values, 0.0)
    mean = kept.sum(axis=1) / safe
    deviations = numpy.where(mask, values - mean[:, None], 0.0)
    sums = numpy.add.reduceat(deviations, starts, axis=1)
    clusters = (numpy.add.reduceat(mask, starts, axis=1, dtype=numpy.int64) > 0).sum(axis=1)
    freedom = numpy.maximum(clusters - 1, 1)
    error = numpy.sqrt(clusters / freedom * (sums**2).sum(axis=1)) / safe
    scale = numpy.abs(kept).max(axis=1, initial=0.0)
    error = numpy.where((clusters < 2) | (error <= NEGLIGIBLE * scale), 0.0, error)
    return Moments(count, clusters, mean, error)


def cluster_totals(values: Array, mask: Array, starts: Array) -> Array:
    """The sum of each row's masked values in each cluster."""
    import numpy

    totals: Array = numpy.add.reduceat(numpy.where(mask, values, 0.0), starts, axis=1)
    return totals


def design_effect(values: Array, starts: Array) -> float:
    """How much clustering widens the variance of a mean: clustered over simple, at least 1; 1 where undefined.

    Both with small-sample factors, so that clusters of one question give exactly 1.
    """
    import numpy

    count = values.shape[0]
    if count < 2:
        return 1.0
    simple = float(numpy.var(values, ddof=1)) / count
    whole = moments(values[None, :], numpy.ones((1, count), dtype=bool), starts)
    clustered = float(whole.error[0]) ** 2
    return max(1.0, clustered / simple) if simple > 0 and int(whole.clusters[0]) > 1 else 1.0


def intraclass_correlation(values: Array, starts: Array) -> float | None:
    """ICC(1) by one-way analysis of variance; ``None`` without variance or with single questions only."""
    import numpy

    count, clusters = values.shape[0], len(starts)
    if clusters < 2 or count == clusters:
        return None
    sizes = numpy.diff(numpy.append(starts, count))
    means = numpy.add.reduceat(values, starts) / sizes
    between = float((sizes * (means - values.mean()) ** 2).sum()) / (clusters - 1)
    within = float(((values - numpy.repeat(means, sizes)) ** 2).sum()) / (count - clusters)
    typical = (count - float((sizes**2).sum()) / count) / (clusters - 1)
    spread = between + (typical - 1) * within
    return (between - within) / spread if spread > 0 else None
