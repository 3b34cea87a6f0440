"""The append-only journal of a job: one line a finished question, what resume reads.

The folder of a job is ``<home>/jobs/<job key>``. A line is written with one system call, so that a killed
process leaves at most one torn line at the end, which is passed over when the journal is read.
"""

from __future__ import annotations

import dataclasses
import functools
import json
import os
from collections.abc import Iterable, Mapping
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

from runner.errors import StorageError
from runner.records import AnswerStatus, Call, Reason, Record, Score, VerdictStatus
from runner.text import without_surrogates_within

if TYPE_CHECKING:
    from pydantic import TypeAdapter

TRANSIENT: frozenset[str] = frozenset(
    {Reason.TIMEOUT, Reason.CONNECTION, Reason.BUDGET, Reason.INTERRUPTED, "http_408", "http_409", "http_429"}
)
"""Reasons that are asked again by the next run; every ``http_5..`` is too."""


@functools.cache
def _adapter() -> TypeAdapter[Record]:
    from pydantic import TypeAdapter

    return TypeAdapter(Record)


def dump_record(record: Record) -> bytes:
    """One line of JSON without the line end; money as exact decimal strings, half a character as U+FFFD."""
    from pydantic_core import PydanticSerializationError

    try:
        return _adapter().dump_json(record)
    except PydanticSerializationError:
        # Halves of characters are replaced where they are read; one that came by all the same must not end a job.
        plain = without_surrogates_within(_adapter().dump_python(record))
        return _adapter().dump_json(_adapter().validate_python(plain))


def load_record(line: bytes | str) -> Record:
    """The record of one line. Raises ValueError where the line is not one."""
    return _adapter().validate_json(line)


def is_transient(reason: str) -> bool:
    """Whether a failure for this reason may go away when asked again."""
    return reason in TRANSIENT or reason.startswith("http_5")


def failures(record: Record) -> tuple[str, ...]:
    """The reasons of all failed parts of a record: its answer and every score."""
    found = [record.answer.reason] if record.answer.status is AnswerStatus.FAILED else []
    found.extend(score.reason for score in record.scores.values() if score.status is VerdictStatus.FAILED)
    return tuple(found)


def _replayed_call(call: Call) -> Call:
    return dataclasses.replace(call, from_ledger=True, new_cost=Decimal(0))


def replayed_calls(calls: Iterable[Call]) -> tuple[Call, ...]:
    """The same calls, none of them paid now."""
    return tuple(_replayed_call(call) for call in calls)


def _replayed_score(score: Score) -> Score:
    verdicts = tuple(dataclasses.replace(verdict, calls=replayed_calls(verdict.calls)) for verdict in score.verdicts)
    return dataclasses.replace(score, verdicts=verdicts)


def replayed(record: Record) -> Record:
    """The same record with every call marked as taken from storage: nothing of it is paid now."""
    return dataclasses.replace(
        record,
        answer=dataclasses.replace(record.answer, calls=replayed_calls(record.answer.calls)),
        scores={name: _replayed_score(score) for name, score in record.scores.items()},
        retrieval_calls=replayed_calls(record.retrieval_calls),
    )


class Journal:
    """The journal of one job, and the folder that holds it."""

    def __init__(self, home: Path, job_key: str) -> None:
        self.folder = home / "jobs" / job_key
        self.path = self.folder / "records.jsonl"
        self._descriptor: int | None = None

    def load(self) -> dict[str, Record]:
        """Question id → its newest record. Torn or foreign lines are passed over."""
        found: dict[str, Record] = {}
        try:
            content = self.path.read_bytes()
        except FileNotFoundError:
            return found
        except OSError as error:
            raise StorageError(f"{self.path}: cannot be read ({error.strerror}); nothing was paid") from error
        for line in content.split(b"\n"):
            if not line:
                continue
            try:
                record = load_record(line)
            except ValueError:
                continue
            found[record.question.id] = record
        return found

    def append(self, record: Record) -> None:
        """Writes one record. Raises StorageError where it cannot be written whole."""
        line = dump_record(record) + b"\n"
        try:
            if self._descriptor is None:
                self._descriptor = self._open()
            written = os.write(self._descriptor, line)
        except OSError as error:
            raise StorageError(self._message(error)) from error
        if written != len(line):
            raise StorageError(f"{self.path}: only a part of the record could be written; is the disk full?")

    def write_job(self, description: Mapping[str, Any]) -> None:
        """Keeps what the job is (configuration, choices, overrides) beside its records."""
        target = self.folder / "job.json"
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            temporary = target.with_suffix(f".{os.getpid()}.tmp")
            text = json.dumps(description, ensure_ascii=False, indent=2, default=str)
            temporary.write_text(text, encoding="utf-8", errors="backslashreplace")  # in JSON that spells it again
            temporary.replace(target)
        except OSError as error:
            raise StorageError(self._message(error)) from error

    def close(self) -> None:
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None

    def _open(self) -> int:
        self.folder.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(self.path, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o644)
        size = os.fstat(descriptor).st_size
        # A torn last line of a killed process must not swallow the first line of this one.
        if size and os.pread(descriptor, 1, size - 1) != b"\n":
            os.write(descriptor, b"\n")
        return descriptor

    def _message(self, error: OSError) -> str:
        return (
            f"{self.folder}: the record cannot be written ({error.strerror}); what is finished is kept. "
            "Free some space or set RUNNER_HOME to a folder that can be written, then start the same command again"
        )
