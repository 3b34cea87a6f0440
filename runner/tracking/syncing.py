"""Writes what was spooled to the tracking store, once it is back (``runner report --sync``)."""

from __future__ import annotations

import os
from pathlib import Path

from runner.errors import TrackingUnavailable
from runner.tracking.contract import TrackingReport
from runner.tracking.environment import set_switches
from runner.tracking.spool import SpoolFile, waiting
from runner.tracking.store import first_line, open_store


def sync(home: Path) -> TrackingReport:
    """Write every spool file of a home to its store; see ``runner.tracking.sync_spool``."""
    paths = waiting(home)
    if not paths:
        return TrackingReport()
    set_switches(os.environ)
    import filelock

    problems: list[str] = []
    written = 0
    for path in paths:
        try:
            file = SpoolFile(path)
        except filelock.Timeout:
            problems.append(f"{path}: a launch still writes to it; sync again when it has ended")
            continue
        try:
            written += _write(file, home, problems)
        finally:
            file.release()
    return TrackingReport(traces_written=written, problems=tuple(problems))


def _write(file: SpoolFile, home: Path, problems: list[str]) -> int:
    """Do what a file holds and remove it; returns the number of traces. What the store refuses is a problem, and over.

    Raises:
        TrackingUnavailable: the store is away (again); the file is kept, and how far it came.
    """
    from runner.tracking.delivery import is_hopeless, name_of
    from runner.tracking.sink import Sink

    sink = Sink(open_store(file.uri, file.experiment, home))
    written = 0
    for operation in file.remaining():
        made = None
        try:
            made = sink.apply(operation)
        except Exception as problem:
            if not is_hopeless(problem):
                raise TrackingUnavailable(
                    f"the tracking store was lost again while writing {name_of(operation)} ({first_line(problem)}); "
                    f"{file.path} is kept, `runner report --sync` goes on from there"
                ) from problem
            problems.append(f"MLflow refused {name_of(operation)}: {first_line(problem)}")
        else:
            written += len(operation["drafts"]) if operation["op"] == "traces" else 0
        file.mark_done(operation, made)
    file.remove()
    return written
