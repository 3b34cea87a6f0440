"""Writes what was spooled to the tracking store, once it is back (``runner report --sync``)."""

from __future__ import annotations

import os
from pathlib import Path

from runner.tracking import store
from runner.tracking.contract import TrackingReport


def sync(home: Path) -> TrackingReport:
    """Write every spool file of a home to its store; see ``runner.tracking.sync_spool``."""
    from runner.tracking.environment import set_switches
    from runner.tracking.spool import SpoolFile, waiting

    paths = waiting(home)
    if not paths:
        return TrackingReport()
    set_switches(os.environ)
    from runner.tracking.sink import Sink

    problems: list[str] = []
    written = 0
    for path in paths:
        file = SpoolFile(path)
        sink = Sink(store.open_store(file.uri, file.experiment, home))
        for operation in file.remaining():
            try:
                made = sink.apply(operation)
            except FileNotFoundError as problem:
                problems.append(f"{path.name}: {problem}")
                made = None
            written += len(operation["drafts"]) if operation["op"] == "traces" else 0
            file.mark_done(operation, made)
        file.remove()
    return TrackingReport(traces_written=written, problems=tuple(problems))
