"""From a difference and its doubt to one of four words, and to how many questions would decide.

The rule, in this order:

1. fewer than two clusters: undecided (nothing can be inferred);
2. the test rejects "no difference" at 5 % (corrected over the family, in a sweep): better or worse;
3. the whole 95 % interval lies within the margin: equivalent;
4. else undecided.

Whoever calls this then makes it undecided where the bounds about failed scores lead to different words.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from runner.findings import Interval, Word
from runner.statistics.power import ALPHA, t_sum, z_sum
from runner.statistics.unvaried import Unvaried

MOST_QUESTIONS = 1_000_000
"""Beyond this, saying a number of questions helps nobody."""
MARGIN_SHARE = 0.05
"""Margin where none is set: this share of the scale's range (0.2 on a scale of 1 to 5, 5 points of a pass rate)."""


@dataclass(frozen=True, slots=True)
class Inference:
    """A difference with its test, before it is put in words."""

    questions: int
    clusters: int
    difference: float
    error: float
    interval: Interval | None
    p: float | None
    unvaried: Unvaried | None = None
    """Set where all differences are equal: then ``error`` is 0 and means nothing."""


def infer(
    questions: int,
    clusters: int,
    difference: float,
    error: float,
    *,
    p_permutation: float,
    all_equal: Callable[[float, int], Unvaried],
) -> Inference:
    """The paired, clustered t test with clusters minus 1 degrees, and its 95 % interval.

    Where all differences are equal there is no variance to test with: p is that of the sign flip, and the interval is
    what ``all_equal`` makes of the difference and the number of clusters.
    """
    if clusters < 2:
        return Inference(questions, clusters, difference, error, None, None)
    if error == 0:
        found = all_equal(difference, clusters)
        p = 1.0 if difference == 0 else p_permutation
        return Inference(questions, clusters, difference, error, found.interval, p, found)
    quantile = t_quantile(1 - ALPHA / 2, clusters - 1)
    interval = Interval(difference - quantile * error, difference + quantile * error)
    return Inference(questions, clusters, difference, error, interval, t_p(difference / error, clusters - 1))


def decide(found: Inference, margin: float | None, p: float | None = None) -> Word:
    """The word for an inference; ``p`` takes the place of its own p where it was corrected over a family."""
    used = found.p if p is None else p
    if found.clusters < 2 or used is None:
        return Word.UNDECIDED
    if used < ALPHA and found.difference != 0:
        return Word.BETTER if found.difference > 0 else Word.WORSE
    if found.interval is not None and found.interval == Interval(0.0, 0.0):
        return Word.EQUIVALENT
    if margin is not None and found.interval is not None and found.interval.inside(margin):
        return Word.EQUIVALENT
    return Word.UNDECIDED


def equivalence_p(found: Inference, margin: float | None) -> float | None:
    """The larger p of the two one-sided t tests of a difference beyond plus or minus ``margin`` (TOST)."""
    if found.unvaried is not None:
        return found.unvaried.p_equivalence
    if margin is None or margin <= 0 or found.clusters < 2:
        return None
    gap = margin - abs(found.difference)
    from scipy.special import stdtr

    return float(stdtr(found.clusters - 1, -gap / found.error))


def minimum_detectable(found: Inference) -> float | None:
    """The true difference shown with 80 % power: ``(t_{97.5} + t_{80}) SE`` with the degrees of the test."""
    if found.clusters < 2 or found.error == 0:
        return None
    return t_sum(found.clusters - 1) * found.error


def questions_to_decide(found: Inference, margin: float | None, correction: float = 1.0) -> int | None:
    """About how many questions like these would decide, if the difference stays what it is.

    The smaller of two numbers: to show the difference seen, and to show that it lies within the margin, with 80 %
    power each. ``None`` where neither would, or where it is beyond a million.

    Parameters
    ----------
    correction
        What the p of a difference is multiplied by, for the family that it belongs to.
    """
    if found.clusters < 2:
        return None
    if found.unvaried is not None:
        clusters = found.unvaried.clusters_to_decide
        if clusters is None:
            return None
        # Each cluster more halves the sign flip's p, corrected or not.
        clusters += math.ceil(math.log2(correction)) if found.difference != 0 else 0
        return _more_than(found, clusters * found.questions / found.clusters)
    ways = []
    if found.difference != 0:
        ways.append(z_sum(ALPHA / correction) / abs(found.difference))
    if margin is not None and margin > abs(found.difference):
        ways.append(z_sum() / (margin - abs(found.difference)))
    return _more_than(found, found.questions * (min(ways) * found.error) ** 2) if ways else None


def _more_than(found: Inference, needed: float) -> int | None:
    if not needed <= MOST_QUESTIONS:
        return None
    # By the discreteness of counts, and as t is not z, what should decide may not have done so.
    return max(round_up(needed), found.questions + 1)


def round_up(number: float) -> int:
    """To two significant digits, upwards: more would claim to know."""
    if number < 10:
        return math.ceil(number)
    step = 10 ** (math.floor(math.log10(number)) - 1)
    return int(math.ceil(number / step) * step)


def t_quantile(probability: float, freedom: int) -> float:
    """The quantile of Student's t."""
    from scipy.special import stdtrit

    return float(stdtrit(freedom, probability))


def t_p(statistic: float, freedom: int) -> float:
    """The two-sided p of Student's t."""
    from scipy.special import stdtr

    return min(1.0, float(2 * stdtr(freedom, -abs(statistic))))
