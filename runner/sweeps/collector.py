"""Keeps Python's garbage collector from walking through everything again and again while calls are under way."""

from __future__ import annotations

import contextlib
import gc
from collections.abc import Iterator

THRESHOLDS = (50_000, 20, 50)
"""Instead of (700, 10, 10): a call leaves few cycles, and every full collection visits all loaded libraries. Saves
about a seventh of the CPU of a call (benchmarks/whole_run.py)."""


@contextlib.contextmanager
def calm_collector() -> Iterator[None]:
    """Collects rarely inside the block, and leaves what is loaded already out of it."""
    before = gc.get_threshold()
    gc.freeze()
    gc.set_threshold(*THRESHOLDS)
    try:
        yield
    finally:
        gc.set_threshold(*before)
        gc.unfreeze()
