"""The clock of deadlines: it stands still while a local model is fetched and started, which no question can help."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager


class DeadlineClock:
    """``time.monotonic`` less the time for which it stood still. Safe from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._holders = 0
        self._since = 0.0
        self._stood = 0.0

    def now(self) -> float:
        """Seconds."""
        with self._lock:
            return (self._since if self._holders else time.monotonic()) - self._stood

    @contextmanager
    def standing_still(self) -> Iterator[None]:
        """Inside this block no deadline comes nearer."""
        with self._lock:
            if self._holders == 0:
                self._since = time.monotonic()
            self._holders += 1
        try:
            yield
        finally:
            with self._lock:
                self._holders -= 1
                if self._holders == 0:
                    self._stood += time.monotonic() - self._since


clock = DeadlineClock()
"""The one of the process: contexts and doors must read the same."""
