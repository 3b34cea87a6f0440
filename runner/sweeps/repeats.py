"""Whether a launch brought anything new, or is an earlier one again."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from runner.records import RunResult, RunStatus, SweepResult
from runner.sweeps.keeping import KeptSweep, read_sweep
from runner.sweeps.stored import stored_sweeps


def repeated(home: Path, result: SweepResult, store: str) -> KeptSweep | None:
    """The first launch of the same jobs into the same tracking store, where this one brought nothing new.

    ``store``: see ``TrackedSweep.store``; an empty one is no store, and nobody can confuse its runs.
    """
    if not store or not nothing_new(result.runs):
        return None
    keys = {run.job_key for run in result.runs}
    for content in reversed(stored_sweeps(home)):
        kept = read_sweep(content)
        same = {job.key for job in kept.jobs} == keys and (kept.tracking_store, kept.status) == (store, result.status)
        if same and kept.tracking_run and kept.id != result.id:
            return kept
    return None


def nothing_new(runs: Sequence[RunResult]) -> bool:
    """Whether every record was stored before, and no call was made."""
    return bool(runs) and all(
        run.status is RunStatus.COMPLETE
        and run.resumed == len(run.records)
        and all(call.from_ledger for call in run.calls)
        for run in runs
    )
