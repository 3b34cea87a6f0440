"""The verdicts in words, for the terminal, the report and whoever reads only one line."""

from __future__ import annotations

from dataclasses import dataclass

from runner.findings import Bounds, Interval, Measure, Word
from runner.statistics.pairs import LeftOut
from runner.statistics.verdicts import Inference


@dataclass(frozen=True, slots=True)
class Subject:
    """Who is compared on what."""

    a: str
    b: str
    what: str
    measure: Measure
    unit: str
    """What a cluster is, in one word: document, question, or a metadata field."""
    blocked: str = ""
    """What keeps the verdict open although the scores would decide; empty where nothing does."""
    certain: str = ""
    """Why two runs cannot differ here; empty where they could."""


def verdict_sentence(subject: Subject, found: Inference, word: Word, margin: float | None, needed: int | None) -> str:
    """One sentence about A and B."""
    a, b, what, measure = subject.a, subject.b, subject.what, subject.measure
    if found.questions == 0:
        return f"{a} and {b} cannot be compared on {what}: no question was scored in both."
    if found.clusters < 2:
        return (
            f"{a} and {b} cannot be compared on {what}: the {plural(found.questions, 'question')} scored in both "
            f"{'is' if found.questions == 1 else 'are'} "
            f"of {plural(found.clusters, subject.unit)}, and an interval needs at least two."
        )
    shown = change(found.difference, measure)
    doubt = interval_text(found.interval, measure)
    base = questions_of(found.questions, found.clusters, subject.unit)
    if word in (Word.BETTER, Word.WORSE):
        small = ""
        if margin is not None and found.interval is not None and found.interval.inside(margin):
            small = f"; the difference is real but within the margin of {amount(margin, measure)}"
        by = change(abs(found.difference), measure, sign=False)
        return f"{a} is {word.value} than {b} on {what} by {by}{doubt}, {base}{small}."
    if word == Word.EQUIVALENT:
        if found.difference == 0 and found.interval == Interval(0.0, 0.0):
            why = f" ({subject.certain}), {base}" if subject.certain else f": {_same(subject, found)} ({base})"
            return f"{a} and {b} are equivalent on {what}{why}."
        limit = "" if margin is None else f" within the margin of {amount(margin, measure)}"
        return f"{a} and {b} are equivalent on {what}{limit}: {shown}{doubt}, {base}."
    more = subject.blocked or (
        "more questions alone would not decide" if needed is None else f"about {needed:,} questions would decide"
    )
    seen = f"{shown}{doubt}, {base}"
    if found.difference == 0 and found.unvaried is not None:
        seen = f"{_same(subject, found)}, but {base} do not rule out a difference{doubt}"
    return f"Undecided whether {a} or {b} is better on {what}: {seen}; {more}."


def _same(subject: Subject, found: Inference) -> str:
    if found.unvaried is not None and not found.unvaried.alike:
        return f"the differences within every {subject.unit} cancel out"
    if subject.measure == Measure.PASS_RATE:
        return "every question passed in both or failed in both"
    return "every question got the same score from both"


def bounds_sentence(bounds: Bounds, what: str, measure: Measure) -> str:
    """Why failed scores or missing answers keep a comparison undecided."""
    return (
        f"{what} could turn the verdict: the difference is {change(bounds.lowest, measure)} "
        f"({bounds.word_lowest.value}) if they count against the first run and {change(bounds.highest, measure)} "
        f"({bounds.word_highest.value}) if they count for it; repeat what failed."
    )


def open_text(left: LeftOut, count: int) -> str:
    """``4 failed scores``, ``2 missing answers`` or ``5 failed scores and missing answers``."""
    if not any(left.no_answer):
        return plural(count, "failed score")
    if not any(left.failed):
        return plural(count, "missing answer")
    return f"{count:,} failed scores and missing answers"


def left_out_sentence(left: LeftOut, compared: int, names: tuple[str, str], only: tuple[int, int], metric: str) -> str:
    """How many of the questions are not in the comparison, and why; empty where all are."""
    missing = left.asked - compared
    if missing <= 0:
        return ""
    parts = []
    for counts, what in ((left.no_answer, "without an answer"), (left.failed, "without a verdict")):
        parts += [f"{count:,} {what} in {name}" for count, name in zip(counts, names, strict=True) if count]
    parts += [f"{left.not_applicable:,} to which {metric} does not apply"] if left.not_applicable else []
    parts += [f"{count:,} not asked in {name}" for count, name in zip(only, reversed(names), strict=True) if count]
    return (
        f"{missing:,} of {plural(left.asked, 'question')} {'was' if missing == 1 else 'were'} left out: "
        f"{', '.join(parts)}."
    )


def change(value: float, measure: Measure, sign: bool = True) -> str:
    """A difference as it is shown: points for pass rates, three significant decimals for means."""
    mark = "+" if sign else ""
    if measure == Measure.PASS_RATE:
        return f"{value * 100:{mark}.1f} points"
    return f"{value:{mark}.3f}"


def amount(value: float, measure: Measure) -> str:
    """A margin or a half-width without a sign."""
    return f"{value * 100:g} points" if measure == Measure.PASS_RATE else f"{value:g}"


def interval_text(interval: Interval | None, measure: Measure) -> str:
    """``(95 % interval +0.1 to +0.3)``, or why there is none."""
    if interval is None:
        return " (the same throughout, so there is no variance to make an interval from)"
    factor = 100 if measure == Measure.PASS_RATE else 1
    digits = 1 if measure == Measure.PASS_RATE else 3
    return f" (95 % interval {interval.low * factor:+.{digits}f} to {interval.high * factor:+.{digits}f})"


def questions_of(questions: int, clusters: int, unit: str) -> str:
    """``12 questions of 4 documents``; the clusters only where they are not the questions themselves."""
    base = plural(questions, "question")
    return base if clusters == questions else f"{base} of {plural(clusters, unit)}"


def plural(count: int, noun: str) -> str:
    """``1 question``, ``2 questions``."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"
