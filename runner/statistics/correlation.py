"""Rank correlations from a table of two raters' values, with weights, so that resampling needs no sorting."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy

    Array = numpy.ndarray[Any, Any]


def pearson(table: Array, rows: Array, columns: Array) -> float | None:
    """Pearson's correlation of values counted in a table; ``None`` where one rater never varies."""
    import numpy

    count = table.sum()
    if count <= 1:
        return None
    across, down = table.sum(axis=1), table.sum(axis=0)
    x, y = rows - (across @ rows) / count, columns - (down @ columns) / count
    below = float(numpy.sqrt((across @ x**2) * (down @ y**2)))
    return None if below <= 0 else float(x @ table @ y) / below


def spearman(table: Array) -> float | None:
    """Spearman's rank correlation: Pearson's of the mid-ranks."""
    import numpy

    across, down = table.sum(axis=1), table.sum(axis=0)
    return pearson(table, numpy.cumsum(across) - across / 2, numpy.cumsum(down) - down / 2)


def kendall(table: Array) -> float | None:
    """Kendall's tau-b; ``None`` where one rater never varies."""
    import numpy

    count = float(table.sum())
    # Everything strictly below and right of each cell, and strictly below and left.
    right = numpy.zeros((table.shape[0] + 1, table.shape[1] + 1))
    right[:-1, :-1] = table[::-1, ::-1].cumsum(axis=0).cumsum(axis=1)[::-1, ::-1]
    left = numpy.zeros((table.shape[0] + 1, table.shape[1] + 1))
    left[:-1, 1:] = table[::-1].cumsum(axis=0).cumsum(axis=1)[::-1]
    concordant = float((table * right[1:, 1:]).sum())
    discordant = float((table * left[1:, :-1]).sum())
    across, down = table.sum(axis=1), table.sum(axis=0)
    below = float(numpy.sqrt((count**2 - (across**2).sum()) * (count**2 - (down**2).sum())))
    return None if below <= 0 else 2 * (concordant - discordant) / below
