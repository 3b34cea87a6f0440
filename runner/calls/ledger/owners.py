"""Which processes have the ledger open: a claim is worth as much as the life of its owner.

A process that is killed leaves its claims behind. On the same machine its death is seen at once, because the
operating system frees its file lock; on another machine its lease runs out.
"""

from __future__ import annotations

import contextlib
import socket
import time
import uuid
from pathlib import Path

from filelock import FileLock, Timeout
from sqlalchemy import Connection, delete, insert, select, update

from runner.calls.ledger.tables import owners

LEASE_S = 60.0
"""How long a silent owner on another machine is believed to live."""

RENEW_S = 15.0
"""How often an owner renews its lease."""


def wire_file(lock_file: str) -> Path:
    """The file beside an owner's lock that says what it had on the wire."""
    return Path(lock_file).with_suffix(".wire")


class Owner:
    """This process's (or rather this door's) name in the ledger."""

    def __init__(self, folder: Path) -> None:
        self.id = uuid.uuid4().hex
        self._host = socket.gethostname()
        folder.mkdir(parents=True, exist_ok=True)
        self._lock_file = folder / f"{self.id}.lock"
        self._lock = FileLock(self._lock_file, thread_local=False)
        self._lock.acquire(timeout=0)
        self._renewed = 0.0

    @property
    def wire_file(self) -> Path:
        """Where this owner writes down what it has on the wire."""
        return wire_file(str(self._lock_file))

    def enter(self, connection: Connection) -> None:
        """Write this owner into the ledger."""
        connection.execute(
            insert(owners).values(
                id=self.id, host=self._host, lock_file=str(self._lock_file), lease_until=time.time() + LEASE_S
            )
        )
        self._renewed = time.monotonic()

    @property
    def due(self) -> bool:
        """Whether the lease should be renewed now."""
        return time.monotonic() - self._renewed >= RENEW_S

    def renew(self, connection: Connection) -> None:
        connection.execute(update(owners).where(owners.c.id == self.id).values(lease_until=time.time() + LEASE_S))
        self._renewed = time.monotonic()

    def leave(self, connection: Connection) -> None:
        connection.execute(delete(owners).where(owners.c.id == self.id))

    def close(self) -> None:
        self._lock.release()
        with contextlib.suppress(OSError):
            self._lock_file.unlink(missing_ok=True)

    def dead(self, connection: Connection, others: set[str]) -> set[str]:
        """Those of ``others`` that live no more."""
        rows = connection.execute(select(owners).where(owners.c.id.in_(others))).all()
        alive = {row.id for row in rows if self._lives(row.host, Path(row.lock_file), row.lease_until)}
        return others - alive

    def _lives(self, host: str, lock_file: Path, lease_until: float) -> bool:
        if host == self._host and lock_file.parent.is_dir():
            if not lock_file.exists():
                return False  # only its owner, or who saw it dead, takes the file away
            probe = FileLock(lock_file, thread_local=False)
            try:
                probe.acquire(timeout=0)
            except Timeout:
                return True
            except OSError:
                return lease_until > time.time()
            probe.release()
            with contextlib.suppress(OSError):
                lock_file.unlink(missing_ok=True)
            return False
        return lease_until > time.time()
