"""What the launcher ``shared`` does: composes and checks every job of a sweep, then runs them in this process."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from hydra.core.utils import JobReturn, JobStatus

from runner.config import Job, check, compose_batch
from runner.config.problems import merged
from runner.config.quiet import wanted
from runner.errors import ConfigurationError
from runner.sweeps.launch import launch

SAY_PROGRESS_FROM = 20
"""Composing takes about a tenth of a second a job: from this many jobs on it is said beforehand."""


def compose_all(job_overrides: Sequence[Sequence[str]]) -> tuple[Job, ...]:
    """Composes every job. Raises one ConfigurationError with the problems of all of them."""
    if len(job_overrides) >= SAY_PROGRESS_FROM and not wanted():
        print(f"checking {len(job_overrides)} jobs", flush=True)
    composed = compose_batch(job_overrides)
    problems = merged([*composed.problems, *check(composed.jobs)])
    if problems:
        raise ConfigurationError(problems)
    return composed.jobs


def launch_together(config: Any, job_overrides: Sequence[Sequence[str]]) -> Sequence[JobReturn]:
    """Runs all jobs of the sweep together; the exit code is every job's return value."""
    jobs = compose_all(job_overrides)
    code = launch(jobs, output_dir=Path(str(config.hydra.sweep.dir)))
    return [
        JobReturn(overrides=list(overrides), status=JobStatus.COMPLETED, _return_value=code)
        for overrides in job_overrides
    ]
