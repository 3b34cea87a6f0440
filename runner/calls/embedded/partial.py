"""A file that is being fetched: which stretches of it are on disk already, so that nothing is fetched twice."""

from __future__ import annotations

import json
import os
from pathlib import Path

Span = tuple[int, int]
"""First byte and the one after the last."""


class PartialFile:
    """``.NAME.partial`` beside the final file, with a note of the stretches that are whole.

    Any source may fill any gap. A stretch is noted only when its bytes have reached the disk, so that a kill at any
    moment loses what was not yet noted and nothing else. Belongs to one process at a time: the caller holds a lock.
    """

    def __init__(self, final: Path, size: int) -> None:
        self.path = final.with_name(f".{final.name}.partial")
        self.size = size
        self._notes = final.with_name(f".{final.name}.partial.json")
        self._spans = self._read_notes()
        mode = "r+b" if self._spans else "w+b"
        self._file = self.path.open(mode)

    def __enter__(self) -> PartialFile:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    @property
    def done(self) -> int:
        """Bytes that are whole."""
        return sum(end - start for start, end in self._spans)

    def gaps(self) -> list[Span]:
        """The stretches that are still missing, in order."""
        edges = [0, *(edge for span in self._spans for edge in span), self.size]
        pairs = zip(edges[::2], edges[1::2], strict=True)
        return [(start, end) for start, end in pairs if start < end]

    def covers(self, start: int, end: int) -> bool:
        return any(first <= start and end <= last for first, last in self._spans)

    def write(self, offset: int, data: bytes) -> None:
        """Put bytes in their place; they count only after ``mark``."""
        self._file.seek(offset)
        self._file.write(data)

    def mark(self, start: int, end: int) -> None:
        """Note that the bytes of this stretch are written."""
        self._file.flush()
        os.fsync(self._file.fileno())
        self._spans = _merged([*self._spans, (start, end)])
        replacement = self._notes.with_suffix(".new")
        replacement.write_text(json.dumps({"size": self.size, "spans": self._spans}), encoding="utf-8")
        replacement.replace(self._notes)

    def finish(self, final: Path) -> None:
        """Give the complete file its name."""
        self._file.close()
        self.path.replace(final)
        self._notes.unlink(missing_ok=True)

    def discard(self) -> None:
        """Begin again with nothing."""
        self._spans = []
        self._notes.unlink(missing_ok=True)
        self._file.truncate(0)

    def _read_notes(self) -> list[Span]:
        try:
            notes = json.loads(self._notes.read_text(encoding="utf-8"))
            spans = _merged([(int(start), int(end)) for start, end in notes["spans"]])
            on_disk = self.path.stat().st_size
        except (OSError, ValueError, KeyError, TypeError):
            return []
        if notes["size"] != self.size or (spans and spans[-1][1] > on_disk):
            return []
        return spans


def _merged(spans: list[Span]) -> list[Span]:
    merged: list[Span] = []
    for start, end in sorted(spans):
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(merged[-1][1], end))
        else:
            merged.append((start, end))
    return merged
