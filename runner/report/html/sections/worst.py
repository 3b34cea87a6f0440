"""The questions that the best job did worst on, its answer beside another one, with the differences marked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from runner.records import AnswerStatus, Record, RunResult, Score, VerdictStatus
from runner.report.html.differences import Piece, marked
from runner.report.html.figures import shown_value
from runner.report.html.given import ReportInput
from runner.report.html.parts import Section
from runner.report.html.sections.blame import WORDS

SHOWN = 8
MOST_CHARACTERS = 6_000
"""Of an answer here; the list of all questions shows more."""


@dataclass(frozen=True, slots=True)
class Shown:
    """One text of the comparison, with the values that it got."""

    title: str
    pieces: tuple[Piece, ...]
    left_out: int
    """Characters that are not shown."""
    scores: tuple[Score, ...]
    blame: str = ""
    empty: str = ""
    """What to say where there is no text."""


@dataclass(frozen=True, slots=True)
class Worst:
    """One question with two texts side by side."""

    id: str
    question: str
    reference: str
    columns: tuple[Shown, ...]


def worst(given: ReportInput) -> Section | None:
    leader = given.leader
    if leader is None:
        return None
    ranked = [(value, record) for record in leader.records if (value := normalised(record)) is not None and value < 1]
    ranked.sort(key=lambda one: one[0])
    if not ranked:
        return None
    others = {
        run.job_key: {record.question.id: record for record in run.records}
        for run in given.sweep.runs
        if run.job_key != leader.job_key
    }
    shown = tuple(_worst(given, leader, record, others) for _, record in ranked[:SHOWN])
    name = given.names[leader.job_key]
    whose, beside = f" of {name}", "what did better on them, or the reference answer"
    if not others:
        whose, beside = "", "the reference answer where there is one"
    text = f"The {len(shown)} questions with the lowest scores{whose}, beside {beside}."
    return Section(
        "worst",
        "Worst questions",
        template="worst.html",
        paragraphs=(f"{text} Words that only one side has are marked.",),
        more={"questions": shown, "scored": VerdictStatus.SCORED, "shown": shown_value},
    )


def normalised(record: Record) -> float | None:
    """The mean of all scores of a record, each on its scale from 0 to 1; ``None`` where nothing was scored."""
    values = []
    for score in record.scores.values():
        if score.value is None or score.status is not VerdictStatus.SCORED:
            continue
        low = 0.0 if score.lowest is None else score.lowest
        high = max(score.value, 1.0) if score.highest is None else score.highest
        values.append((score.value - low) / (high - low) if high > low else 1.0)
    return sum(values) / len(values) if values else None


def _worst(given: ReportInput, leader: RunResult, record: Record, others: Mapping[str, Mapping[str, Record]]) -> Worst:
    question = record.question
    ours = record.answer.text
    rivals = [
        (key, records[question.id])
        for key, records in others.items()
        if question.id in records and records[question.id].answer.text != ours
    ]
    reference = question.reference or ""
    title, theirs, rival = "reference answer", reference, None
    if rivals:
        key, rival = max(rivals, key=lambda one: -1.0 if (value := normalised(one[1])) is None else value)
        title, theirs = given.names[key], rival.answer.text
    left, right = _whole(ours), _whole(theirs)
    if ours and theirs:
        left, right = marked(ours[:MOST_CHARACTERS], theirs[:MOST_CHARACTERS])
    columns = [_shown(given.names[leader.job_key], left, ours, record)]
    if theirs or rival is not None:
        columns.append(_shown(title, right, theirs, rival))
    return Worst(question.id, question.text, "" if rival is None else reference, tuple(columns))


def _whole(text: str) -> tuple[Piece, ...]:
    return (Piece(text[:MOST_CHARACTERS], False),) if text else ()


def _shown(title: str, pieces: Sequence[Piece], text: str, record: Record | None) -> Shown:
    empty = "" if text or record is None else _why_empty(record)
    return Shown(
        title=title,
        pieces=tuple(pieces),
        left_out=max(0, len(text) - MOST_CHARACTERS),
        scores=() if record is None else tuple(record.scores.values()),
        blame="" if record is None else WORDS.get(record.blame, record.blame),
        empty=empty,
    )


def _why_empty(record: Record) -> str:
    if record.answer.status is AnswerStatus.FAILED:
        return f"no answer: {record.answer.detail or record.answer.reason}"
    return "the answer is empty"
