"""How far raters agree: several coefficients together with the prevalence, as no single one may decide."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from runner.findings.comparisons import Interval

if TYPE_CHECKING:
    import pandas


@dataclass(frozen=True, slots=True)
class Coefficient:
    """One coefficient of agreement with its interval."""

    name: str
    value: float | None
    """``None`` where it is not defined; ``note`` says why."""
    interval: Interval | None = None
    """95 %, percentile bootstrap over clusters."""
    note: str = ""


@dataclass(frozen=True, slots=True)
class Confusion:
    """A judge's pass against a human's."""

    true_positive: int
    false_positive: int
    false_negative: int
    true_negative: int
    true_positive_rate: float | None
    true_positive_interval: Interval | None
    """Wilson."""
    true_negative_rate: float | None
    true_negative_interval: Interval | None
    balanced_accuracy: float | None
    f1: float | None

    @property
    def total(self) -> int:
        return self.true_positive + self.false_positive + self.false_negative + self.true_negative


@dataclass(frozen=True, slots=True)
class Agreement:
    """Two or more raters over the same items."""

    raters: tuple[str, ...]
    items: int
    """Items with at least two ratings."""
    ratings: int
    prevalence: Mapping[str, float]
    """Value → share of all ratings on those items, lowest first."""
    coefficients: Mapping[str, Coefficient]
    confusion: Confusion | None
    """Two raters and a pass mark only: the first rater is the judge, the second the truth."""
    bias: float | None
    """Two raters only: mean of the first minus mean of the second."""
    bias_interval: Interval | None
    notes: tuple[str, ...] = ()
    extra: Mapping[str, float] = field(default_factory=dict)

    def to_frame(self) -> pandas.DataFrame:
        """One row a coefficient with its interval, as a pandas DataFrame; undefined numbers are missing values."""
        import pandas

        rows = [
            {
                "coefficient": name,
                "value": one.value,
                "low": one.interval.low if one.interval else None,
                "high": one.interval.high if one.interval else None,
                "items": self.items,
                "note": one.note,
            }
            for name, one in self.coefficients.items()
        ]
        return pandas.DataFrame(rows, columns=["coefficient", "value", "low", "high", "items", "note"])
