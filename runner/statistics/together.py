"""All runs of a sweep together: who has the highest number, who may be the best, and how much picking flatters it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from runner.findings import Comparison, Measure, Optimism, Word
from runner.statistics.best import Resampled, confidence_set, critical_value, expected_drop, resample
from runner.statistics.missing import Whole, measured
from runner.statistics.scores import ScoreTable

if TYPE_CHECKING:
    import numpy

    Array = numpy.ndarray[Any, Any]

SMALLEST_SHOWN = 0.0005
"""What rounds to 0 in three decimals is not said to be expected."""
TIE = 1e-12
COUNTED_LOWEST = " (failed scores and missing answers counted as the lowest)"


class Together:
    """What is said about all runs together, on the questions that apply to all of them.

    What failed or has no answer counts as the lowest of the scale: on the questions that all scored alone, a run could
    come first by not answering.
    """

    def __init__(self, table: ScoreTable, measure: Measure, pairs: Sequence[tuple[int, int]], seed: int) -> None:
        import numpy

        self._table = table
        complete: Array = numpy.logical_and.reduce(table.scored, axis=0)
        whole = Whole(table, measure)
        self.scored = int(complete.sum())
        self.questions = int(whole.shared.sum())
        self.open = bool(whole.open[:, whole.shared].any())
        scored_starts, starts = _starts(table, complete), _starts(table, whole.shared)
        self.clusters = len(scored_starts)
        self.found: Resampled | None = None
        self.flattered: Resampled | None = None
        """What is open counted as the highest; ``None`` where nothing is."""
        self.critical: float | None = None
        self.best: int | None = None
        self.may_be_best: list[int] = []
        if self.clusters < 2:
            return
        self.found = resample(whole.worst[:, whole.shared], starts, seed)
        if self.open:
            self.flattered = resample(whole.best[:, whole.shared], starts, seed)
        self.critical = critical_value(measured(table, measure)[:, complete], scored_starts, pairs, seed)
        self.may_be_best = confidence_set(self.found)
        self.best = self.may_be_best[0]

    def agree_with(self, comparisons: Sequence[Comparison]) -> None:
        """Bring the set into line with the verdicts against the best: the two must not contradict each other.

        Who is worse leaves it; who is in doubt only because scores failed, or because few clusters all came out alike,
        comes back, at the end.
        """
        if self.best is None:
            return
        names, best = self._table.names, self._table.names[self.best]
        against = {
            pair.a.name if pair.b.name == best else pair.b.name: pair for pair in comparisons if best in _names(pair)
        }
        beaten = {name for name, pair in against.items() if pair.verdict in (Word.BETTER, Word.WORSE)}
        doubtful = {
            name
            for name, pair in against.items()
            if name not in beaten and ((pair.bounds and not pair.bounds.agree) or not pair.standard_error)
        }
        kept = [row for row in self.may_be_best if names[row] not in beaten]
        self.may_be_best = kept + [row for row in range(len(names)) if names[row] in doubtful and row not in kept]

    def optimism(self) -> Optimism | None:
        """``None`` too where all runs are level: then nothing was picked."""
        if self.found is None or self.best is None or len(self.highest) == len(self._table.names):
            return None
        name, observed = self._table.names[self.best], float(self.found.means[self.best])
        drop = max(0.0, expected_drop(self.found))
        count = len(self._table.names)
        who = f"{name} is" if len(self.highest) == 1 else f"{', '.join(self.highest)} share"
        end = f"; picking the highest flatters it: on new questions expect about {drop:.3f} less."
        if drop < SMALLEST_SHOWN:
            end = "; picking the highest flatters it by less than 0.001 here."
        counted = COUNTED_LOWEST if self.open else ""
        sentence = f"{who} the highest of {count} with {observed:.3f}{counted}{end}"
        return Optimism(name, observed, drop, sentence)

    @property
    def highest(self) -> list[str]:
        """Who has the highest number, or shares it."""
        if self.found is None:
            return []
        means = self.found.means
        return [self._table.names[row] for row in range(len(means)) if means[row] >= means.max() - TIE]


def _starts(table: ScoreTable, kept: Array) -> Array:
    """Where the clusters of some of the questions begin among these."""
    import numpy

    first = numpy.zeros(len(kept), dtype=numpy.int64)
    first[table.starts] = 1
    return numpy.flatnonzero(numpy.diff(numpy.cumsum(first)[kept], prepend=0))


def _names(pair: Comparison) -> tuple[str, str]:
    return pair.a.name, pair.b.name
