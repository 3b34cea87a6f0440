"""Imports of large libraries while threads run: one after the other, and beside the event loop.

When one thread imports ``package`` and another one ``package.part``, Python breaks the deadlock by handing one of them
a half-initialised module, and the import fails ("partially initialized module"). It was seen with numpy and Chroma.
Whoever imports a large library inside a function that may run beside other threads calls ``load`` or ``loaded`` first.
"""

from __future__ import annotations

import asyncio
import threading
from importlib import import_module

_lock = threading.RLock()
_done: set[str] = set()


def load(*names: str) -> None:
    """Import these modules, unless they are there; raises ``ImportError`` where one is missing."""
    if _done.issuperset(names):
        return
    with _lock:
        for name in names:
            import_module(name)
            _done.add(name)


async def loaded(*names: str) -> None:
    """The same in a thread, so that the event loop goes on meanwhile."""
    if not _done.issuperset(names):
        await asyncio.to_thread(load, *names)
