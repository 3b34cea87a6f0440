"""Configuration of a question set → its questions, or one error that lists everything that is wrong with them."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from runner.config import paths
from runner.config.schema import QuestionFields, Questions
from runner.errors import ConfigurationError, Problem
from runner.knowledge.cells import gap_in, has, ids_in, passages_in, quotes_in, said_in, text_in, way
from runner.knowledge.question_ids import answered_ids, hashed_id
from runner.knowledge.reading import Row, Unreadable, as_text, read_rows, value_at
from runner.knowledge.sampling import draw
from runner.knowledge.windows import in_window
from runner.records import Question, RecordedAnswer

_log = logging.getLogger(__name__)
_SUFFIXES = {".csv": "csv", ".tsv": "csv", ".json": "json", ".jsonl": "jsonl", ".ndjson": "jsonl"}
_TRUE = frozenset({"true", "yes", "y", "1"})
_FALSE = frozenset({"false", "no", "n", "0"})
_COLUMNS = ("id", "text", "reference", "gold", "evidence", "answerable", "answer", "contexts", "time")
_RECORDED_GOLD = "document"
"""What the shape of recorded answers calls the gold; a log of a service has none, and so may lack the column."""


def load_questions(cfg: Questions, seed: int) -> tuple[Question, ...]:
    """The questions of a set in the order of its file, after the time window, ``sample`` or ``fraction`` (drawn with
    ``seed``) and ``limit``.

    Rows that repeat an earlier row word for word are left out, with a warning that names them. A row without an
    id column gets an id made from its content, so that a question keeps its id when rows are added above it; where
    answers are recorded, from the question alone, so that two systems' answers to it are paired (``answered_ids``).
    Raises ``ConfigurationError`` with every problem of the file.
    """
    problems: list[Problem] = []
    rows = _rows(cfg, problems)
    rows = in_window(rows, cfg, problems)
    read = [pair for row in rows if (pair := _question(row, cfg.fields, problems)) is not None]
    questions = _with_ids(list(_distinct(read, cfg.name, problems)))
    if not questions and not problems:
        window = "" if cfg.since is None and cfg.until is None else " was asked between questions.since and until"
        problems.append(Problem("questions.path", f"no question in {cfg.path}{window}"))
    if cfg.strata and questions and not any(cfg.strata in question.metadata for question in questions):
        remedy = "name one of questions.fields.metadata"
        problems.append(Problem("questions.strata", f"no question has the field {cfg.strata}", remedy))
    if problems:
        raise ConfigurationError(problems)
    sample = cfg.sample if cfg.fraction is None else max(1, round(cfg.fraction * len(questions)))
    if sample is not None:
        questions = draw(questions, sample, seed, cfg.strata)
    return tuple(questions if cfg.limit is None else questions[: cfg.limit])


def _rows(cfg: Questions, problems: list[Problem]) -> list[Row]:
    found = paths.find(cfg.path)
    if found is None or not found.is_file():
        looked = ", ".join(str(folder) for folder in paths.search_folders())
        what = f"{cfg.path} does not exist" if found is None else f"{cfg.path} is not a file"
        problems.append(Problem("questions.path", what, f"looked in {looked}"))
        return []
    kind = _SUFFIXES.get(found.suffix.lower(), "") if cfg.format == "auto" else cfg.format
    if not kind:
        what = f"{found.name} has an unknown file type"
        problems.append(Problem("questions.path", what, "use .csv, .json or .jsonl, or set questions.format"))
        return []
    try:
        rows = read_rows(found, kind, cfg.fields.text, problems)
    except Unreadable as error:
        problems.append(error.problem)
        return []
    missing = list(_missing_columns(rows, cfg.fields, found.name))
    problems.extend(missing)
    return [] if missing else rows  # a wrong name would be a problem of every single row


def _missing_columns(rows: Sequence[Row], fields: QuestionFields, name: str) -> Iterator[Problem]:
    """A column that the user named must exist; those that are only our default names may be absent."""
    if not rows:
        return
    present = sorted({str(column) for row in rows for column in row.values})
    default = QuestionFields()
    for key in _COLUMNS:
        column = getattr(fields, key)
        if column is None or any(has(row, column) for row in rows):
            continue
        if key == "gold" and fields.answer is not None and column == _RECORDED_GOLD:
            _log.warning(
                "%s has no column %s: no question has gold documents, so retrieval is not measured.", name, column
            )
        elif key == "text" or column != getattr(default, key):
            without = "" if key == "text" else f", or questions.fields.{key}=null if there is none"
            remedy = f"set questions.fields.{key} to the column that holds it{without}"
            yield Problem(name, f"has no column {column} ({way(rows, column, present)})", remedy)
    for column in fields.metadata:
        if not any(has(row, column) for row in rows):
            yield Problem(
                name, f"has no column {column} ({way(rows, column, present)})", "mend questions.fields.metadata"
            )


def _question(row: Row, fields: QuestionFields, problems: list[Problem]) -> tuple[Row, Question] | None:
    before = len(problems)
    columns = [(getattr(fields, key), f"questions.fields.{key}") for key in _COLUMNS]
    columns += [(column, "questions.fields.metadata") for column in fields.metadata]
    problems.extend(gap for column, option in columns if (gap := gap_in(row, column, option)) is not None)
    text = text_in(row, fields.text, "questions.fields.text", problems)
    if text is None and len(problems) == before:
        problems.append(Problem(row.where, f"is a question without text ({fields.text} is empty)"))
    reference = text_in(row, fields.reference, "questions.fields.reference", problems)
    gold = ids_in(row, fields.gold, "questions.fields.gold", problems)
    evidence = quotes_in(row, fields.evidence, "questions.fields.evidence", problems)
    recorded = _recorded(row, fields, problems)
    if text is None or len(problems) > before:
        return None
    identity = as_text(value_at(row, fields.id))
    if identity is None and fields.id is not None and value_at(row, fields.id) is not None:
        problems.append(Problem(row.where, f"has an id that is neither text nor number ({fields.id})"))
        return None
    answerable = _truth(value_at(row, fields.answerable))
    if isinstance(answerable, str):
        problems.append(Problem(row.where, f"{fields.answerable} is {answerable!r}", "write true or false"))
        return None
    if answerable is False and gold:
        what = f"is marked as not answerable but names gold documents ({', '.join(gold)})"
        problems.append(Problem(row.where, what, "remove one of the two"))
        return None
    metadata = {name: value for name in fields.metadata if (value := value_at(row, name)) is not None}
    if not identity and fields.answer is None:
        identity = hashed_id([text, reference, gold, None, metadata])
    return row, Question(
        id=identity.strip() if identity else "",
        text=text.strip(),
        reference=reference.strip() if reference else None,
        gold=gold,
        answerable=True if gold else answerable,
        recorded=recorded,
        metadata=metadata,
        evidence=evidence,
    )


def _recorded(row: Row, fields: QuestionFields, problems: list[Problem]) -> RecordedAnswer | None:
    """The recorded answer; an empty JSON string is an answer (an empty one), a blank cell is none."""
    if value_at(row, fields.answer) is None:
        return None
    answer = said_in(row, fields.answer, "questions.fields.answer", problems)
    contexts = passages_in(row, fields.contexts, "questions.fields.contexts", problems)
    return None if answer is None else RecordedAnswer(answer, contexts)


def _with_ids(questions: list[Question]) -> list[Question]:
    """The questions, those of recorded answers that bring no id named by what they ask."""
    nameless = [question for question in questions if not question.id]
    made = iter(answered_ids(nameless, frozenset(question.id for question in questions)))
    return [question if question.id else replace(question, id=next(made)) for question in questions]


def _truth(value: Any) -> bool | str | None:
    """True, false, ``None`` for a blank, or the value itself as a text where it is none of these."""
    if value is None or isinstance(value, bool):
        return value
    word = str(value).strip().lower()
    if word in _TRUE:
        return True
    return False if word in _FALSE else str(value)


def _distinct(read: Iterable[tuple[Row, Question]], name: str, problems: list[Problem]) -> Iterator[Question]:
    by_id: dict[str, Row] = {}
    by_content: dict[str, Row] = {}
    repeats: list[str] = []
    for row, question in read:
        content = json.dumps(
            [
                question.text,
                question.reference,
                question.gold,
                question.recorded and [question.recorded.text, question.recorded.contexts],
                dict(question.metadata),
            ],
            sort_keys=True,
            default=str,
        )
        if content in by_content:
            repeats.append(f"{row.where} repeats {by_content[content].where}")
        elif question.id and question.id in by_id:
            what = f"has the question id {question.id}, as {by_id[question.id].where} has"
            problems.append(Problem(row.where, what, "give every question an id of its own"))
        else:
            by_content[content] = by_id[question.id] = row
            yield question
    if repeats:
        _log.warning("%s: %d repeated questions are left out: %s", name, len(repeats), "; ".join(repeats))
