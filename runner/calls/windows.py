"""How much of a rate is left: our own count of the last minute, and what a server said in ``x-ratelimit-*``."""

from __future__ import annotations

import math
import re
from collections import deque
from collections.abc import Mapping

from runner.calls.outcomes import LONGEST_WAIT_S, header

__all__ = ["Told", "Window", "duration", "stricter", "told"]

MINUTE_S = 60.0
_PART = re.compile(r"(\d+(?:\.\d+)?)(ms|us|µs|ns|s|m|h|d)")
_SECONDS = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}


def duration(text: str) -> float | None:
    """Seconds of ``1s``, ``6m0s``, ``20ms``, ``1h2m3.5s`` or a bare number; ``None`` for anything else."""
    text = text.strip()
    parts = _PART.findall(text)
    if parts and "".join(number + unit for number, unit in parts) == text:
        return float(sum(float(number) * _SECONDS[unit] for number, unit in parts))
    try:
        seconds = float(text)
    except ValueError:
        return None
    return seconds if math.isfinite(seconds) and seconds >= 0 else None


class Window:
    """At most ``limit`` units in any 60 seconds. One entry a call: [time, units]."""

    __slots__ = ("entries", "limit", "total")

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.entries: deque[list[float]] = deque()
        self.total = 0.0

    def wait(self, now: float, units: float) -> float:
        """Seconds until so many units fit; 0: now. A call above the whole limit waits for an empty window."""
        entries = self.entries
        while entries and entries[0][0] + MINUTE_S <= now:
            self.total -= entries.popleft()[1]
        need = self.total + units - self.limit
        if need <= 0 or not entries:
            return 0.0
        for at, used in entries:
            need -= used
            if need <= 0:
                return at + MINUTE_S - now
        return entries[-1][0] + MINUTE_S - now

    def take(self, now: float, units: float) -> list[float]:
        """Count a call now; the entry is for ``correct``."""
        entry = [now, units]
        self.entries.append(entry)
        self.total += units
        return entry

    def correct(self, entry: list[float], units: float, now: float) -> None:
        """The call took ``units`` and not what was counted."""
        if entry[0] + MINUTE_S > now:
            self.total += units - entry[1]
            entry[1] = units


def stricter(window: Window | None, limit: int | None) -> Window | None:
    """The window with the lower of the two limits."""
    if limit is None:
        return window
    if window is None:
        return Window(limit)
    window.limit = min(window.limit, limit)
    return window


class Told:
    """What the server said is left, refilled at the pace that follows from its reset time."""

    __slots__ = ("at", "ceiling", "left", "pace")

    def __init__(self, now: float, left: float, reset_s: float, limit: float | None) -> None:
        self.at, self.left = now, left
        missing = 1.0 if limit is None else max(1.0, limit - left)
        self.pace = missing / max(reset_s, 1e-3)
        self.ceiling = left + missing

    def wait(self, now: float, units: float) -> float:
        """Seconds until so many units are left; a call above the ceiling waits for a full one."""
        return max(0.0, (min(units, self.ceiling) - self._level(now)) / self.pace)

    def take(self, now: float, units: float) -> None:
        """Count a call now."""
        self.left, self.at = self._level(now) - units, now

    def _level(self, now: float) -> float:
        return min(self.ceiling, self.left + (now - self.at) * self.pace)


def told(headers: Mapping[str, str], what: str, now: float) -> Told | None:
    """What the headers say about ``requests`` or ``tokens``; ``None`` where they say nothing legible."""
    reset = duration(header(headers, f"x-ratelimit-reset-{what}") or "")
    try:
        left = float(header(headers, f"x-ratelimit-remaining-{what}") or "")
        stated = header(headers, f"x-ratelimit-limit-{what}")
        limit = float(stated) if stated else None
    except ValueError:
        return None
    if reset is None or not math.isfinite(left) or (limit is not None and not math.isfinite(limit)):
        return None
    # A server that sends nonsense must not stop the sweep for hours.
    return Told(now, max(0.0, left), min(reset, LONGEST_WAIT_S), limit)
