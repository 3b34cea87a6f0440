"""The review file between drafted questions and a question set: a CSV in which a human accepts or strikes out."""

from __future__ import annotations

import csv
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from runner.errors import ConfigurationError, Problem
from runner.knowledge.drafting import Draft
from runner.knowledge.reading import Row, Unreadable, as_text, read_rows

COLUMNS = ("accept", "id", "question", "reference", "gold", "answerable", "evidence", "flags")
UNDECIDED = "?"
_ACCEPTED = frozenset({"yes", "y", "x", "1", "true"})
_STRUCK = frozenset({"no", "n", "0", "false", "-"})


@dataclass(frozen=True, slots=True)
class Reviewed:
    """What became of the rows of a review file."""

    accepted: int
    struck: int
    undecided: int


def write_review(drafts: Sequence[Draft], path: Path) -> None:
    """Write the drafts, all undecided, for a spreadsheet. Refuses to overwrite: somebody's decisions may be in it."""
    try:
        # utf-8-sig: without the mark, spreadsheets take the file for another encoding.
        with path.open("x", encoding="utf-8-sig", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(COLUMNS)
            for draft in drafts:
                asked = draft.question
                answerable = "true" if asked.answerable else "false"
                gold = json.dumps(list(asked.gold), ensure_ascii=False) if asked.gold else ""
                row = (UNDECIDED, asked.id, asked.text, asked.reference or "", gold, answerable)
                writer.writerow([*row, draft.evidence, "; ".join(draft.flags)])
    except FileExistsError as error:
        problem = Problem(str(path), "exists already and may hold your decisions", "name another file or remove it")
        raise ConfigurationError([problem]) from error
    except OSError as error:
        raise ConfigurationError([Problem(str(path), f"cannot be written ({error.strerror})")]) from error


def accept_review(path: Path, output: Path) -> Reviewed:
    """Write the accepted rows as a question set (JSON Lines). Raises ``ConfigurationError`` with every bad row."""
    problems: list[Problem] = []
    try:
        rows = read_rows(path, "csv", "question", problems)
    except Unreadable as error:
        raise ConfigurationError([error.problem]) from error
    lines: list[str] = []
    undecided = struck = 0
    for row in rows:
        decision = (as_text(row.values.get("accept")) or "").strip().lower()
        if decision in ("", UNDECIDED):
            undecided += 1
        elif decision in _STRUCK:
            struck += 1
        elif decision not in _ACCEPTED:
            problems.append(Problem(row.where, f"accept is {decision!r}", "write yes or no"))
        elif as_text(row.values.get("question")) is None:
            problems.append(Problem(row.where, "is accepted but has no question"))
        else:
            lines.append(_line(row))
    if not problems and not lines:
        problems.append(Problem(path.name, "accepts no question", "write yes into the column accept"))
    if problems:
        raise ConfigurationError(problems)
    output.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return Reviewed(len(lines), struck, undecided)


def _line(row: Row) -> str:
    text = {name: as_text(row.values.get(name)) for name in COLUMNS}
    kept: dict[str, object] = {name: text[name] for name in ("id", "question", "reference") if text[name] is not None}
    kept["gold"] = text["gold"] or ""
    kept["answerable"] = text["answerable"] or ""
    if text["evidence"]:
        kept["evidence"] = text["evidence"]
    return json.dumps(kept, ensure_ascii=False)
