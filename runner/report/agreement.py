"""Agreement, calibration and bias readings in the terminal: several coefficients together, the sentence first."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.text import Text

from runner.findings import Agreement, BiasReadings, Calibration, Coefficient, Corrected
from runner.report.tables import table_or_blocks
from runner.report.text import plain

NAMES = {
    "percent": "percent agreement",
    "cohen": "Cohen's kappa",
    "cohen_linear": "kappa, linear weights",
    "cohen_quadratic": "kappa, quadratic weights",
    "fleiss": "Fleiss / Scott",
    "brennan_prediger": "Brennan-Prediger",
    "ac1": "Gwet AC1",
    "ac2_linear": "Gwet AC2, linear",
    "ac2_quadratic": "Gwet AC2, quadratic",
    "ac2_ordinal": "Gwet AC2, ordinal",
    "krippendorff_nominal": "Krippendorff, nominal",
    "krippendorff_ordinal": "Krippendorff, ordinal",
    "krippendorff_interval": "Krippendorff, interval",
    "spearman": "Spearman",
    "kendall": "Kendall tau-b",
    "pearson": "Pearson",
}


MOST_VALUES = 5
"""Of a scale, shown with their shares: the most frequent."""


class CalibrationView:
    """A rich renderable of a judge against human labels."""

    def __init__(self, found: Calibration, readings: BiasReadings | None = None) -> None:
        self._found = found
        self._readings = readings

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        found, width = self._found, options.max_width
        head = f"{plain(found.judge, True)} against {found.labelled} labelled answers"
        yield Text(head + (f" ({found.skipped} marked ?)" if found.skipped else ""), style="bold")
        yield from (Text(plain(warning), style="yellow") for warning in found.warnings)
        yield from (Text(plain(one.sentence)) for one in (*found.means, *found.differences))
        if found.means:
            rows = [_corrected(one) for one in (*found.means, *found.differences)]
            yield table_or_blocks(("", "judge", "labels alone", "corrected", "95 %", "labels", "weight"), rows, width)
        yield from _agreements(found, width)
        yield from _confusion(found.judge_human)
        for agreement in (found.judge_human, found.human_human):
            if agreement is not None:
                yield from (Text(plain(note), style="yellow") for note in agreement.notes)
        if self._readings is not None:
            yield from (Text(plain(warning), style="yellow") for warning in self._readings.warnings)


class AgreementView:
    """A rich renderable of one agreement."""

    def __init__(self, found: Agreement) -> None:
        self._found = found

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        name = " – ".join(plain(rater, True) for rater in self._found.raters)
        if self._found.items:
            yield _table([(name, self._found)], options.max_width)
            yield from _confusion(self._found)
        yield from (Text(plain(note), style="yellow") for note in self._found.notes)


def render_agreement(found: Agreement) -> AgreementView:
    """Several coefficients of one agreement, with its prevalence and what to make of it."""
    return AgreementView(found)


def _agreements(found: Calibration, width: int) -> RenderResult:
    columns: list[tuple[str, Agreement]] = []
    if found.judge_human is not None:
        columns.append(("judge–human", found.judge_human))
    if found.human_human is not None:
        columns.append(("human–human", found.human_human))
    columns += [(plain(name, True), agreement) for name, agreement in found.by_job.items()] if len(columns) < 3 else []
    if not columns:
        yield Text("no label is of an answer that the judge scored", style="yellow")
        return
    yield _table(columns, width)


def _table(columns: Sequence[tuple[str, Agreement]], width: int) -> RenderableType:
    rows = [["answers", *[str(one.items) for _, one in columns]]]
    rows.append(["prevalence", *[_prevalence(one) for _, one in columns]])
    for name, shown in NAMES.items():
        cells = [_coefficient(one.coefficients.get(name)) for _, one in columns]
        if any(cells):
            rows.append([shown, *cells])
    rows.append(["bias (first − second)", *[_bias(one) for _, one in columns]])
    return table_or_blocks(("agreement", *[name for name, _ in columns]), rows, width)


def _confusion(found: Agreement | None) -> RenderResult:
    if found is None or found.confusion is None:
        return
    confusion, (first, second) = found.confusion, (plain(name, True) for name in found.raters)
    parts = []
    if confusion.true_positive_rate is not None:
        parts.append(f"{confusion.true_positive_rate:.0%} of what {second} pass")
    if confusion.true_negative_rate is not None:
        parts.append(f"fails {confusion.true_negative_rate:.0%} of what {second} fail")
    yield Text(
        f"{first} passes {' and '.join(parts)} (both pass {confusion.true_positive}, {first} only "
        f"{confusion.false_positive}, {second} only {confusion.false_negative}, neither {confusion.true_negative})"
    )


def _corrected(one: Corrected) -> list[str]:
    estimate = one.corrected
    interval = estimate.interval if estimate is not None else None
    return [
        plain(one.name, True),
        f"{one.judge:.3f}",
        "" if one.humans is None else f"{one.humans:.3f}",
        "" if estimate is None else f"{estimate.value:.3f}",
        "" if interval is None else f"[{interval.low:.3f}, {interval.high:.3f}]",
        "" if estimate is None else str(estimate.labelled),
        "" if estimate is None or estimate.weight is None else f"{estimate.weight:.2f}",
    ]


def _coefficient(one: Coefficient | None) -> str:
    if one is None:
        return ""
    if one.value is None:
        return "undefined"
    interval = "" if one.interval is None else f" [{one.interval.low:.2f}, {one.interval.high:.2f}]"
    return f"{one.value:.3f}{interval}"


def _prevalence(one: Agreement) -> str:
    most = set(sorted(one.prevalence, key=lambda value: -one.prevalence[value])[:MOST_VALUES])
    shown = [f"{value}: {share:.0%}" for value, share in one.prevalence.items() if value in most]
    left = len(one.prevalence) - len(shown)
    return ", ".join([*shown, *([f"{left} others"] if left else [])])


def _bias(one: Agreement) -> str:
    if one.bias is None:
        return ""
    interval = "" if one.bias_interval is None else f" [{one.bias_interval.low:+.2f}, {one.bias_interval.high:+.2f}]"
    return f"{one.bias:+.3f}{interval}"
