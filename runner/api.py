"""The Python API: what the command line does, as functions. The command line is a thin layer over the same rooms."""

from __future__ import annotations

import asyncio
import concurrent.futures
from collections.abc import Callable, Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from runner.config import Job, check, compose_jobs, home
from runner.errors import ConfigurationError, RunnerError
from runner.findings import SweepComparison
from runner.records import RunResult, RunStatus, SweepResult

if TYPE_CHECKING:
    import pandas

Result = TypeVar("Result")


def evaluate(overrides: Sequence[str] = (), *, output_dir: Path | None = None, quiet: bool = True) -> RunResult:
    """Runs one configuration, as ``python -m runner OVERRIDES`` does, and returns its records.

    Raises ConfigurationError before anything is paid, and RunnerError where the run could not go on.
    Works in a notebook too (under a running event loop).
    """
    result = _run(compose_jobs(_overrides(overrides), multirun=False), output_dir, quiet)
    return result.runs[0]


def sweep(overrides: Sequence[str] = (), *, output_dir: Path | None = None, quiet: bool = True) -> SweepResult:
    """Runs all combinations, as ``python -m runner -m OVERRIDES`` does, and returns their runs.

    A run that failed is in the result with its status; the errors raised are those of ``evaluate``.
    """
    return _run(compose_jobs(_overrides(overrides), multirun=True), output_dir, quiet)


def load(name: str, *, uri: str | None = None) -> tuple[RunResult, ...]:
    """The stored runs that a name means; costs nothing.

    ``name`` is a sweep's id or name, a job key, a run's name, an MLflow run id (of a job or a sweep), or
    ``tag:NAME:VALUE``. Of several launches with one name or tag the newest counts. Runs that are not in the home are
    read from the tracking store: ``uri``, else that of the configuration, else the local one.
    Raises ConfigurationError where nothing fits or where it is not clear what (the candidates are listed), and
    TrackingUnavailable where the tracking server does not answer.
    """
    from runner.sweeps.stored import load as load_stored

    return load_stored(home(), name, uri=uri)


def frame(*runs: str | RunResult | SweepResult) -> pandas.DataFrame:
    """The questions of stored or given runs as a pandas DataFrame, one row a question and run; costs nothing.

    ``runs`` are results, or what ``load`` takes. Each judge has the columns ``NAME_score``, ``NAME_label``,
    ``NAME_passed``, ``NAME_status`` and ``NAME_reasoning``; undefined numbers are missing values.
    """
    from runner.sweeps.exporting import frame as frame_of

    found: list[RunResult] = []
    for run in runs:
        found.extend((run,) if isinstance(run, RunResult) else run.runs if isinstance(run, SweepResult) else load(run))
    return frame_of(found)


def compare(
    *runs: str | RunResult,
    metric: str | None = None,
    baseline: str | None = None,
    measure: str = "mean",
    cluster_by: str = "gold",
    margin: float | None = None,
    seed: int = 7,
    uri: str | None = None,
    confirm: float | None = None,
) -> SweepComparison:
    """Compares stored or given runs on one metric, question by question; costs nothing.

    ``runs`` are results, or what ``load`` takes; ``metric`` is a judge's name (default: the first judge) or a retrieval
    metric; ``baseline`` is the name or key of one of the runs, or names another stored run as ``load`` does.
    ``compare(a, b).pairs[0].sentence`` is the verdict in words, ``.to_frame()`` a DataFrame, one row a pair.
    ``confirm=0.5`` picks the best on half of the questions and confirms it on the other half (``.confirmation``).
    The other arguments are those of ``runner.statistics.compare_sweep``. Raises ConfigurationError where there is
    nothing to compare.
    """
    from runner.sweeps.comparing import compare_stored

    return compare_stored(
        runs,
        metric,
        baseline=baseline,
        measure=measure,
        cluster_by=cluster_by,
        margin=margin,
        seed=seed,
        uri=uri,
        confirm=confirm,
    )


def _overrides(given: Sequence[str]) -> tuple[str, ...]:
    if isinstance(given, str):
        raise ConfigurationError(f"overrides: {given!r} is one text; give a list, such as [{given!r}]")
    return tuple(given)


def _run(jobs: Sequence[Job], output_dir: Path | None, quiet: bool) -> SweepResult:
    problems = check(jobs)
    if problems:
        raise ConfigurationError(problems)
    from runner.sweeps.launch import run_jobs

    folder = output_dir or Path("outputs") / datetime.now().strftime("%Y-%m-%d/%H-%M-%S-%f")
    outcome = _outside_running_loop(lambda: run_jobs(jobs, output_dir=folder, quiet=quiet))
    if outcome.stopped_by:
        raise RunnerError(outcome.stopped_by)
    if outcome.result.status is RunStatus.INTERRUPTED:
        raise KeyboardInterrupt
    return outcome.result


def _outside_running_loop(work: Callable[[], Result]) -> Result:
    """Does the work here, or in a thread of its own where this thread runs an event loop already."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return work()
    with concurrent.futures.ThreadPoolExecutor(max_workers=1) as executor:
        return executor.submit(work).result()
