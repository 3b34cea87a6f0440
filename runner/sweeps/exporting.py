"""Stored runs as files and frames: CSV for spreadsheets, JSON Lines with everything, HTML to be read."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from runner.errors import ConfigurationError, Problem
from runner.journal import dump_record
from runner.records import RunResult, RunStatus, SweepResult
from runner.report.exports import columns, rows, write_csv
from runner.report.verdicts import write_verdicts
from runner.sweeps.keeping import read_sweep
from runner.sweeps.outcome import SweepOutcome, outcome_of
from runner.sweeps.report_file import report_html
from runner.sweeps.stored import load, sweep_called, sweep_runs

if TYPE_CHECKING:
    import pandas

STORED = "Written from stored runs, without a call: what was paid when they were made counts as stored here."
STORED_SWEEP = "Written again from what the launch stored, without a call: the money is what the launch paid."


def stored_outcome(home: Path, names: Sequence[str], *, uri: str | None = None) -> SweepOutcome:
    """The runs of these names as one sweep; the launch itself, with what it paid, where one name says it.

    Raises ConfigurationError where a name fits nothing or several runs.
    """
    found = sweep_called(home, names[0]) if len(names) == 1 else None
    if found is not None:
        kept = read_sweep(found)
        runs = sweep_runs(home, kept, paid=True)
        result = SweepResult(
            kept.id, kept.name, runs, kept.status, kept.started_at, kept.finished_at, duplicates=kept.duplicates
        )
        return replace(outcome_of(result), plan=kept.plan, notes=(*kept.said, STORED_SWEEP), commit=kept.commit)
    runs = tuple({run.job_key: run for name in names for run in load(home, name, uri=uri)}.values())
    return replace(outcome_of(as_sweep(runs)), notes=(STORED,))


def as_sweep(runs: Sequence[RunResult]) -> SweepResult:
    """Runs of any launches as if one launch had made them."""
    complete = all(run.status is RunStatus.COMPLETE for run in runs)
    return SweepResult(
        id=" ".join(run.job_key[:12] for run in runs),
        name=" · ".join(run.name for run in runs),
        runs=tuple(runs),
        status=RunStatus.COMPLETE if complete else RunStatus.INCOMPLETE,
        started_at=min((run.started_at for run in runs), default=""),
        finished_at=max((run.finished_at for run in runs), default=""),
    )


def frame(runs: Sequence[RunResult]) -> pandas.DataFrame:
    """One row a question and run; undefined numbers are missing values."""
    import pandas

    return pandas.DataFrame(list(rows(runs)), columns=columns(runs))


def export(
    outcome: SweepOutcome,
    *,
    html: Path | None = None,
    csv: Path | None = None,
    jsonl: Path | None = None,
    verdicts: Path | None = None,
) -> None:
    """Writes the files that are asked for. Raises ConfigurationError where one cannot be written."""
    runs = outcome.result.runs
    if html is not None:
        text = report_html(outcome, outcome.commit)
        _write(html, lambda file: file.write(text))
    if csv is not None:
        _write(csv, lambda file: write_csv(runs, file))
    if verdicts is not None:
        _write(verdicts, lambda file: write_verdicts(runs, file))
    if jsonl is not None:
        _write(jsonl, lambda file: _write_lines(runs, file))


def _write_lines(runs: Sequence[RunResult], file: TextIO) -> None:
    for run in runs:
        head = json.dumps({"run": run.name, "job_key": run.job_key}, ensure_ascii=False)
        for record in run.records:
            file.write(f"{head[:-1]}, {dump_record(record).decode('utf-8')[1:]}\n")


def _write(path: Path, fill: Callable[[TextIO], object]) -> None:
    try:
        with path.open("w", encoding="utf-8", errors="backslashreplace", newline="") as file:
            fill(file)
    except OSError as error:
        raise ConfigurationError([Problem(str(path), f"cannot be written ({error.strerror})")]) from error
    print(f"written: {path}")
