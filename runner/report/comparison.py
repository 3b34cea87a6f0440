"""A comparison in the terminal: the sentence first, then where each job stands, then the pairs."""

from __future__ import annotations

import re
from collections.abc import Iterator

from rich.console import Console, ConsoleOptions, RenderResult
from rich.text import Text

from runner.findings import (
    Comparison,
    ConfirmationWord,
    Interval,
    Measure,
    PassRates,
    Side,
    Standing,
    SweepComparison,
    Word,
)
from runner.report.tables import table_or_blocks
from runner.report.text import plain, plus_minus

SIGN_FLIP = "sign-flip permutation"
"""The method where there is no variance for t."""
MOST_PAIRS = 20
"""Pairs shown; the rest are in the CSV file and the DataFrame."""
_CONFIRMATION = {
    ConfirmationWord.CONFIRMED: "green",
    ConfirmationWord.CONTRADICTED: "red",
    ConfirmationWord.OPEN: "yellow",
}
_STYLES = {Word.BETTER: "green", Word.WORSE: "red", Word.EQUIVALENT: "cyan", Word.UNDECIDED: "yellow"}


def render_comparison(sweep: SweepComparison) -> ComparisonView:
    """What ``runner compare`` shows of one metric."""
    return ComparisonView(sweep)


class ComparisonView:
    """A rich renderable of one metric over all jobs; for two jobs the one pair in full."""

    def __init__(self, sweep: SweepComparison) -> None:
        self._sweep = sweep

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        sweep, width = self._sweep, options.max_width
        what = "pass rate" if sweep.measure == Measure.PASS_RATE else "mean"
        yield Text(f"{plain(sweep.metric, True)} ({what}, {plain(sweep.family, True)})", style="bold")
        if len(sweep.pairs) == 1:
            yield from _pair_in_full(sweep.pairs[0])
        else:
            yield from (Text(plain(sentence)) for sentence in sweep.sentences)
        yield table_or_blocks(_STANDING_HEADER, [_standing(one, sweep.measure) for one in sweep.standings], width)
        if len(sweep.pairs) > 1:
            shown = sorted(sweep.pairs, key=lambda pair: 2.0 if pair.p is None else pair.p)[:MOST_PAIRS]
            yield table_or_blocks(_PAIR_HEADER, [_pair(pair) for pair in shown], width, left=2)
            if len(sweep.pairs) > len(shown):
                yield Text(f"… and {len(sweep.pairs) - len(shown)} more pairs (write all of them with --csv FILE)")
        yield from (Text(plain(note), style="yellow") for note in _notes(sweep))
        if sweep.confirmation is not None:
            yield Text(plain(sweep.confirmation.sentence), style=_CONFIRMATION[sweep.confirmation.word])
            rows = [_pair(pair) for pair in sweep.confirmation.pairs[:MOST_PAIRS]]
            if rows:
                yield table_or_blocks(_PAIR_HEADER, rows, width, left=2)
        yield Text(
            "These are the judge's opinions; `runner calibrate` sets them against human labels."
            if not sweep.metric.startswith("retrieval/")
            else "Retrieval metrics count what the question set calls gold; no judge is in them.",
            style="dim",
        )


def _notes(sweep: SweepComparison) -> list[str]:
    """What to mind; with many pairs each different note once, with the first pair that it is about."""
    if len(sweep.pairs) == 1:
        return list(sweep.pairs[0].notes)
    first: dict[str, str] = {}
    for pair in sweep.pairs:
        for note in pair.notes:
            kind = re.sub(r"\d+(?:\.\d+)?", "N", note)
            first.setdefault(kind, f"{pair.a.name} against {pair.b.name}: {note}")
    return list(first.values())


def _pair_in_full(pair: Comparison) -> Iterator[Text]:
    yield Text(plain(pair.sentence), style=_STYLES[pair.verdict])
    if pair.p is not None:
        exact = "exact" if pair.permutation_exact else "sampled"
        first, second = f"p = {_p(pair.p)} ({pair.method})", ""
        if pair.method == SIGN_FLIP:
            first = f"p = {_p(pair.p)} ({pair.method}, {exact})"
        elif pair.p_permutation is not None:
            second = f"; sign-flip permutation p = {_p(pair.p_permutation)} ({exact})"
        yield Text(first + second)
    if pair.minimum_detectable is not None:
        yield Text(f"this design shows a true difference of {pair.minimum_detectable:.3g} with 80 % power")
    for side in (pair.a, pair.b):
        if side.distribution:
            counts = ", ".join(f"{plain(value, True)}: {count}" for value, count in side.distribution.items())
            yield Text(f"scores of {plain(side.name, True)}: {counts}")
    rates = pair.pass_rates
    if rates is not None:
        yield Text(
            f"passes: both {rates.both}, only the first {rates.only_a}, only the second {rates.only_b}, neither "
            f"{rates.neither}{_passes(pair, rates)}"
        )


