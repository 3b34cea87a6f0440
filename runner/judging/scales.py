"""The values a rubric may give: their bounds, labels and pass mark. Pure functions over ``config.schema.Scale``.

Label and boolean scales hold a few numbers only. Where a probability, a mean or a local judge gives a number between
two of them, the number is kept as the score and the nearest label stands beside it (a tie goes to the worse one);
the pass is that label's. So a mean of good, good, bad is 0.67, "good" and passed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from runner.config.schema import Scale

DISCRETE = frozenset({"labels", "boolean"})


def bounds(scale: Scale) -> tuple[float, float]:
    """The lowest and the highest score; what a scale leaves out is 1 to 5 for ordinal, 0 to 1 for continuous."""
    if scale.kind in DISCRETE:
        numbers = label_numbers(scale).values()
        return min(numbers), max(numbers)
    default = (1.0, 5.0) if scale.kind == "ordinal" else (0.0, 1.0)
    low = default[0] if scale.min is None else float(scale.min)
    high = default[1] if scale.max is None else float(scale.max)
    return low, high


def label_numbers(scale: Scale) -> Mapping[str, float]:
    """Label to number for label and boolean scales, in the order of the rubric; empty for the others."""
    if scale.kind == "boolean":
        return {"true": 1.0, "false": 0.0}
    return {label: float(number) for label, number in scale.values.items()} if scale.kind == "labels" else {}


def options(scale: Scale) -> Mapping[str, float]:
    """Every value a judge may give, as it writes it, with its number; empty for a continuous scale."""
    if scale.kind in DISCRETE:
        return label_numbers(scale)
    if scale.kind == "ordinal":
        low, high = bounds(scale)
        return {str(value): float(value) for value in range(int(low), int(high) + 1)}
    return {}


def pass_mark(scale: Scale) -> float:
    """The score from which on an answer passes; the top where the rubric does not say."""
    return bounds(scale)[1] if scale.pass_at is None else float(scale.pass_at)


def label_of(scale: Scale, score: float) -> str | None:
    """The nearest label, the worse one of two that are as near; ``None`` for scales without labels."""
    numbers = label_numbers(scale)
    if not numbers:
        return None
    return min(numbers, key=lambda label: (abs(numbers[label] - score), numbers[label]))


def passes(scale: Scale, score: float) -> bool:
    """Whether a score passes; on label and boolean scales its nearest label decides."""
    label = label_of(scale, score)
    return (score if label is None else label_numbers(scale)[label]) >= pass_mark(scale)


def from_share(scale: Scale, share: float, pass_share: float) -> float:
    """A share between 0 and 1 on the scale: 0 is its lowest value, ``pass_share`` its pass mark, 1 its highest.

    Linear on both sides of the pass mark, so that order is kept and the threshold that was measured for the share is
    the one that the pass follows. On label and boolean scales the mark is half way up to the first passing label.
    """
    low, high = bounds(scale)
    mark = pass_mark(scale)
    if scale.kind in DISCRETE:
        numbers = label_numbers(scale).values()
        passing = min((number for number in numbers if number >= mark), default=high)
        failing = max((number for number in numbers if number < mark), default=low)
        mark = (passing + failing) / 2
    share = min(max(share, 0.0), 1.0)
    if share < pass_share:
        return low + (mark - low) * share / pass_share
    return mark + (high - mark) * ((share - pass_share) / (1 - pass_share) if pass_share < 1 else 1.0)


def shown(scale: Scale, score: float) -> str:
    """The score as a person reads it, its label in front where there is one."""
    label = label_of(scale, score)
    number = f"{score:.4g}"
    return number if label is None else f"{label} ({number})"


def same_scale(scales: Iterable[Scale]) -> bool:
    """Whether scores on these scales may be put together: one range, one pass mark, one set of labels."""
    return len({(bounds(s), pass_mark(s), tuple(sorted(label_numbers(s).items()))) for s in scales}) <= 1
