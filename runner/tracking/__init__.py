"""What goes to MLflow: a sink with one writer in its own process, the only place where MLflow is loaded."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from runner.tracking.contract import DataSet, NullTracker, RubricText, Tracker, TrackingReport

if TYPE_CHECKING:
    from runner.config import schema
    from runner.records import RunResult, RunSummary

__all__ = [
    "DataSet",
    "NullTracker",
    "RubricText",
    "Tracker",
    "TrackingReport",
    "add_to_run",
    "open_tracking",
    "sweep_plots",
    "sync_spool",
]


def open_tracking(cfg: schema.Tracking, home: Path, *, wait: bool = True) -> Tracker:
    """The tracker that the configuration asks for.

    ``wait=False`` returns while the store is still being opened, so that other work can go on;
    ``start_sweep`` then waits for it.

    Raises:
        TrackingUnavailable: the store does not answer (within seconds); nothing was paid.
    """
    if cfg.kind == "none":
        return NullTracker()
    from runner.tracking.client import MlflowTracker

    tracker = MlflowTracker(cfg.uri, cfg.experiment, cfg.traces, home, cfg.tags)
    if wait:
        tracker.wait_until_ready()
    return tracker


def add_to_run(home: Path, uri: str | None, run_id: str, artifacts: Mapping[str, str], tags: Mapping[str, str]) -> str:
    """Write texts (path in the run → text) and tags to a run that ended; what had the same name is replaced.

    Returns the run's name, id and experiment in words.

    Raises:
        TrackingUnavailable: the store does not answer, does not have the run, or refuses; the message is one sentence.
    """
    from runner.tracking.additions import add_to_run as add

    return add(home, uri, run_id, artifacts, tags)


def sweep_plots(runs: Sequence[tuple[RunResult, RunSummary]]) -> Mapping[str, str]:
    """Plots of a sweep, artifact path → SVG text. A tracker that saw the runs finish adds them by itself."""
    from runner.tracking.plots import sweep_plots as draw

    return draw(runs)


def sync_spool(home: Path) -> TrackingReport:
    """Write to the tracking store what was spooled while it was away (``runner report --sync``).

    Raises:
        TrackingUnavailable: the store is still away; the spool is kept.
    """
    from runner.tracking.syncing import sync

    return sync(home)
