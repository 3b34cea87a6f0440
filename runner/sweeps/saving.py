"""``:save`` of ``ask``: one question appended to a question file in the format of its suffix."""

from __future__ import annotations

import csv
import io
import json
import os
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from runner.records import Question
from runner.text.surrogates import without_surrogates_within

COLUMNS = ("id", "question", "reference", "gold")
_DELIMITERS = {".csv": ",;\t", ".tsv": "\t,;"}


class NotSaved(Exception):
    """Why the question could not be added, as a sentence without the file's name; the file is as it was."""


def save_question(question: Question, path: Path) -> str:
    """Adds the question to the file and says so, or that it is there already.

    Raises NotSaved where the file's type is none of a question file, or its content not of that type; OSError where
    it cannot be read or written.
    """
    append = _FORMATS.get(path.suffix.lower())
    if append is None:
        raise NotSaved(f"no question file ends in {path.suffix or 'nothing'}; name a .jsonl, .json or .csv file")
    there = _text_of(path)
    row: dict[str, Any] = {"id": question.id, "question": question.text}
    if question.reference is not None:
        row["reference"] = question.reference
    if question.gold:
        row["gold"] = list(question.gold)
    whole, lost = append(there, without_surrogates_within(row), path)
    if whole is None:
        return f"{path} holds this question already"
    _write(path, whole)
    return f"saved to {path}" + (f", without {' and '.join(lost)}: it has no such column" if lost else "")


Appended = tuple[str | None, tuple[str, ...]]
"""The new content, ``None`` where it holds the question already, and what of the question has no place in it."""


def _text_of(path: Path) -> str:
    try:
        return path.read_bytes().decode("utf-8-sig") if path.exists() else ""
    except UnicodeDecodeError:
        raise NotSaved("is not UTF-8 text; save it as UTF-8, or name another file such as questions.jsonl") from None


def _lines(there: str, row: Mapping[str, Any], path: Path) -> Appended:
    for number, line in enumerate(there.split("\n"), 1):
        if not line.strip():
            continue
        held = _json(line)
        if not isinstance(held, dict):
            raise NotSaved(f"line {number} is no JSON object, so it is not a JSON Lines file; name another .jsonl file")
        if held.get("id") == row["id"]:
            return None, ()
    gap = "\n" if there and not there.endswith("\n") else ""
    return there + gap + json.dumps(row, ensure_ascii=False) + "\n", ()


def _list(there: str, row: Mapping[str, Any], path: Path) -> Appended:
    content = _json(there) if there.strip() else []
    lists = [value for value in content.values() if isinstance(value, list)] if isinstance(content, dict) else [content]
    if len(lists) != 1 or not isinstance(lists[0], list):
        raise NotSaved("holds no JSON list of questions; name another .json file, or a .jsonl file")
    if any(isinstance(held, dict) and held.get("id") == row["id"] for held in lists[0]):
        return None, ()
    lists[0].append(row)
    return json.dumps(content, ensure_ascii=False, indent=2) + "\n", ()


def _table(there: str, row: Mapping[str, Any], path: Path) -> Appended:
    delimiters = _DELIMITERS[path.suffix.lower()]
    if not there.strip():
        return _csv_line(COLUMNS, delimiters[0]) + _csv_line(_cells(COLUMNS, row), delimiters[0]), ()
    delimiter, rows = _read_table(there, delimiters)
    header = [cell.strip() for cell in rows[0]]
    if "id" in header and any(cells[header.index("id") :][:1] == [row["id"]] for cells in rows[1:]):
        return None, ()
    # Without a column of its own, the id is made from the question when the file is read.
    lost = tuple(name for name in row if name not in header and name != "id")
    end = "\r\n" if "\r\n" in there else "\n"
    gap = "" if there.endswith(("\n", "\r")) else end
    return there + gap + _csv_line(_cells(header, row), delimiter, end), lost


def _read_table(text: str, delimiters: str) -> tuple[str, list[list[str]]]:
    for delimiter in delimiters:
        try:
            rows = [row for row in csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True) if row]
        except csv.Error as error:
            raise NotSaved(f"is not valid CSV ({error}); name another file such as questions.jsonl") from None
        if rows and "question" in [cell.strip() for cell in rows[0]]:
            return delimiter, rows
    raise NotSaved("has no column question in its first line; name another .csv file, or a .jsonl file")


def _cells(header: list[str] | tuple[str, ...], row: Mapping[str, Any]) -> list[str]:
    values = (row.get(name, "") for name in header)
    return [json.dumps(value, ensure_ascii=False) if isinstance(value, list) else str(value) for value in values]


def _csv_line(cells: list[str] | tuple[str, ...], delimiter: str, end: str = "\n") -> str:
    file = io.StringIO(newline="")
    csv.writer(file, delimiter=delimiter, lineterminator=end).writerow(cells)
    return file.getvalue()


def _json(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _write(path: Path, text: str) -> None:
    """All of it or nothing: a full disk must not cost the questions that were there."""
    target = path.resolve()
    handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    temporary = Path(name)
    try:
        with os.fdopen(handle, "w", encoding="utf-8", newline="") as file:
            file.write(text)
        _keep_mode(target, temporary)
        temporary.replace(target)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def _keep_mode(target: Path, temporary: Path) -> None:
    if target.exists():
        mode = target.stat().st_mode
    else:
        mask = os.umask(0)
        os.umask(mask)
        mode = 0o666 & ~mask
    temporary.chmod(mode & 0o777)


_FORMATS = {".jsonl": _lines, ".ndjson": _lines, ".json": _list, ".csv": _table, ".tsv": _table}
