"""A judge's pass against the true pass: four counts and the rates that follow from them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from runner.findings import Confusion
from runner.statistics.proportions import wilson

if TYPE_CHECKING:
    import numpy

    Array = numpy.ndarray[Any, Any]


def confusion(judged: Sequence[bool] | Array, truth: Sequence[bool] | Array) -> Confusion:
    """A judge's pass against the true pass, with Wilson intervals of the two rates."""
    import numpy

    said, true = numpy.asarray(judged, dtype=bool), numpy.asarray(truth, dtype=bool)
    return confusion_of_counts(
        int((said & true).sum()), int((said & ~true).sum()), int((~said & true).sum()), int((~said & ~true).sum())
    )


def confusion_of_counts(true_positive: int, false_positive: int, false_negative: int, true_negative: int) -> Confusion:
    """The same from the four counts."""
    positive, negative = true_positive + false_negative, true_negative + false_positive
    sensitivity = true_positive / positive if positive else None
    specificity = true_negative / negative if negative else None
    said = 2 * true_positive + false_positive + false_negative
    return Confusion(
        true_positive=true_positive,
        false_positive=false_positive,
        false_negative=false_negative,
        true_negative=true_negative,
        true_positive_rate=sensitivity,
        true_positive_interval=wilson(true_positive, positive) if positive else None,
        true_negative_rate=specificity,
        true_negative_interval=wilson(true_negative, negative) if negative else None,
        balanced_accuracy=(sensitivity + specificity) / 2
        if sensitivity is not None and specificity is not None
        else None,
        f1=2 * true_positive / said if said else None,
    )
