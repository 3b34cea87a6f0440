"""What a report is made from: the sweep's results, and what other rooms found out about them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal

from runner.findings import BiasReadings, SweepComparison
from runner.records import RunResult, RunSummary, SweepResult


@dataclass(frozen=True, slots=True)
class PlannedSpend:
    """What was planned before the first call, over all jobs."""

    low: Decimal | None
    """US dollars; ``None``: a price is unknown."""
    expected: Decimal | None
    high: Decimal | None
    calls_low: int
    """Distinct calls; those that the ledger answers are among them."""
    calls_high: int
    unknown_prices: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Reproduction:
    """How to get the same numbers again."""

    commands: tuple[str, ...] = ()
    """Lines for a shell, the one for the whole sweep first."""
    versions: Mapping[str, str] = field(default_factory=dict)
    """Name of a package → version."""
    commit: str = ""
    """Git commit of the working directory; empty outside a checkout."""


@dataclass(frozen=True, slots=True)
class ReportInput:
    """Everything that the sections draw on."""

    sweep: SweepResult
    summaries: Mapping[str, RunSummary]
    """By job key."""
    comparisons: tuple[SweepComparison, ...] = ()
    """One a metric, the most important first; empty for a single job."""
    biases: tuple[BiasReadings, ...] = ()
    planned: PlannedSpend | None = None
    reproduction: Reproduction = field(default_factory=Reproduction)
    notes: tuple[str, ...] = ()
    """What the reader should know about the report itself, such as a comparison that could not be made."""

    @property
    def names(self) -> Mapping[str, str]:
        """Job key → a name that no other job of the report has."""
        counts = Counter(run.name for run in self.sweep.runs)
        return {
            run.job_key: (run.name or run.job_key[:12])
            if counts[run.name] == 1
            else f"{run.name} [{run.job_key[:8]}]".strip()
            for run in self.sweep.runs
        }

    @property
    def judges(self) -> tuple[str, ...]:
        """All judges and panels, in the order of the configuration."""
        return tuple(dict.fromkeys(judge for summary in self.ordered_summaries for judge in summary.judges))

    @property
    def ordered_summaries(self) -> tuple[RunSummary, ...]:
        return tuple(self.summaries[run.job_key] for run in self.sweep.runs)

    @property
    def leader(self) -> RunResult | None:
        """The job that the comparisons put first; without one the job with the best mean of the first judge."""
        runs = self.sweep.runs
        for comparison in self.comparisons:
            found = next((run for run in runs if comparison.best in (run.name, self.names[run.job_key])), None)
            if found is not None:
                return found
        if not runs or not self.judges:
            return runs[0] if runs else None
        return max(runs, key=self._first_mean)

    def _first_mean(self, run: RunResult) -> float:
        judge = self.summaries[run.job_key].judges.get(self.judges[0])
        return float("-inf") if judge is None or judge.mean is None else judge.mean
