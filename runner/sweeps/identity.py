"""Which jobs of a launch are the same, and what the launch is called."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

from runner.config import Job


def drop_duplicates(jobs: Sequence[Job]) -> tuple[tuple[Job, ...], dict[str, str]]:
    """The distinct jobs in order, and each dropped job's name with the name of the one that stands for it."""
    kept: dict[str, Job] = {}
    dropped: dict[str, str] = {}
    for job in jobs:
        if job.key in kept:
            dropped[job.name] = kept[job.key].name
        else:
            kept[job.key] = job
    return tuple(kept.values()), dropped


def duplicate_sentence(dropped: str, kept: str) -> str:
    """What is said about a job that another one stands for."""
    if dropped == kept:
        return f"{kept} is given more than once and runs once: the others are dropped"
    return f"{dropped} is the same as {kept}: dropped"


def sweep_id(jobs: Sequence[Job], started_at: str) -> str:
    """A short name of this launch, from its jobs and its moment."""
    text = "\n".join([started_at, *(job.key for job in jobs)])
    return hashlib.sha256(text.encode()).hexdigest()[:12]
