"""Numbers as they are shown in the report; an undefined one is an empty text, never a dash that could be a minus."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from runner.findings import Interval
from runner.records import RunResult, Score
from runner.report.html.parts import Range, Share

TONES = 8
"""The highest tone of a bar; see the style sheet."""


def number(value: float | None, digits: int = 3, *, sign: bool = False) -> str:
    return "" if value is None else f"{value:{'+' if sign else ''}.{digits}f}"


def shown_value(score: Score) -> str:
    """The label, or the number with four digits that matter; empty where nothing was scored."""
    if score.label is not None:
        return score.label
    return "" if score.value is None else f"{score.value:.4g}"


def percent(value: float | None) -> str:
    return "" if value is None else f"{value:.0%}" if value in (0, 1) else f"{value:.1%}"


def interval(found: Interval | None, factor: float = 1.0, digits: int = 3) -> str:
    if found is None:
        return ""
    return f"{found.low * factor:.{digits}f} to {found.high * factor:.{digits}f}"


def probability(p: float | None) -> str:
    if p is None:
        return ""
    return "< 0.0001" if p < 1e-4 else f"{p:.4f}"


def usd(amount: float | None) -> str:
    """Money that is an estimate already; exact money is shown by ``leaderboard.dollars``."""
    if amount is None:
        return ""
    return "$0" if amount == 0 else f"${amount:.2g}" if amount < 0.001 else f"${amount:.4f}"


def counted(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def reasons(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{reason} {count}" for reason, count in counts.items())


def scale_of(runs: Sequence[RunResult], judge: str) -> tuple[float, float] | None:
    """The ends of a judge's scale over these runs; from the values where the scale is not known."""
    scores = [record.scores[judge] for run in runs for record in run.records if judge in record.scores]
    ends = [end for score in scores for end in (score.lowest, score.highest) if end is not None]
    found = ends or [score.value for score in scores if score.value is not None]
    return (min(found), max(found)) if found and min(found) < max(found) else None


def placed(mean: float | None, error: float | None, scale: tuple[float, float] | None) -> Range | None:
    """The mean with two standard errors each way, on its scale."""
    if mean is None or scale is None:
        return None
    low, high = scale
    half = 2 * (error or 0.0)
    at, left, right = ((value - low) / (high - low) for value in (mean, mean - half, mean + half))
    return Range(_within(at), _within(left), _within(right))


def _within(fraction: float) -> float:
    return round(min(max(fraction, 0.0), 1.0), 4)


def shared(counts: Mapping[str, int], order: Iterable[str] | None = None) -> tuple[Share, ...]:
    """The counts as parts of one bar, the worst first; ``order`` names all values, also those without a count."""
    values = list(order if order is not None else counts)
    total = sum(counts.values())
    parts: list[Share] = []
    start = 0.0
    for place, value in enumerate(values):
        count = counts.get(value, 0)
        if count:
            width = count / total
            tone = round(place / max(len(values) - 1, 1) * TONES)
            parts.append(Share(value, count, round(start, 4), round(width, 4), tone))
            start += width
    return tuple(parts)
