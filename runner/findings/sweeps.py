"""What the comparison of a whole sweep comes to: where each job stands, every pair, and who may be the best."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from runner.findings.comparisons import Comparison, Interval, Measure, Side

if TYPE_CHECKING:
    import pandas


@dataclass(frozen=True, slots=True)
class Standing:
    """One job of the sweep among the others."""

    side: Side
    may_be_best: bool
    """Whether it belongs to the set that cannot be told from the best."""
    probability_best: float | None
    """Share of resampled question sets in which it comes first; where scores failed or answers are missing, the share
    if its own were the lowest of the scale and those of all others the highest."""
    cost_per_answer: float | None
    """US dollars for retrieving and answering, as if nothing had been cached; judging is not in it."""
    cost_per_correct: float | None
    """US dollars per answer that passes, over the questions whose verdict did not fail (a missing answer was paid for
    and does not pass); ``None`` where a price is unknown or nothing passes."""
    cost_per_correct_interval: Interval | None
    """Fieller's, clustered; ``None`` where it has no upper end."""
    on_pareto_front: bool
    """No other job is at least as good for at most the money (and better in one of the two); failed scores and missing
    answers count as the lowest."""
    probability_best_highest: float | None = None
    """``probability_best`` in the opposite case; ``None`` where nothing failed and no answer is missing."""


@dataclass(frozen=True, slots=True)
class Optimism:
    """What picking the best costs in honesty: its score on these questions is too high by about this much."""

    best: str
    observed: float
    expected_drop: float
    """Mean over resampled question sets: the winner's score there minus the same job's score here."""
    sentence: str


class ConfirmationWord(StrEnum):
    """What the questions that had no part in picking say about the pick."""

    CONFIRMED = "confirmed"
    """It is better than everything that it was compared with."""
    CONTRADICTED = "contradicted"
    """Something is better than it."""
    OPEN = "open"


@dataclass(frozen=True, slots=True)
class Confirmation:
    """The best of one part of the questions, on the other part."""

    picked: str | None
    """``None`` where nothing could be picked; ``sentence`` says why."""
    observed: float | None
    """Its mean (or pass rate) where it was picked."""
    select_questions: int
    """Picked on so many, which every run scored."""
    select_clusters: int
    confirmed: float | None
    """The same number on the questions that had no part in picking."""
    interval: Interval | None
    confirm_questions: int
    confirm_clusters: int
    pairs: tuple[Comparison, ...]
    """The pick against the baseline or all others, on the confirming questions; Holm over these pairs."""
    word: ConfirmationWord
    sentence: str


@dataclass(frozen=True, slots=True)
class SweepComparison:
    """All jobs of a sweep on one metric."""

    metric: str
    measure: Measure
    family: str
    """Which pairs were looked at: ``all pairs`` or ``against NAME``."""
    standings: tuple[Standing, ...]
    """In the order of the sweep."""
    pairs: tuple[Comparison, ...]
    best: str | None
    indistinguishable: tuple[str, ...]
    """The jobs that cannot be told from the best, the best first; ``()`` where it cannot be said.

    The model confidence set at 95 %, less whom a verdict calls worse than the best, and with whom only failed scores
    keep in doubt.
    """
    complete_questions: int
    """Questions that every job scored: the base of the simultaneous intervals. The set and the optimism also rest on
    those where a score failed or an answer is missing, counted as the lowest."""
    critical_value: float | None
    """Of the simultaneous intervals, on the scale of t."""
    optimism: Optimism | None
    sentences: tuple[str, ...]
    """What to take home, most important first."""
    seed: int
    confirmation: Confirmation | None = None
    """Set where a share of the questions was to confirm the pick."""

    def to_frame(self) -> pandas.DataFrame:
        """One row a pair, as a pandas DataFrame; undefined numbers are missing values."""
        import pandas

        return pandas.DataFrame([_row(pair, self) for pair in self.pairs])

    def standings_frame(self) -> pandas.DataFrame:
        """One row a job, as a pandas DataFrame."""
        import pandas

        return pandas.DataFrame([_standing(standing) for standing in self.standings])


def _row(pair: Comparison, sweep: SweepComparison) -> dict[str, Any]:
    costs = {standing.side.name: standing.cost_per_answer for standing in sweep.standings}
    return {
        "metric": pair.metric,
        "measure": pair.measure.value,
        "a": pair.a.name,
        "b": pair.b.name,
        "questions": pair.questions,
        "asked": max(pair.a.counts.asked, pair.b.counts.asked),
        "clusters": pair.clusters,
        "mean_a": pair.mean_a,
        "mean_b": pair.mean_b,
        "difference": pair.difference,
        "low": pair.interval.low if pair.interval else None,
        "high": pair.interval.high if pair.interval else None,
        "simultaneous_low": pair.simultaneous.low if pair.simultaneous else None,
        "simultaneous_high": pair.simultaneous.high if pair.simultaneous else None,
        "p": pair.p,
        "p_holm": pair.p_holm,
        "p_bh": pair.p_bh,
        "p_permutation": pair.p_permutation,
        "minimum_detectable": pair.minimum_detectable,
        "cost_a": costs.get(pair.a.name),
        "cost_b": costs.get(pair.b.name),
        "verdict": pair.verdict.value,
        "questions_needed": pair.questions_needed,
        "sentence": pair.sentence,
    }


def _standing(standing: Standing) -> dict[str, Any]:
    interval = standing.cost_per_correct_interval
    return {
        "job": standing.side.name,
        "asked": standing.side.counts.asked,
        "scored": standing.side.counts.scored,
        "not_applicable": standing.side.counts.not_applicable,
        "failed": standing.side.counts.failed,
        "no_answer": standing.side.counts.no_answer,
        "mean": standing.side.mean,
        "standard_error": standing.side.standard_error,
        "pass_rate": standing.side.pass_rate,
        "worst_case": standing.side.worst_case,
        "best_case": standing.side.best_case,
        "pass_worst_case": standing.side.pass_worst_case,
        "pass_best_case": standing.side.pass_best_case,
        "may_be_best": standing.may_be_best,
        "probability_best": standing.probability_best,
        "probability_best_highest": standing.probability_best_highest,
        "cost_per_answer": standing.cost_per_answer,
        "cost_per_correct": standing.cost_per_correct,
        "cost_per_correct_low": interval.low if interval else None,
        "cost_per_correct_high": interval.high if interval else None,
        "on_pareto_front": standing.on_pareto_front,
    }
