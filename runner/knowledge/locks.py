"""Waiting for a lock file without blocking the event loop. Locks are released by the system when a process dies."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

_POLL_S = 0.05


@asynccontextmanager
async def locked(path: Path) -> AsyncIterator[None]:
    """Hold the lock file ``path``; others, in this process or another one, wait.

    It polls, since a thread that waits could take the place of the one that the holder needs to go on.
    """
    from filelock import FileLock, Timeout

    path.parent.mkdir(parents=True, exist_ok=True)
    lock = FileLock(path, timeout=0, thread_local=False)
    while True:
        try:
            lock.acquire()
            break
        except Timeout:
            await asyncio.sleep(_POLL_S)
    try:
        yield
    finally:
        lock.release()
