"""What a comparison of two runs comes to: a difference with its doubt, and one of four words.

A number that the data do not give is ``None``, and ``notes`` says in a sentence why; nothing is NaN.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import NoReturn

from runner.errors import ConfigurationError


class Word(StrEnum):
    """The verdict on the first run, against the second."""

    BETTER = "better"
    WORSE = "worse"
    EQUIVALENT = "equivalent"
    """The whole interval lies within the margin."""
    UNDECIDED = "undecided"


class Measure(StrEnum):
    """Which number of the scores is compared; the test is always of the number shown."""

    MEAN = "mean"
    PASS_RATE = "pass_rate"  # noqa: S105 (no password)

    @classmethod
    def _missing_(cls, value: object) -> NoReturn:
        raise ConfigurationError(f"measure: there is no {value!r}; say {' or '.join(one.value for one in cls)}")


@dataclass(frozen=True, slots=True)
class Interval:
    """An interval of a stated level (95 % unless the result says otherwise)."""

    low: float
    high: float

    def __contains__(self, value: float) -> bool:
        return self.low <= value <= self.high

    def inside(self, margin: float) -> bool:
        """Whether the whole interval lies within plus or minus ``margin``."""
        return -margin <= self.low and self.high <= margin


@dataclass(frozen=True, slots=True)
class Denominators:
    """What stands below a mean."""

    asked: int
    scored: int
    not_applicable: int
    failed: int
    reasons: Mapping[str, int] = field(default_factory=dict)
    """Reason → count, for the failed and the not applicable."""
    no_answer: int = 0
    """Those among the failed where there was no answer to score; ``not_applicable`` holds none of them."""


@dataclass(frozen=True, slots=True)
class Side:
    """One run of a comparison, over all questions that it scored."""

    name: str
    job_key: str
    counts: Denominators
    mean: float | None
    standard_error: float | None
    """Of the mean, clustered; ``None`` with fewer than two clusters."""
    pass_rate: float | None
    pass_interval: Interval | None
    """Wilson, with the questions divided by the design effect of the clusters."""
    distribution: Mapping[str, int] = field(default_factory=dict)
    """Score → count, lowest first."""
    worst_case: float | None = None
    """The mean if every failed score and missing answer were the lowest; ``None`` where there is none, or no scale."""
    best_case: float | None = None
    pass_worst_case: float | None = None
    """The pass rate in the same way; ``None`` where nothing failed."""
    pass_best_case: float | None = None


@dataclass(frozen=True, slots=True)
class PassRates:
    """The pass rates of two runs on the questions that both scored."""

    both: int
    only_a: int
    only_b: int
    neither: int
    difference: float
    p: float
    """McNemar's exact test; it takes questions for independent."""
    interval: Interval
    """Tango's score interval of the paired difference; it takes questions for independent."""
    newcombe: Interval
    """Newcombe's hybrid (MOVER) interval with the correlation of the pairs, as a second opinion."""
    clustered: Interval | None
    """The t interval clustered; to be used where a cluster holds several questions."""
    clustered_p: float | None


@dataclass(frozen=True, slots=True)
class Bounds:
    """The difference in the two worst cases about scores that failed and answers that are missing."""

    lowest: float
    """Every failed score or missing answer of A is the lowest of the scale, every one of B the highest."""
    highest: float
    """The reverse."""
    word_lowest: Word
    word_highest: Word
    lowest_error: float = 0.0
    """Clustered standard error of ``lowest``."""
    clusters: int = 0
    """Clusters of the questions that both were asked and that apply to both."""

    @property
    def agree(self) -> bool:
        return self.word_lowest == self.word_highest


@dataclass(frozen=True, slots=True)
class Comparison:
    """Run A against run B on one metric, question by question."""

    metric: str
    measure: Measure
    a: Side
    b: Side
    questions: int
    """Scored in both: the n of everything below."""
    clusters: int
    only_in_a: int
    """Questions that B was not asked; left out."""
    only_in_b: int
    mean_a: float | None
    """Mean (or pass rate) over the questions scored in both."""
    mean_b: float | None
    difference: float | None
    """A minus B."""
    standard_error: float | None
    interval: Interval | None
    """95 %: t with clusters minus 1 degrees, or Tango's for pass rates of single questions.

    Where every cluster shows the same difference there is no variance: Tango's over clusters for pass rates, the rule
    of three times the scale for equal means, else ``None``. Of width 0 only where a difference of 0
    is certain: a run with itself, one ranking at equal k, the same verdicts.
    """
    p: float | None
    """Of the test named in ``method``, two-sided, uncorrected."""
    method: str
    p_permutation: float | None
    """Sign-flip permutation by cluster: the second opinion."""
    permutation_exact: bool
    minimum_detectable: float | None
    """The true difference that this design shows with 80 % power."""
    margin: float | None
    """Differences up to this do not matter."""
    p_equivalence: float | None
    """Two one-sided tests against the margin (the larger p)."""
    pass_rates: PassRates | None
    bounds: Bounds | None
    """``None`` where nothing failed, or the scale is not known."""
    verdict: Word
    questions_needed: int | None
    """About how many questions would decide; ``None`` where decided or no number would."""
    sentence: str
    """The verdict in words."""
    notes: tuple[str, ...] = ()
    p_holm: float | None = None
    """Corrected over the family of a sweep; the verdict follows it where it is set."""
    p_bh: float | None = None
    """Benjamini-Hochberg, for exploring."""
    simultaneous: Interval | None = None
    """The interval that holds together with those of all other pairs of the family (max-T)."""
    unit: str = "document"
    """What a cluster is, in one word."""
    certain: str = ""
    """Why the two cannot differ, in words: one ranking at equal k, the same verdicts; empty where they could."""
