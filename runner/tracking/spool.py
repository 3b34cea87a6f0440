"""Operations that wait on disk while the tracking store is away: append-only JSON lines, one file a launch."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from runner.tracking import text as t

if TYPE_CHECKING:
    from filelock import FileLock

Operation = dict[str, Any]
PLACEHOLDER = "spooled-"
"""Start of the run ids that stand for runs not created yet."""


class Spool:
    """The spool of one launch. The file appears with the first operation."""

    def __init__(self, home: Path, uri: str, experiment: str) -> None:
        self._folder = home / "spool"
        self._path = self._folder / f"{time.strftime('%Y%m%dT%H%M%S')}-{os.getpid()}.jsonl"
        self._head = {"uri": uri, "experiment": experiment}
        self._count = 0
        self._lock: FileLock | None = None

    @property
    def count(self) -> int:
        """How many operations are waiting."""
        return self._count

    def append(self, operation: Operation) -> None:
        """Keep one operation, on disk before this returns.

        Raises:
            OSError: the disk is full or the home cannot be written.
        """
        new = not self._path.exists()
        if new:
            self._folder.mkdir(parents=True, exist_ok=True)
            self._lock = _lock_of(self._path)
            self._lock.acquire(timeout=0)  # until this process ends: nobody may sync what is still growing
        with self._path.open("a", encoding="utf-8") as file:
            if new:
                file.write(t.dumps(self._head) + "\n")
            file.write(t.dumps(operation) + "\n")
            file.flush()
            os.fsync(file.fileno())
        self._count += 1

    def release(self) -> None:
        """Nothing more will come: others may sync it."""
        if self._lock is not None:
            self._lock.release()


class SpoolFile:
    """One spool file while it is written to the store: remembers how far it came, so that a crash costs nothing."""

    def __init__(self, path: Path) -> None:
        """Raises filelock.Timeout where a launch still writes to it."""
        self.path = path
        self._lock = _lock_of(path)
        self._lock.acquire(timeout=0)
        self._progress = path.with_suffix(".progress")
        # Only at line feeds: splitlines() would also cut at the line separators that an answer may hold.
        lines = path.read_text(encoding="utf-8").rstrip("\n").split("\n")
        head = json.loads(lines[0])
        self.uri: str = head["uri"]
        self.experiment: str = head["experiment"]
        self._lines = lines[1:]
        self._done = 0
        self._runs: dict[str, str] = {}
        if self._progress.exists():
            kept = json.loads(self._progress.read_text(encoding="utf-8"))
            self._done, self._runs = kept["done"], kept["runs"]

    def remaining(self) -> Iterator[Operation]:
        """What is still to do, with the real ids of runs that were created meanwhile. A torn last line is left out."""
        for line in self._lines[self._done :]:
            try:
                operation: Operation = json.loads(line)
            except ValueError:
                return
            yield with_real_runs(operation, self._runs)

    def mark_done(self, operation: Operation, made: Any) -> None:
        """Remember that one more operation is written; ``made``: the id of a run that it created."""
        if operation["op"] == "create_run" and made:
            self._runs[operation["placeholder"]] = made
        self._done += 1
        temporary = self._progress.with_suffix(".new")
        temporary.write_text(t.dumps({"done": self._done, "runs": self._runs}), encoding="utf-8")
        temporary.replace(self._progress)

    def remove(self) -> None:
        """Everything is written."""
        self.path.unlink(missing_ok=True)
        self._progress.unlink(missing_ok=True)
        _lock_path(self.path).unlink(missing_ok=True)

    def release(self) -> None:
        """Let others at the file again."""
        self._lock.release()


def _lock_path(path: Path) -> Path:
    return path.with_suffix(".lock")


def _lock_of(path: Path) -> FileLock:
    from filelock import FileLock

    return FileLock(_lock_path(path))


def with_real_runs(operation: Operation, runs: Mapping[str, str]) -> Operation:
    """The operation with placeholders of runs replaced wherever they stand."""
    if not runs or PLACEHOLDER not in (text := t.dumps(operation)):
        return operation
    for placeholder, real in runs.items():
        text = text.replace(placeholder, real)
    placed: Operation = json.loads(text)
    return placed


def waiting(home: Path) -> list[Path]:
    """The spool files of a home, oldest first."""
    return sorted((home / "spool").glob("*.jsonl"))
