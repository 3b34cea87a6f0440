"""Correlations from tables of two raters' values, for all resamples at once: resampling needs no sorting.

Axes before the last two are resamples: each function returns one value a resample, not a number where a rater never
varies.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy

    Array = numpy.ndarray[Any, Any]


def pearson(table: Array, rows: Array, columns: Array) -> Array:
    """Pearson's correlation of values counted in a table."""
    across, down = table.sum(axis=-1), table.sum(axis=-2)
    x, y = _centred(rows, across), _centred(columns, down)
    together = (x[..., None, :] @ table @ y[..., :, None])[..., 0, 0]
    return _quotient(together, (across * x**2).sum(axis=-1) * (down * y**2).sum(axis=-1), across, down)


def spearman(table: Array) -> Array:
    """Spearman's rank correlation: Pearson's of the mid-ranks."""
    across, down = table.sum(axis=-1), table.sum(axis=-2)
    return pearson(table, across.cumsum(axis=-1) - across / 2, down.cumsum(axis=-1) - down / 2)


def kendall(table: Array) -> Array:
    """Kendall's tau-b."""
    import numpy

    *before, size, width = table.shape
    # Everything strictly below and right of each cell, and strictly below and left.
    right = numpy.zeros((*before, size + 1, width + 1))
    right[..., :-1, :-1] = table[..., ::-1, ::-1].cumsum(axis=-2).cumsum(axis=-1)[..., ::-1, ::-1]
    left = numpy.zeros((*before, size + 1, width + 1))
    left[..., :-1, 1:] = table[..., ::-1, :].cumsum(axis=-2).cumsum(axis=-1)[..., ::-1, :]
    concordant = (table * right[..., 1:, 1:]).sum(axis=(-2, -1))
    discordant = (table * left[..., 1:, :-1]).sum(axis=(-2, -1))
    across, down = table.sum(axis=-1), table.sum(axis=-2)
    pairs = table.sum(axis=(-2, -1)) ** 2
    below = (pairs - (across**2).sum(axis=-1)) * (pairs - (down**2).sum(axis=-1))
    return _quotient(2 * (concordant - discordant), below, across, down)


def _centred(values: Array, counts: Array) -> Array:
    import numpy

    mean = (counts * values).sum(axis=-1) / numpy.maximum(counts.sum(axis=-1), 1)
    centred: Array = values - mean[..., None]
    return centred


def _quotient(above: Array, squared: Array, across: Array, down: Array) -> Array:
    """Divided by a root. A rater varies who gave two values: a sum of squares may miss 0 by a rounding."""
    import numpy

    varied = ((across > 0).sum(axis=-1) > 1) & ((down > 0).sum(axis=-1) > 1) & (squared > 0)
    quotient: Array = numpy.divide(
        above, numpy.sqrt(numpy.maximum(squared, 0)), out=numpy.full(above.shape, numpy.nan), where=varied
    )
    return quotient
