"""What the plots of a sweep are drawn from: names, what differs between the runs, and every score."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from runner.records import RunResult, RunSummary, Score, VerdictStatus
from runner.tracking import text as t

Scores = Mapping[str, Score]


@dataclass(frozen=True, slots=True)
class PlottedRun:
    """One run of the sweep."""

    name: str
    choices: Mapping[str, Any]
    summary: RunSummary
    scores: Mapping[str, Scores]
    """By question id, then by judge."""

    def value(self, question: str, judge: str) -> float | None:
        """The score, ``None`` where there is none."""
        score = self.scores.get(question, {}).get(judge)
        return score.value if score is not None and score.status is VerdictStatus.SCORED else None


@dataclass(frozen=True, slots=True)
class SweepData:
    """All runs, their judges and the ends of each judge's scale."""

    runs: tuple[PlottedRun, ...]
    judges: tuple[str, ...]
    scales: Mapping[str, tuple[float, float]]
    varying: tuple[str, ...]
    """Choices that differ between the runs, without those that only follow another one."""

    @classmethod
    def of(cls, runs: Sequence[tuple[RunResult, RunSummary]]) -> SweepData:
        plotted = tuple(
            PlottedRun(
                t.clean(run.name),
                run.choices,
                summary,
                {record.question.id: record.scores for record in run.records},
            )
            for run, summary in runs
        )
        judges = tuple(
            dict.fromkeys(
                judge for run in plotted for judge, found in run.summary.judges.items() if found.mean is not None
            )
        )
        return cls(plotted, judges, {judge: _scale(plotted, judge) for judge in judges}, _varying(plotted))

    def unit(self, judge: str, value: float) -> float:
        """A score as a part of its scale, 0 to 1."""
        low, high = self.scales[judge]
        return min(1.0, max(0.0, (value - low) / (high - low)))


def _scale(runs: Sequence[PlottedRun], judge: str) -> tuple[float, float]:
    """The ends of the scale as the scores tell them; else the range of what was given."""
    scores = [given[judge] for run in runs for given in run.scores.values() if judge in given]
    low = min((score.lowest for score in scores if score.lowest is not None), default=None)
    high = max((score.highest for score in scores if score.highest is not None), default=None)
    values = [score.value for score in scores if score.value is not None]
    low = min(values, default=0.0) if low is None else low
    high = max(values, default=1.0) if high is None else high
    return (low, high) if high > low else (low - 0.5, low + 0.5)


def _varying(runs: Sequence[PlottedRun]) -> tuple[str, ...]:
    """Choices with more than one value; of those that change together, the first stands for all."""
    columns: dict[tuple[str, ...], str] = {}
    for key in dict.fromkeys(key for run in runs for key in run.choices):
        column = tuple(t.value_text(run.choices.get(key)) for run in runs)
        if len(set(column)) > 1:
            columns.setdefault(column, key)
    return tuple(columns.values())
