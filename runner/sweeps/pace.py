"""How long the rest will take, said only once it can be known."""

from __future__ import annotations

import math
import time
from collections.abc import Callable

LEAST_SHARE = 0.1
"""Of what is to be done must be done before anything is said: the first questions are not like the rest, as they all
wait for their answers at the same time and nothing is judged yet."""
LEAST_COUNT = 5
LEAST_TIME_S = 3.0


class Pace:
    """The speed since the first question was finished: what comes before it (index, first answers) happens once.

    What came from storage says nothing about the speed; do not count it here.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._first: float | None = None
        self._done = 0

    def one_more(self) -> None:
        """One more question is finished."""
        if self._first is None:
            self._first = self._clock()
        self._done += 1

    def seconds_left(self, left: int) -> float | None:
        """Seconds for ``left`` more questions; ``None`` where it cannot be known yet, or nothing is left."""
        if self._first is None or not left:
            return None
        passed = self._clock() - self._first
        enough = max(LEAST_COUNT, math.ceil(LEAST_SHARE * (self._done + left)))
        if self._done < enough or passed < LEAST_TIME_S:
            return None
        return passed / (self._done - 1) * left


def time_left(seconds: float | None) -> str:
    """In words, no more exact than it is; empty where it is not known."""
    if seconds is None:
        return ""
    if seconds < 10:
        return "seconds"
    if seconds < 90:
        return f"~{round(seconds, -1):.0f} s"
    minutes = seconds / 60
    return f"~{minutes:.0f} min" if minutes < 90 else f"~{minutes / 60:.1f} h"
