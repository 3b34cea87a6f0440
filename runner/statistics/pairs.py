"""The numbers of many pairs of runs at once: differences, errors, permutations, discordant passes, bounds."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from runner.findings import Measure
from runner.statistics.missing import ends, measured
from runner.statistics.moments import NEGLIGIBLE, Moments, cluster_totals, moments
from runner.statistics.scores import ScoreTable
from runner.statistics.signflip import sign_flip_rows
from runner.statistics.states import FAILED, NO_ANSWER, NOT_APPLICABLE, NOT_ASKED, SCORED

if TYPE_CHECKING:
    import numpy

    Array = numpy.ndarray[Any, Any]

BLOCK = 32
"""Pairs looked at together: bounds the memory (32 × 10,000 questions is 2.5 MB an array)."""
PERMUTATION_BLOCK = 512


@dataclass(frozen=True, slots=True)
class End:
    """A pair in one of the two extreme cases about what is open."""

    difference: float
    error: float
    only_a: int
    """Passes of A alone, for pass rates."""
    only_b: int


@dataclass(frozen=True, slots=True)
class LeftOut:
    """Why questions that one of the two was asked are not among those compared."""

    asked: int
    no_answer: tuple[int, int]
    """In A and in B; one question can be in both."""
    failed: tuple[int, int]
    not_applicable: int
    """To A's answer or to B's."""


@dataclass(frozen=True)
class PairNumbers:
    """What ``compare`` needs to know of one pair."""

    a: int
    b: int
    questions: int
    clusters: int
    mean_a: float
    mean_b: float
    difference: float
    error: float
    p_permutation: float
    exact: bool
    both: int
    only_a: int
    only_b: int
    neither: int
    pass_difference: float
    pass_error: float
    open: int
    """Questions that failed, or have no answer, in A or in B (and apply in both)."""
    lowest: End | None
    """If what is open counts against A; ``None`` where nothing is open or the scale is unknown."""
    highest: End | None
    bound_clusters: int
    bound_questions: int
    left: LeftOut
    only_in_a: int
    only_in_b: int
    alike: bool
    """Whether every question shows the same difference."""


def pair_numbers(
    table: ScoreTable, pairs: Sequence[tuple[int, int]], measure: Measure, resamples: int, seed: int
) -> list[PairNumbers]:
    """The numbers of each pair of rows of the table."""
    found: list[PairNumbers] = []
    for start in range(0, len(pairs), PERMUTATION_BLOCK):
        found += _big_block(table, pairs[start : start + PERMUTATION_BLOCK], measure, resamples, seed)
    return found


def _big_block(
    table: ScoreTable, pairs: Sequence[tuple[int, int]], measure: Measure, resamples: int, seed: int
) -> list[PairNumbers]:
    import numpy

    parts, totals = [], []
    for start in range(0, len(pairs), BLOCK):
        a = numpy.array([pair[0] for pair in pairs[start : start + BLOCK]])
        b = numpy.array([pair[1] for pair in pairs[start : start + BLOCK]])
        part = _Block(table, a, b, measure)
        parts.append(part)
        totals.append(part.totals)
    p, exact = sign_flip_rows(numpy.concatenate(totals), resamples, seed)
    rows = (row for part in parts for row in part.rows())
    return [PairNumbers(**row, p_permutation=float(p[k]), exact=bool(exact[k])) for k, row in enumerate(rows)]


class _Block:
    """One block of pairs; keeps only small arrays after construction."""

    def __init__(self, table: ScoreTable, a: Array, b: Array, measure: Measure) -> None:
        import numpy

        values = measured(table, measure)
        self.a, self.b = a, b
        state_a, state_b = table.state[a], table.state[b]
        mask = (state_a == SCORED) & (state_b == SCORED)
        differences = values[a] - values[b]
        self.main = moments(differences, mask, table.starts)
        off = numpy.abs(numpy.where(mask, differences - self.main.mean[:, None], 0.0)).max(axis=1, initial=0.0)
        self.alike = off <= NEGLIGIBLE * numpy.abs(differences).max(axis=1, initial=0.0)
        self.totals = cluster_totals(differences, mask, table.starts)
        count = mask.sum(axis=1)
        safe = count.clip(min=1)
        self.mean_a = (values[a] * mask).sum(axis=1) / safe
        self.mean_b = (values[b] * mask).sum(axis=1) / safe
        self._passes(table, mask, count, measure)
        self.only_in_a = ((state_a != NOT_ASKED) & (state_b == NOT_ASKED)).sum(axis=1)
        self.only_in_b = ((state_b != NOT_ASKED) & (state_a == NOT_ASKED)).sum(axis=1)
        self._left_out(state_a, state_b)
        self._bounds(table, values, state_a, state_b, measure)

    def _passes(self, table: ScoreTable, mask: Array, count: Array, measure: Measure) -> None:
        passed_a, passed_b = table.passed[self.a] & mask, table.passed[self.b] & mask
        self.both = (passed_a & passed_b).sum(axis=1)
        self.only_a = (passed_a & ~passed_b).sum(axis=1)
        self.only_b = (passed_b & ~passed_a).sum(axis=1)
        self.neither = count - self.both - self.only_a - self.only_b
        if measure == Measure.PASS_RATE:
            self.passes = self.main
        else:
            self.passes = moments(passed_a.astype(float) - passed_b.astype(float), mask, table.starts)

    def _left_out(self, state_a: Array, state_b: Array) -> None:
        both = (state_a != NOT_ASKED) & (state_b != NOT_ASKED)
        self.asked = ((state_a != NOT_ASKED) | (state_b != NOT_ASKED)).sum(axis=1)
        self.no_answer = [((state == NO_ANSWER) & both).sum(axis=1) for state in (state_a, state_b)]
        self.failed = [((state == FAILED) & both).sum(axis=1) for state in (state_a, state_b)]
        self.not_applicable = (((state_a == NOT_APPLICABLE) | (state_b == NOT_APPLICABLE)) & both).sum(axis=1)

    def _bounds(self, table: ScoreTable, values: Array, state_a: Array, state_b: Array, measure: Measure) -> None:
        import numpy

        known = ends(table, measure)
        open_a, open_b = state_a >= FAILED, state_b >= FAILED
        could = ((state_a == SCORED) | open_a) & ((state_b == SCORED) | open_b)
        self.open = ((open_a | open_b) & could).sum(axis=1)
        self.low: _Ends | None = None
        self.high: _Ends | None = None
        if not self.open.any() or known is None:
            return
        a, b = values[self.a], values[self.b]
        low = numpy.where(open_a, known[0], a) - numpy.where(open_b, known[1], b)
        high = numpy.where(open_a, known[1], a) - numpy.where(open_b, known[0], b)
        self.low, self.high = _Ends(low, could, table.starts), _Ends(high, could, table.starts)

    def rows(self) -> Iterator[dict[str, Any]]:
        for k in range(len(self.a)):
            bounded = self.low is not None and self.open[k] > 0
            yield {
                "a": int(self.a[k]),
                "b": int(self.b[k]),
                "questions": int(self.main.count[k]),
                "clusters": int(self.main.clusters[k]),
                "mean_a": float(self.mean_a[k]),
                "mean_b": float(self.mean_b[k]),
                "difference": float(self.main.mean[k]),
                "error": float(self.main.error[k]),
                "both": int(self.both[k]),
                "only_a": int(self.only_a[k]),
                "only_b": int(self.only_b[k]),
                "neither": int(self.neither[k]),
                "pass_difference": float(self.passes.mean[k]),
                "pass_error": float(self.passes.error[k]),
                "open": int(self.open[k]),
                "lowest": self.low.end(k) if bounded and self.low is not None else None,
                "highest": self.high.end(k) if bounded and self.high is not None else None,
                "bound_clusters": int(self.low.found.clusters[k]) if bounded and self.low is not None else 0,
                "bound_questions": int(self.low.found.count[k]) if bounded and self.low is not None else 0,
                "left": self._left(k),
                "only_in_a": int(self.only_in_a[k]),
                "only_in_b": int(self.only_in_b[k]),
                "alike": bool(self.alike[k]),
            }

    def _left(self, row: int) -> LeftOut:
        no_answer, failed = ((int(one[row]), int(other[row])) for one, other in (self.no_answer, self.failed))
        return LeftOut(int(self.asked[row]), no_answer, failed, int(self.not_applicable[row]))


class _Ends:
    """One of the two extreme cases, of every pair of a block."""

    def __init__(self, differences: Array, mask: Array, starts: Array) -> None:
        self.found: Moments = moments(differences, mask, starts)
        self._only_a = ((differences > 0) & mask).sum(axis=1)
        self._only_b = ((differences < 0) & mask).sum(axis=1)

    def end(self, row: int) -> End:
        found = self.found
        only = int(self._only_a[row]), int(self._only_b[row])
        return End(float(found.mean[row]), float(found.error[row]), *only)
