"""What is on the wire: one line a request, written before it goes out, for whoever finds this process dead.

A killed process cannot write what became of its requests, and the provider may charge for them. The file belongs to
one owner of the ledger and lies beside its lock; it is read only after that owner's death.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from runner.errors import StorageError

_COMPACT_BYTES = 4 * 1024 * 1024
"""From this size on the file is written anew with what is still out."""


class WireLog:
    """The file of one owner. Used in one thread."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._descriptor: int | None = None
        self._size = 0
        self._out: dict[tuple[str, int], bytes] = {}

    def out(self, row: Mapping[str, Any]) -> None:
        """A request is about to go out; ``row`` is its attempt, should nothing more be heard of it.

        Raises StorageError where that cannot be written: the request is not to be made then.
        """
        line = json.dumps({name: value for name, value in row.items() if value is not None}).encode() + b"\n"
        self._out[row["key"], row["number"]] = line
        try:
            if self._descriptor is None:
                self._descriptor = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
            if self._size + len(line) > _COMPACT_BYTES:
                os.ftruncate(self._descriptor, 0)
                line, self._size = b"".join(self._out.values()), 0
            self._size += len(line)
            while line:
                line = line[os.write(self._descriptor, line) :]
        except OSError as error:
            raise StorageError(
                f"{self._path} cannot be written ({error.strerror or error}): the request was not made. "
                "Free some space or give yourself write permission there, and start the same command again."
            ) from error

    def landed(self, key: str, number: int) -> None:
        """Its row is in the ledger."""
        self._out.pop((key, number), None)

    def close(self, *, settled: bool) -> None:
        """``settled``: all that went out has its row, and nobody needs the file any more."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None
        if settled:
            remove(self._path)


def rows_on_the_wire(path: Path) -> Iterator[dict[str, Any]]:
    """The attempts that a dead owner wrote of; a line that was cut off by its death is passed over."""
    try:
        content = path.read_bytes()
    except OSError:
        return
    for line in content.split(b"\n"):
        with contextlib.suppress(ValueError):
            row = json.loads(line)
            if isinstance(row, dict):
                yield row


def remove(path: Path) -> None:
    with contextlib.suppress(OSError):
        path.unlink(missing_ok=True)
