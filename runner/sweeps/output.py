"""Writes the files of one run into its output folder: records, ``stats.json``, resolved configuration."""

from __future__ import annotations

import io
import json
import time
from pathlib import Path

from runner.config import Job
from runner.errors import StorageError
from runner.journal import dump_record
from runner.records import Record, RunResult
from runner.report.stats_file import stats_json
from runner.report.verdicts import write_verdicts
from runner.sweeps.figures import summarised

LEAST_INTERVAL_S = 1.0
WRITING_SHARE = 0.02
"""At most this share of the time goes into writing ``stats.json`` again."""


class RunOutput:
    """The output folder of one run; ``stats.json`` is kept current while the run goes on."""

    def __init__(self, folder: Path, job: Job) -> None:
        self.folder = folder
        self._job = job
        self._next_write = time.monotonic() + LEAST_INTERVAL_S
        try:
            folder.mkdir(parents=True, exist_ok=True)
            (folder / "config.yaml").write_text(job.resolved_yaml, encoding="utf-8")
        except OSError as error:
            raise StorageError(
                f"{folder}: cannot be written ({error.strerror}); choose another folder with hydra.run.dir="
            ) from error

    @property
    def stats_path(self) -> Path:
        return self.folder / "stats.json"

    @property
    def records_path(self) -> Path:
        return self.folder / "records.jsonl"

    def wants_statistics(self) -> bool:
        """Whether enough time has passed to write ``stats.json`` again."""
        return time.monotonic() >= self._next_write

    def write_statistics(self, result: RunResult, *, indent: int | None = None) -> None:
        """Replaces ``stats.json`` as a whole, so that a reader never sees half of it.

        While a run goes on it is one line: laying it out takes ten times as long.
        """
        began = time.monotonic()
        content = json.dumps(stats_json(result, summarised(result)), ensure_ascii=False, indent=indent)
        self._replace(self.stats_path, content.encode("utf-8", "backslashreplace"))
        took = time.monotonic() - began
        self._next_write = time.monotonic() + max(LEAST_INTERVAL_S, took / WRITING_SHARE)

    def write_all(self, result: RunResult) -> None:
        """Everything once more, at the end."""
        self.write_statistics(result, indent=2)
        self._replace(self.records_path, b"".join(_line(record) for record in result.records))
        if self._job.config.generator.kind == "recorded":
            text = io.StringIO(newline="")
            write_verdicts([result], text)
            self._replace(self.folder / "verdicts.csv", text.getvalue().encode("utf-8", "backslashreplace"))

    def _replace(self, target: Path, content: bytes) -> None:
        temporary = target.with_suffix(".tmp")
        try:
            temporary.write_bytes(content)
            temporary.replace(target)
        except OSError as error:
            raise StorageError(f"{target}: cannot be written ({error.strerror}); the journal keeps the run") from error


def _line(record: Record) -> bytes:
    return dump_record(record) + b"\n"
