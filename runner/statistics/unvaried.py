"""What can be said where all clusters show the same difference, so that there is no variance to test with.

Never an interval of width 0 for two runs that could differ: that C clusters all came out alike does not rule out
another difference for up to ``unseen_rate(C)`` of all clusters (the exact rule of three).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist

from runner.findings import Interval
from runner.statistics.power import ALPHA
from runner.statistics.proportions import SMALL_CORRECTION, tango, unseen_rate

SIGN_FLIP_DECIDES = math.ceil(1 - math.log2(ALPHA))
"""Clusters from which on the sign flip can reject: all alike has p = 2 / 2^C, below 5 % from 6 on."""


@dataclass(frozen=True, slots=True)
class Kind:
    """What the numbers are, of which all differences are equal."""

    spread: float | None
    """Length of the scale; ``None`` where its ends are not known."""
    rates: bool
    """Whether they are passes."""
    same_run: bool
    """A run with itself, one ranking cut at equal k, or the same verdicts: a difference of 0 is certain there."""
    alike: bool = True
    """Whether all questions show the same difference, and not only all clusters."""


@dataclass(frozen=True, slots=True)
class Unvaried:
    """The interval and what follows from it."""

    interval: Interval | None
    """Tango's over clusters for passes; for means the rule of three times the scale; ``None`` where neither helps."""
    p_equivalence: float | None
    clusters_to_decide: float | None
    """From so many clusters like these on there would be a decision."""
    alike: bool
    """As in ``Kind``."""


def unvaried(difference: float, clusters: int, kind: Kind, margin: float | None) -> Unvaried:
    """What ``clusters`` clusters, all with this difference, say."""
    if kind.same_run and difference == 0:
        return Unvaried(Interval(0.0, 0.0), 0.0 if margin else None, None, True)
    spread = 1.0 if kind.rates else kind.spread
    if difference != 0:
        interval = _passes(difference, clusters) if kind.rates else None
        return Unvaried(interval, None, float(SIGN_FLIP_DECIDES), kind.alike)
    if spread is None:
        return Unvaried(None, None, None, kind.alike)
    half = unseen_rate(clusters) * spread
    interval = _passes(0.0, clusters) if kind.rates else Interval(-half, half)
    if margin is None or not 0 < margin < spread:
        return Unvaried(interval, None, None, kind.alike)
    rest = 1 - margin / spread
    needed = _equal_passes_needed(margin) if kind.rates else math.log(ALPHA) / math.log(rest)
    return Unvaried(interval, rest**clusters, needed, kind.alike)


def _passes(difference: float, clusters: int) -> Interval:
    """Tango's interval with clusters in the place of questions: those of one cluster went together."""
    import numpy

    only_a, only_b = (clusters if difference == sign else 0 for sign in (1, -1))
    low, high = tango(numpy.array([only_a]), numpy.array([only_b]), numpy.array([clusters]))
    return Interval(float(low[0]), float(high[0]))


def _equal_passes_needed(margin: float) -> float:
    """Clusters without one discordant pass at which Tango's interval lies within the margin.

    Its end D then solves ``(nD - c)^2 = z^2 n D (1 - D)``, with c the continuity correction.
    """
    z = NormalDist().inv_cdf(1 - ALPHA / 2)
    spread = z * z * margin * (1 - margin)
    return ((math.sqrt(spread) + math.sqrt(spread + 4 * margin * SMALL_CORRECTION)) / (2 * margin)) ** 2
