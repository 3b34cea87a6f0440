"""Writes what was drawn as a CSV file for a spreadsheet or a terminal, and reads the labels back.

Nothing in the file tells which run an answer is from or what the judge said of it.
"""

from __future__ import annotations

import csv
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from runner.errors import ConfigurationError, Problem, StorageError
from runner.records import Record, RunResult
from runner.statistics.sampling import Draw, contexts_of

COLUMNS = ("item", "question", "reference", "context", "answer", "label", "note", "sample")
SKIP = "?"
"""A label that says "I cannot tell"."""
_FORMULA = ("=", "+", "-", "@", "\t", "\r")
_HIGH, _LOW = (
    ("good", "yes", "true", "pass", "correct", "relevant"),
    ("bad", "no", "false", "fail", "wrong", "non_relevant"),
)


@dataclass(frozen=True, slots=True)
class Scale:
    """What a label may be."""

    words: Mapping[str, float]
    """Lower-case word → number."""
    lowest: float | None
    highest: float | None
    pass_at: float | None

    @property
    def shown(self) -> str:
        """The choices in words, for whoever labels."""
        if self.lowest is None or self.highest is None:
            return "a number"
        numbers = f"{self.lowest:g} to {self.highest:g}"
        return f"{', '.join(self.words)} or {numbers}" if self.words else numbers


@dataclass(frozen=True, slots=True)
class LabelFile:
    """One person's labels."""

    name: str
    stamp: str
    labels: Mapping[str, float]
    """Item → number; only those labelled."""
    skipped: frozenset[str]
    """Items marked as not to be told."""
    unlabelled: frozenset[str]
    texts: Mapping[str, tuple[str, str]]
    """Item → question and answer, as the file has them: joins labels that were not drawn by this tool."""


def scale_of(runs: Sequence[RunResult], judge: str) -> Scale:
    """The judge's scale, from the scores that the runs hold.

    Raises
    ------
    ConfigurationError
        No run has the judge.
    """
    scores = [record.scores[judge] for run in runs for record in run.records if judge in record.scores]
    if not scores:
        known = ", ".join(sorted({name for run in runs for record in run.records for name in record.scores})) or "none"
        raise ConfigurationError(f"judge {judge!r}: no run has it; the runs have: {known}")
    words = {
        score.label.lower(): score.value for score in scores if score.label is not None and score.value is not None
    }
    ends = next(((s.lowest, s.highest) for s in scores if s.lowest is not None and s.highest is not None), (None, None))
    if words and ends[0] is not None and ends[1] is not None:
        words = {**dict.fromkeys(_LOW, ends[0]), **dict.fromkeys(_HIGH, ends[1]), **words}
    return Scale(words, ends[0], ends[1], next((s.pass_at for s in scores if s.pass_at is not None), None))


def rows_of(draw: Draw) -> list[dict[str, str]]:
    """One row for each distinct answer drawn, in the order drawn, not labelled yet."""
    first: dict[str, Record] = {}
    for unit in draw.units:
        first.setdefault(unit.item, unit.record)
    return [
        {
            "item": item,
            "question": _cell(record.question.text),
            "reference": _cell(record.question.reference or ""),
            "context": _cell("\n\n".join(contexts_of(record))),
            "answer": _cell(record.answer.text),
            "label": "",
            "note": "",
            "sample": draw.stamp,
        }
        for item, record in first.items()
    ]


def write_rows(path: Path, rows: Sequence[Mapping[str, str]]) -> None:
    """Write the file as a whole; whoever reads it never sees half of it."""
    temporary = path.with_name(path.name + ".tmp")
    try:
        with temporary.open("w", encoding="utf-8-sig", newline="") as file:
            writer = csv.DictWriter(file, COLUMNS)
            writer.writeheader()
            writer.writerows(rows)
        os.replace(temporary, path)
    except OSError as error:
        raise StorageError(f"{path}: cannot be written ({error.strerror}); choose another with --file") from error


def read_rows(path: Path) -> list[dict[str, str]]:
    """The rows of a label file. Raises ConfigurationError where it is none."""
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            rows = list(csv.DictReader(file))
    except OSError as error:
        raise ConfigurationError(
            f"{path}: cannot be read ({error.strerror}); give the file that `label` wrote"
        ) from error
    except UnicodeDecodeError as error:
        raise ConfigurationError(f"{path}: is not UTF-8; save it as CSV UTF-8") from error
    columns = set(rows[0]) if rows else set()
    if "label" not in columns or not ("item" in columns or {"question", "answer"} <= columns):
        raise ConfigurationError(
            f"{path}: needs rows with a column `label` and `item` (as `label` writes it), or `question` and `answer`"
        )
    return [{name: row.get(name) or "" for name in COLUMNS} for row in rows]


def read_labels(path: Path, scale: Scale) -> LabelFile:
    """One person's labels; every label that the scale does not know is listed in the error."""
    labels: dict[str, float] = {}
    texts: dict[str, tuple[str, str]] = {}
    skipped, unlabelled, stamps = set(), set(), set()
    problems = []
    for number, row in enumerate(read_rows(path), 2):
        question, answer = _text(row["question"]), _text(row["answer"])
        text, item = row["label"].strip(), row["item"].strip() or f"{question}\x1f{answer}"
        texts[item] = question, answer
        stamps.add(row["sample"].strip())
        if not text:
            unlabelled.add(item)
        elif text == SKIP:
            skipped.add(item)
        else:
            value = number_of(text, scale)
            if value is None:
                problems.append(
                    Problem(f"{path} row {number}", f"label {text!r} is not on the scale", f"give {scale.shown}")
                )
            else:
                labels[item] = value
    if problems:
        raise ConfigurationError(problems)
    stamp = stamps.pop() if len(stamps) == 1 else ""
    return LabelFile(path.stem, stamp, labels, frozenset(skipped), frozenset(unlabelled), texts)


def number_of(text: str, scale: Scale) -> float | None:
    """The number of a label; ``None`` where the scale does not know it."""
    word = text.strip().lower()
    if word in scale.words:
        return scale.words[word]
    try:
        value = float(word.replace(",", "."))
    except ValueError:
        return None
    if scale.lowest is not None and scale.highest is not None and not scale.lowest <= value <= scale.highest:
        return None
    return value if value == value else None  # noqa: PLR0124 (not a number is no label)


def _cell(text: str) -> str:
    """A cell that no spreadsheet takes for a formula."""
    return "'" + text if text.startswith(_FORMULA) else text


def _text(cell: str) -> str:
    return cell[1:] if cell.startswith("'") and cell[1:].startswith(_FORMULA) else cell
