"""What failed scores and missing answers could have been: the two ends of the scale in their place."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from runner.findings import Measure
from runner.statistics.scores import ScoreTable

if TYPE_CHECKING:
    import numpy

    Array = numpy.ndarray[Any, Any]


def measured(table: ScoreTable, measure: Measure) -> Array:
    """The numbers compared: scores, or passes as 0 and 1."""
    import numpy

    return table.passed.astype(numpy.float64) if measure == Measure.PASS_RATE else table.values


def ends(table: ScoreTable, measure: Measure) -> tuple[float, float] | None:
    """The lowest and the highest number there can be; ``None`` where the scale is not known."""
    if measure == Measure.PASS_RATE:
        return 0.0, 1.0
    return None if table.lowest is None or table.highest is None else (table.lowest, table.highest)


class Whole:
    """The questions that a judge applies to, what is open counted as the lowest, and as the highest.

    Where the scale is not known, only what was scored.
    """

    def __init__(self, table: ScoreTable, measure: Measure) -> None:
        import numpy

        known, numbers = ends(table, measure), measured(table, measure)
        self.applies: Array = table.scored if known is None else table.scored | table.open
        """Runs × questions."""
        self.open: Array = table.open & self.applies
        self.worst: Array = numbers if known is None else numpy.where(table.open, known[0], numbers)
        self.best: Array = numbers if known is None else numpy.where(table.open, known[1], numbers)
        self.shared: Array = numpy.logical_and.reduce(self.applies, axis=0)
        """Questions that apply to every run."""
