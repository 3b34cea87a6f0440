"""The comparison of the jobs: sentences first, then where each job stands, then the pairs."""

from __future__ import annotations

from runner.findings import Comparison, Measure, Side, Standing, SweepComparison, Word
from runner.report.html.figures import counted, interval, number, percent, probability, reasons, usd
from runner.report.html.given import ReportInput
from runner.report.html.parts import Cell, Section, Table, table
from runner.report.text import plus_minus

MOST_PAIRS = 60
"""Pairs shown of one metric; ``runner compare --csv`` writes all of them."""
_TONES = {Word.BETTER: "good", Word.WORSE: "bad", Word.EQUIVALENT: "same", Word.UNDECIDED: "warn"}


def comparison(given: ReportInput) -> Section | None:
    if not given.comparisons:
        return None
    groups = [
        {"title": one.metric, "sentences": sentences_of(one), "tables": _tables(one), "notes": _notes(one)}
        for one in given.comparisons
    ]
    foot = (
        "Better and worse follow the corrected p (Holm, over all pairs of the metric); equivalent means that the whole "
        "interval lies within the margin; undecided says about how many questions would decide.",
        "Scores are the judges' opinions; runner calibrate sets them against human labels.",
    )
    return Section("comparison", "Comparison", template="comparison.html", paragraphs=foot, more={"groups": groups})


def sentences_of(sweep: SweepComparison) -> tuple[str, ...]:
    """What to take home of one metric, the most important first."""
    return (sweep.pairs[0].sentence,) if len(sweep.pairs) == 1 else sweep.sentences


def _tables(sweep: SweepComparison) -> tuple[Table, ...]:
    what = "pass rate" if sweep.measure is Measure.PASS_RATE else "mean"
    standings = table(
        f"Where each job stands on {sweep.metric} ({what})",
        (
            "job",
            "scored",
            "not applicable",
            "failed",
            "reasons",
            "mean",
            "pass rate",
            "may be the best",
            "probability best",
            "$ an answer",
            "$ a correct answer",
            "Pareto front",
        ),
        [_standing(one) for one in sweep.standings],
    )
    shown = sorted(sweep.pairs, key=lambda pair: 2.0 if pair.p is None else pair.p)[:MOST_PAIRS]
    hidden = len(sweep.pairs) - len(shown)
    more = f"; the {len(shown)} with the smallest p of {len(sweep.pairs)}" if hidden else ""
    pairs = table(
        f"{sweep.metric}: {sweep.family}, the first job minus the second, on the questions that both scored{more}",
        (
            "job",
            "against",
            "verdict",
            "questions",
            "difference",
            "95 % interval",
            "interval of all together",
            "p",
            "p (Holm)",
            "smallest difference it shows",
            "worst cases of what failed",
        ),
        [_pair(pair) for pair in shown],
        texts=3,
    )
    return standings, pairs


def _standing(one: Standing) -> list[Cell | str]:
    side, counts = one.side, one.side.counts
    error = plus_minus(side.standard_error, 3)
    return [
        Cell(side.name),
        f"{counts.scored} of {counts.asked}",
        str(counts.not_applicable or ""),
        str(counts.failed or ""),
        reasons(counts.reasons),
        "none" if side.mean is None else f"{side.mean:.3f}{error}",
        Cell(percent(side.pass_rate), note=_passing(side)),
        "yes" if one.may_be_best else "",
        _chance(one),
        usd(one.cost_per_answer),
        Cell(
            usd(one.cost_per_correct),
            note=interval(one.cost_per_correct_interval, 1, 6) if one.cost_per_correct else "",
        ),
        "yes" if one.on_pareto_front and one.cost_per_answer else "",
    ]


def _passing(side: Side) -> str:
    if side.pass_worst_case is None or side.pass_best_case is None:
        return interval(side.pass_interval, 100, 1)
    return f"{percent(side.pass_worst_case)} to {percent(side.pass_best_case)} with what failed"


def _chance(one: Standing) -> str:
    if one.probability_best_highest is None:
        return number(one.probability_best, 2)
    return f"{number(one.probability_best, 2)} to {number(one.probability_best_highest, 2)}"


def _pair(pair: Comparison) -> list[Cell | str]:
    factor, digits = (100.0, 1) if pair.measure is Measure.PASS_RATE else (1.0, 3)
    clusters = "" if pair.clusters == pair.questions else counted(pair.clusters, pair.unit)
    needed = "" if pair.questions_needed is None else f"about {pair.questions_needed:,} questions would decide"
    difference = None if pair.difference is None else pair.difference * factor
    detectable = None if pair.minimum_detectable is None else pair.minimum_detectable * factor
    return [
        Cell(pair.a.name),
        Cell(pair.b.name),
        Cell(pair.verdict.value, note=needed, tone=_TONES[pair.verdict]),
        Cell(str(pair.questions), note=clusters),
        number(difference, digits, sign=True),
        "identical" if pair.certain else interval(pair.interval, factor, digits),
        interval(pair.simultaneous, factor, digits),
        Cell(probability(pair.p), note=pair.method if pair.p is not None else ""),
        probability(pair.p_holm),
        number(detectable, digits),
        _bounds(pair, factor, digits),
    ]


def _bounds(pair: Comparison, factor: float, digits: int) -> str:
    bounds = pair.bounds
    if bounds is None:
        return ""
    return f"{bounds.lowest * factor:+.{digits}f} to {bounds.highest * factor:+.{digits}f}"


def _notes(sweep: SweepComparison) -> tuple[str, ...]:
    return tuple(dict.fromkeys(note for pair in sweep.pairs for note in pair.notes))[:10]