def _passes(pair: Comparison, rates: PassRates) -> str:
    """The difference in passes with its interval and p, where they have not been said as the verdict's own."""
    if pair.measure == Measure.PASS_RATE:
        return ""
    difference = f"; difference {rates.difference * 100:+.1f} points"
    if pair.clusters < 2:
        return difference
    if pair.clusters == pair.questions:
        return f"{difference} {_interval(rates.interval, 100, 1)}, McNemar p = {_p(rates.p)}"
    if rates.clustered is None:
        return difference
    return f"{difference} {_interval(rates.clustered, 100, 1)}, p = {_p(rates.clustered_p)} (paired t, clustered)"


_STANDING_HEADER = (
    "job",
    "scored/asked",
    "n/a",
    "failed",
    "mean ± error",
    "pass rate",
    "may be best",
    "P(best)",
    "$/answer",
    "$/correct",
    "Pareto",
)


def _standing(one: Standing, measure: Measure) -> list[str]:
    side, counts = one.side, one.side.counts
    return [
        plain(side.name, True),
        f"{counts.scored}/{counts.asked}",
        str(counts.not_applicable or ""),
        f"{counts.failed} ({', '.join(f'{plain(r, True)} {n}' for r, n in counts.reasons.items())})"
        if counts.failed
        else "",
        "none" if side.mean is None else f"{side.mean:.3f}{plus_minus(side.standard_error, 3)}",
        "none" if side.pass_rate is None else f"{side.pass_rate:.1%} {_passing(side)}",
        "yes" if one.may_be_best else "",
        _chance(one),
        _money(one.cost_per_answer) if one.cost_per_answer else "",
        f"{_money(one.cost_per_correct)} {_interval(one.cost_per_correct_interval, 1, 6)}"
        if one.cost_per_answer
        else "",
        "front" if one.on_pareto_front and one.cost_per_answer else "",
    ]


def _passing(side: Side) -> str:
    """The interval, or the two extreme cases where scores failed: they are wider than what an interval says."""
    if side.pass_worst_case is None or side.pass_best_case is None:
        return _interval(side.pass_interval, 100, 1)
    return f"of {side.counts.scored}; {side.pass_worst_case:.1%} to {side.pass_best_case:.1%} of all"


def _chance(one: Standing) -> str:
    if one.probability_best is None:
        return ""
    highest = one.probability_best_highest
    return f"{one.probability_best:.2f}" + ("" if highest is None else f" to {highest:.2f}")


_PAIR_HEADER = (
    "job",
    "against",
    "questions",
    "difference",
    "95 %",
    "all at once",
    "p",
    "Holm",
    "BH",
    "shows",
    "verdict",
)


def _pair(pair: Comparison) -> list[str]:
    factor, digits = (100, 1) if pair.measure == Measure.PASS_RATE else (1, 3)
    units = pair.unit if pair.clusters == 1 else f"{pair.unit}s"
    clusters = "" if pair.clusters == pair.questions else f" ({pair.clusters} {units})"
    needed = "" if pair.questions_needed is None else f" (≈{pair.questions_needed:,})"
    return [
        plain(pair.a.name, True),
        plain(pair.b.name, True),
        f"{pair.questions}{clusters}",
        "" if pair.difference is None else f"{pair.difference * factor:+.{digits}f}",
        "identical" if pair.certain else _interval(pair.interval, factor, digits),
        _interval(pair.simultaneous, factor, digits),
        _p(pair.p),
        _p(pair.p_holm),
        _p(pair.p_bh),
        "" if pair.minimum_detectable is None else f"{pair.minimum_detectable * factor:.{digits}f}",
        f"{pair.verdict.value}{needed}",
    ]


def _interval(interval: Interval | None, factor: float, digits: int) -> str:
    return "" if interval is None else f"[{interval.low * factor:.{digits}f}, {interval.high * factor:.{digits}f}]"


def _p(p: float | None) -> str:
    if p is None:
        return ""
    return "<.0001" if p < 1e-4 else f"{p:.4f}"


def _money(amount: float | None) -> str:
    if amount is None:
        return ""
    return "$0" if amount == 0 else f"${amount:.2g}" if amount < 0.001 else f"${amount:.4f}"
