"""The parent run of a sweep whose jobs are launched one by one or in other processes.

Hydra's own launchers know nothing of a sweep as a whole, so the process that launches begins the parent run, hands
its id on through the environment, and ends it with the table of what the jobs left in the home.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from runner.config import Job, home
from runner.errors import ConfigurationError, ExitCode
from runner.evaluation import now
from runner.records import RunResult, RunStatus, SweepResult

VARIABLE = "RUNNER_PARENT_SWEEP"
"""Environment variable: ``<sweep id>:<parent run id>``."""


@dataclass(frozen=True, slots=True)
class ParentSweep:
    """The sweep that a job belongs to although another process began it."""

    sweep_id: str
    run_id: str


def inherited() -> ParentSweep | None:
    """The sweep that the launching process began, if there is one."""
    sweep_id, _, run_id = os.environ.get(VARIABLE, "").partition(":")
    return ParentSweep(sweep_id, run_id) if sweep_id else None


@dataclass(slots=True)
class Parent:
    """What the launching process and the end of the sweep tell each other."""

    folder: Path | None = None
    """Set inside the block: where the files of the sweep go."""
    codes: tuple[ExitCode, ...] = ()
    """Set at the end: what the sweep as a whole adds to the exit codes of its jobs."""


@contextlib.contextmanager
def parent_of(jobs: Sequence[Job]) -> Iterator[Parent]:
    """Begins the parent run before the block and ends it after; the jobs inside become its children.

    The gate is decided once, at the end and over all jobs, as it is when they run together.
    Raises ConfigurationError and TrackingUnavailable before anything is paid.
    """
    from rich.console import Console

    from runner.sweeps.gating import Gating
    from runner.sweeps.identity import drop_duplicates, sweep_id
    from runner.sweeps.launch import began, remembered, show
    from runner.sweeps.outcome import outcome_of, overall_status
    from runner.sweeps.repeats import repeated
    from runner.sweeps.report_file import FILE_NAME, report_html, write_report
    from runner.sweeps.sweep import Sweep
    from runner.sweeps.tracked import TrackedSweep, git_commit

    distinct, duplicates = drop_duplicates(jobs)
    # Plans the whole, and fetches weights once: the jobs, each by itself, know nothing of what they share.
    whole_sweep = Sweep(jobs, home=home(), output_dir=Path(), console=Console(stderr=True), quiet=True)
    whole_sweep.prepare()
    data = whole_sweep.data
    gating = Gating.open(distinct, home(), None)
    started_at = now()
    identity = sweep_id(distinct, started_at)
    begun = TrackedSweep.open(distinct, data, home(), sweep_id=identity, duplicates=duplicates)
    begun.let_go()
    os.environ[VARIABLE] = f"{identity}:{begun.parent}"
    parent, whole = Parent(), False
    try:
        yield parent
        whole = True
    finally:
        del os.environ[VARIABLE]
        runs = tuple(_stored(job, since=started_at, whole=whole) for job in distinct)
        result = SweepResult(
            id=identity,
            name=distinct[0].config.name,
            runs=runs,
            status=overall_status(runs, len(distinct)) if whole else RunStatus.INTERRUPTED,
            started_at=started_at,
            finished_at=now(),
            duplicates=duplicates,
        )
        outcome = replace(outcome_of(result), plan=whole_sweep.plan)
        ended = TrackedSweep.rejoin(distinct, data, home(), parent=begun.parent)
        report: Path | str
        if parent.folder is None:
            report = report_html(outcome, git_commit())
        else:
            report = parent.folder / FILE_NAME
            problem = write_report(outcome, report, git_commit())
            outcome = replace(outcome, notes=(problem,)) if problem else outcome
            outcome = replace(outcome, folders={job.key: parent.folder / str(job.number) for job in distinct})
        outcome = replace(outcome, tracked=(ended.parent, ended.store), repeats=repeated(home(), result, ended.store))
        if began(outcome):
            outcome = remembered(outcome)
        if whole and not any(run.status is RunStatus.INTERRUPTED for run in runs):
            outcome = replace(gating, folder=parent.folder).judged(outcome)
        ended.finish(outcome, {} if isinstance(report, Path) and not report.is_file() else {FILE_NAME: report})
        if outcome.gate is not None and not outcome.gate.passed:
            parent.codes = (ExitCode.GATE_FAILED,)
        show(outcome)


def _stored(job: Job, *, since: str, whole: bool) -> RunResult:
    """What the job left in the home, under the name it has in this sweep."""
    from runner.sweeps.stored import load_job

    try:
        found = load_job(home(), job.key, made=(since, ""))
    except ConfigurationError:
        missing = (RunStatus.FAILED, "it left no results") if whole else (RunStatus.INTERRUPTED, "it was not begun")
        return RunResult(job.key, job.name, *missing, {}, ())
    return replace(found, name=job.name)
