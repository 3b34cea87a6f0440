"""What a launch came to: its runs, their summaries and files, and what is to be said about the whole."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path

from runner.findings import GateReport, SweepComparison
from runner.records import RunResult, RunStatus, RunSummary, SweepResult
from runner.sweeps.comparisons import sweep_comparisons
from runner.sweeps.figures import summarised
from runner.sweeps.keeping import KeptSweep
from runner.sweeps.plan_totals import JobPlan

_ROUNDING = Decimal("1e-12")


@dataclass(frozen=True, slots=True)
class SweepOutcome:
    """What a launch came to."""

    result: SweepResult
    summaries: Mapping[str, RunSummary]
    """By job key."""
    folders: Mapping[str, Path]
    """By job key: where the files of each run are."""
    stopped_by: str = ""
    """The one sentence that ended the sweep early; empty where it ran to its end."""
    notes: tuple[str, ...] = ()
    possibly_paid: Decimal = Decimal(0)
    """US dollars at most of attempts that ended without a usage (cut, timed out): on top of the new cost."""
    paid_besides: Decimal = Decimal(0)
    """US dollars for replies to questions that were left unfinished: in the ledger, and in no run's cost."""
    plan: JobPlan | None = None
    """What all jobs together were planned to ask for; ``None`` where no model is paid for."""
    comparisons: tuple[SweepComparison, ...] = ()
    """One a judge; empty for a single job, and until the sweep has ended."""
    gate: GateReport | None = None
    """``None`` where no gate was asked for, or the sweep was interrupted."""
    tracked: tuple[str, str] = ("", "")
    """The id of the parent run, and the tracking store that it is in; empty without tracking."""
    repeats: KeptSweep | None = None
    """The earlier launch that this one is again, with nothing new."""
    commit: str = ""
    """Git commit that the launch was made at, of a stored one; empty where it is not known."""


def outcome_of(result: SweepResult) -> SweepOutcome:
    """The outcome of a sweep whose runs are known from storage."""
    summaries = {run.job_key: summarised(run) for run in result.runs}
    return SweepOutcome(result, summaries, {}, comparisons=sweep_comparisons(result.runs))


def paid_besides(paid: Decimal, runs: Iterable[RunResult]) -> Decimal:
    """What was paid in all, less what the runs account for. US dollars, as far as prices are known."""
    counted = sum((call.new_cost for run in runs for call in run.calls if call.new_cost is not None), Decimal(0))
    # A batch of embeddings is shared among the texts in it, to the last decimal that there is.
    return paid - counted if paid - counted > _ROUNDING else Decimal(0)


def overall_status(runs: Sequence[RunResult], planned: int) -> RunStatus:
    """The status of a sweep from those of its runs."""
    statuses = {run.status for run in runs}
    if RunStatus.INTERRUPTED in statuses or len(runs) < planned:
        return RunStatus.INTERRUPTED
    if RunStatus.BUDGET in statuses:
        return RunStatus.BUDGET
    if statuses == {RunStatus.COMPLETE}:
        return RunStatus.COMPLETE
    return RunStatus.FAILED if statuses == {RunStatus.FAILED} else RunStatus.INCOMPLETE
