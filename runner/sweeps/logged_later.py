"""Keeps what ``compare`` and ``calibrate`` found in stored runs with the parent runs of their sweeps in MLflow."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from runner.errors import ConfigurationError, TrackingUnavailable
from runner.records import RunResult, SweepResult
from runner.sweeps.keeping import KeptSweep, read_sweep
from runner.sweeps.stored import TAG, stored_sweeps, sweep_called
from runner.tracking.store import default_uri

Named = str | RunResult | SweepResult
_RUN_ID = re.compile(r"^[0-9a-f]{32}$")


@dataclass(frozen=True, slots=True)
class Finding:
    """What is kept of one result."""

    artifacts: Mapping[str, str]
    """Path in the run → text."""
    tags: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Logged:
    """What came of it, in sentences."""

    kept: tuple[str, ...]
    """One for each parent run that has it now."""
    problems: tuple[str, ...]
    """Why some, or all, do not have it."""

    @property
    def sentences(self) -> tuple[str, ...]:
        return (*self.kept, *self.problems)


def log_findings(
    home: Path, named: Sequence[Named], runs: Sequence[RunResult], findings: Sequence[Finding], *, uri: str | None
) -> Logged:
    """Writes the findings to the parent run of each sweep that the names mean, replacing what an earlier time wrote.

    Parameters
    ----------
    named
        What the user gave. Runs that are not named by their sweep or by an MLflow id belong to the newest tracked
        sweep that has all of them, else each to the newest that has it.
    runs
        The runs that the names mean.
    uri
        The store to look for names that the home does not know.
    """
    from runner.tracking import add_to_run

    artifacts = {path: text for one in findings for path, text in one.artifacts.items()}
    tags = {name: text for one in findings for name, text in one.tags.items()}
    folder = ", ".join(sorted({f"{path.partition('/')[0]}/" for path in artifacts}))
    parents, problems = _parents(home, named, runs, uri)
    kept = []
    for run_id, address in parents:
        try:
            shown = add_to_run(home, address, run_id, artifacts, tags)
        except TrackingUnavailable as error:
            problems.append(f"not kept in MLflow: {error}")
        else:
            kept.append(f"kept in MLflow: {folder} of {shown}")
    return Logged(tuple(kept), tuple(problems))


Parents = dict[tuple[str, str], None]
"""(run id, address of the store), each once."""


def _parents(
    home: Path, named: Sequence[Named], runs: Sequence[RunResult], uri: str | None
) -> tuple[Parents, list[str]]:
    parents: Parents = {}
    problems: list[str] = []
    covered: set[str] = set()
    left: dict[str, Named] = {}
    for one in named:
        identifier = one.id if isinstance(one, SweepResult) else one if isinstance(one, str) else ""
        content = sweep_called(home, identifier) if identifier else None
        if content is not None:
            kept = read_sweep(content)
            covered |= {job.key for job in kept.jobs}
            if kept.tracking_run:
                parents[kept.tracking_run, kept.tracking_uri or default_uri(home)] = None
            else:
                problems.append(f"not kept in MLflow: sweep {kept.id} was not tracked, so it has no run there")
        elif isinstance(one, str) and _is_of_the_store(one, runs):
            _add_from_store(home, one, uri, parents, problems)
        else:
            left |= {run.job_key: one for run in _meant(one, runs)}
    left = {key: one for key, one in left.items() if key not in covered}
    for key, one, sweep in _sweeps_of(home, left):
        if sweep is not None:
            parents[sweep.tracking_run, sweep.tracking_uri or default_uri(home)] = None
        elif isinstance(one, str):
            _add_from_store(home, one, uri, parents, problems)
        else:
            problems.append(f"not kept in MLflow: no tracked sweep of {home} has the job {key[:12]}")
    return parents, problems


def _is_of_the_store(name: str, runs: Sequence[RunResult]) -> bool:
    """Whether it names one launch, and not only a job: job keys look like the ids of MLflow."""
    return name.startswith(TAG) or (bool(_RUN_ID.match(name)) and all(run.job_key != name for run in runs))


def _meant(one: Named, runs: Sequence[RunResult]) -> Sequence[RunResult]:
    if isinstance(one, SweepResult):
        return one.runs
    if isinstance(one, RunResult):
        return (one,)
    return [run for run in runs if one == run.name or run.job_key.startswith(one)]


def _sweeps_of(home: Path, left: Mapping[str, Named]) -> Iterator[tuple[str, Named, KeptSweep | None]]:
    """For each job its sweep: the newest tracked one that has all of the jobs, else the newest that has this one."""
    if not left:
        return
    tracked = [read_sweep(content) for content in stored_sweeps(home) if content.get("tracking_run")]
    whole = next((sweep for sweep in tracked if set(left) <= {job.key for job in sweep.jobs}), None)
    for key, one in left.items():
        yield key, one, whole or next((sweep for sweep in tracked if any(job.key == key for job in sweep.jobs)), None)


def _add_from_store(home: Path, name: str, uri: str | None, parents: Parents, problems: list[str]) -> None:
    from runner.sweeps.tracked_runs import parents_in_store

    try:
        found, address = parents_in_store(home, name, uri)
    except (ConfigurationError, TrackingUnavailable) as error:
        problems.append(f"not kept in MLflow: {error}")
        return
    parents |= {(run_id, address or default_uri(home)): None for run_id in found}
    if not found:
        problems.append(f"not kept in MLflow: no tracked sweep has {name}")
