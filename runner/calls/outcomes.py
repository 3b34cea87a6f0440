"""What one attempt came to, and what a server asks for in its headers: the words of ``retries`` and ``refusals``."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from dataclasses import dataclass
from email.utils import mktime_tz, parsedate_tz
from enum import StrEnum

__all__ = ["LONGEST_WAIT_S", "Kind", "Outcome", "header", "retry_after"]

LONGEST_WAIT_S = 120.0
"""A server that asks for a longer wait is not waited for (as the SDK does)."""


class Kind(StrEnum):
    """What to do next."""

    OK = "ok"
    RETRY = "retry"
    STOP_SWEEP = "stop_sweep"
    STOP_JOB = "stop_job"
    FAIL = "fail"
    DROP_PARAMETER = "drop_parameter"


@dataclass(frozen=True, slots=True)
class Outcome:
    """What one attempt came to."""

    kind: Kind
    reason: str = ""
    """A ``Reason`` or ``http_<code>``; empty where ok."""
    detail: str = ""
    """One sentence for people, without secrets."""
    retry_after_s: float | None = None
    """Seconds that the server asked to wait, at most ``LONGEST_WAIT_S``."""
    parameter: str = ""
    """For ``drop_parameter``: the refused one, as ``Capabilities.refuse`` takes it."""
    possibly_paid: bool = False
    """The provider may have answered although nobody could read it: counts at its worst case."""
    slow_down: bool = False
    """The server asked for fewer requests (429): tell the limiter."""


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds that the server asks to wait, from ``retry-after-ms`` or ``retry-after`` (seconds, fractions or a date);
    0 for a moment that has passed, ``None`` where nothing legible is said. May be more than ``LONGEST_WAIT_S``."""
    for name, divisor in (("retry-after-ms", 1000.0), ("retry-after", 1.0)):
        value = header(headers, name)
        if value is None:
            continue
        try:
            seconds = float(value) / divisor
        except ValueError:
            continue
        if math.isfinite(seconds):
            return max(0.0, seconds)
    date = parsedate_tz(header(headers, "retry-after") or "")
    if date is None:
        return None
    try:
        return max(0.0, mktime_tz(date) - time.time())
    except (OverflowError, ValueError):
        return None


def header(headers: Mapping[str, str], name: str) -> str | None:
    """A header whatever its case; ``name`` in lower case. Header types of HTTP clients answer at once."""
    value = headers.get(name)
    if value is None and isinstance(headers, dict):
        value = next((text for key, text in headers.items() if key.lower() == name), None)
    return value
