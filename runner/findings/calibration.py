"""What human labels say about a judge, and the judge's numbers corrected by them; readings of a judge's biases."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from runner.findings.agreement import Agreement
from runner.findings.comparisons import Interval

if TYPE_CHECKING:
    import pandas


@dataclass(frozen=True, slots=True)
class Estimate:
    """A number with its doubt."""

    value: float
    standard_error: float | None
    interval: Interval | None
    labelled: int
    """How many human labels it rests on."""
    unlabelled: int
    weight: float | None = None
    """How far the judge is trusted (lambda of PPI++): 0 uses the labels alone, 1 leans on the judge fully."""
    note: str = ""


@dataclass(frozen=True, slots=True)
class Corrected:
    """A mean, or a difference of means, as the judge sees it and as the labels correct it."""

    name: str
    """A job, or ``A − B``."""
    judge: float
    humans: float | None
    """The labels alone; ``None`` where this job has none."""
    corrected: Estimate | None
    sentence: str


@dataclass(frozen=True, slots=True)
class Calibration:
    """A judge against human labels."""

    judge: str
    labelled: int
    skipped: int
    random_sample: bool
    """Whether the labels are the sample that the tool drew; without it nothing is corrected."""
    judge_human: Agreement | None
    by_job: Mapping[str, Agreement]
    human_human: Agreement | None
    """The ceiling: two or more humans on the same answers."""
    means: tuple[Corrected, ...]
    differences: tuple[Corrected, ...]
    warnings: tuple[str, ...]

    def to_frame(self) -> pandas.DataFrame:
        """One row a mean or difference, as a pandas DataFrame; what is not corrected has missing values."""
        import pandas

        kinds = {"mean": self.means, "difference": self.differences}
        return pandas.DataFrame([_row(kind, self.judge, one) for kind, found in kinds.items() for one in found])


def _row(kind: str, metric: str, one: Corrected) -> dict[str, Any]:
    estimate = one.corrected
    interval = estimate.interval if estimate is not None else None
    return {
        "metric": metric,
        "kind": kind,
        "name": one.name,
        "judge": one.judge,
        "humans": one.humans,
        "corrected": estimate.value if estimate is not None else None,
        "low": interval.low if interval else None,
        "high": interval.high if interval else None,
        "labelled": estimate.labelled if estimate is not None else None,
        "unlabelled": estimate.unlabelled if estimate is not None else None,
        "weight": estimate.weight if estimate is not None else None,
        "sentence": one.sentence,
    }


@dataclass(frozen=True, slots=True)
class FamilyCell:
    """The mean score that judges of one model family give to generators of another."""

    generator_family: str
    judge_family: str
    mean: float
    scored: int
    same: bool


@dataclass(frozen=True, slots=True)
class BiasReadings:
    """What can be read about a judge without any label, at no cost."""

    judge: str
    scored: int
    length_correlation: float | None
    """Spearman, score against answer length in characters, within runs."""
    length_interval: Interval | None
    top_value: str | None
    """The most frequent score."""
    top_share: float | None
    retest_share: float | None
    """Share of pairs of repeats on one answer with the same score; ``None`` without repeats."""
    retest_flip_rate: float | None
    """Share of answers whose repeats fall on both sides of the pass mark."""
    within_deviation: float | None
    """Root mean square of the standard deviations over repeats."""
    families: tuple[FamilyCell, ...]
    warnings: tuple[str, ...]
