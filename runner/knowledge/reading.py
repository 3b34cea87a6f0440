"""Bytes of a file → text or rows, with every fault named by file and row. Knows nothing of documents or questions."""

from __future__ import annotations

import codecs
import csv
import io
import json
import logging
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from runner.errors import Problem
from runner.json_paths import NotThere, kind, select
from runner.text import without_surrogates, without_surrogates_within

_log = logging.getLogger(__name__)
_NAMED = 5
"""So many rows of one file are named in a warning; the rest is counted."""
_HALF = "half a character, such as a cut emoji leaves (a lone surrogate); U+FFFD is read in its place"
_DELIMITERS = (",", ";", "\t")
_CELL_LIMIT = 2**31 - 1
"""The csv module's own limit of 131,072 characters is less than one long document."""


class Unreadable(Exception):
    """A file that cannot be read at all; carries the problem to show."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(str(problem))
        self.problem = problem


@dataclass(frozen=True, slots=True)
class Row:
    """One row of a table: the values by column, blank cells as ``None``."""

    where: str
    """``faq.csv row 12``, counted as a spreadsheet does (the header is row 1), or ``faq.jsonl line 12``."""
    number: int
    """1-based place among the rows with data."""
    values: Mapping[str, Any]


def read_text(path: Path) -> str:
    """The text of a file: UTF-8 with or without a byte order mark, or UTF-16 with one; line ends become ``\\n``.

    Raises ``Unreadable`` where the file is missing, may not be read, or has another encoding.
    """
    return decode(read_bytes(path), path.name).replace("\r\n", "\n").replace("\r", "\n")


def read_bytes(path: Path) -> bytes:
    """The bytes of a file; raises ``Unreadable`` where there are none to be had."""
    try:
        return path.read_bytes()
    except OSError as error:
        raise Unreadable(Problem(str(path), f"cannot be read ({error.strerror or error})")) from error


def decode(data: bytes, name: str) -> str:
    """Text of bytes by their byte order mark, else as UTF-8. No guessing: a wrong guess changes what is judged."""
    encoding = "utf-16" if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)) else "utf-8-sig"
    try:
        return data.decode(encoding)
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        what = f"is not UTF-8 text (byte 0x{data[error.start]:02x} in line {line})"
        raise Unreadable(Problem(name, what, "save the file as UTF-8")) from error


def read_rows(path: Path, kind: str, column: str, problems: list[Problem]) -> list[Row]:
    """The rows of a ``csv``, ``json`` or ``jsonl`` file; rows that cannot be read are added to ``problems``.

    ``column`` is the column that must be there: it tells which delimiter a CSV file uses.
    Raises ``Unreadable`` where the file as a whole cannot be read.
    """
    text = decode(read_bytes(path), path.name)
    readers = {"csv": _csv_rows, "json": _json_rows, "jsonl": _jsonl_rows}
    return whole_rows(readers[kind](text, path.name, column, problems), path.name)


def whole_rows(rows: Iterable[Row], name: str) -> list[Row]:
    """The rows without halves of characters: JSON can spell them (``"\\ud83d"``), but nothing can write or judge them.

    They become U+FFFD, with one warning for the file ``name`` that counts the rows and names the first of them.
    """
    mended: list[Row] = []
    halved: list[str] = []
    for row in rows:
        values = without_surrogates_within({key: _whole_value(value) for key, value in row.values.items()})
        if values == row.values:
            mended.append(row)
        else:
            halved.append(row.where)
            mended.append(replace(row, values=values))
    _warn_of_halves(name, halved)
    return mended


def whole_text(text: str, name: str) -> str:
    """A text of the file ``name`` without halves of characters, with a warning where there were some."""
    mended = without_surrogates(text)
    if mended != text:
        _log.warning("%s holds %s", without_surrogates(name), _HALF)
    return mended


def _whole_value(value: Any) -> Any:
    """A value; where it is a list spelled as JSON in a cell, which may hold halves too, one spelled without them."""
    listed = json_list(value) if isinstance(value, str) and "\\u" in value else None
    mended = without_surrogates_within(listed)
    return value if mended is listed else json.dumps(mended, ensure_ascii=False)


def json_list(cell: str) -> list[Any] | None:
    """The list that a cell such as ``["housing", "graduation"]`` spells, ``None`` where it spells none."""
    if not cell.lstrip().startswith("["):
        return None
    try:
        content = json.loads(cell)
    except json.JSONDecodeError:
        return None
    return content if isinstance(content, list) else None


def _warn_of_halves(name: str, places: list[str]) -> None:
    if not places:
        return
    shown = ", ".join(places[:_NAMED]) + (f" and {len(places) - _NAMED} more" if len(places) > _NAMED else "")
    held = "1 row holds" if len(places) == 1 else f"{len(places)} rows hold"
    _log.warning("%s: %s %s: %s", name, held, _HALF, shown)


def _csv_rows(text: str, name: str, column: str, problems: list[Problem]) -> Iterator[Row]:
    csv.field_size_limit(_CELL_LIMIT)
    # newline="": the csv module itself must see line ends that stand inside quotes.
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=_delimiter(text, column), strict=True)
    header: list[str] | None = None
    number = count = 0
    while True:
        count += 1
        try:
            cells = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            what = f"is not valid CSV ({error})"
            problems.append(Problem(f"{name} row {count}", what, 'put quotes inside a quoted cell twice: ""'))
            return
        if not any(cell.strip() for cell in cells):
            continue
        if header is None:
            header = [cell.strip() for cell in cells]
            repeated = sorted({cell for cell in header if cell and header.count(cell) > 1})
            if repeated:
                raise Unreadable(Problem(f"{name} row {count}", f"names a column twice: {', '.join(repeated)}"))
            continue
        number += 1
        if len(cells) > len(header) and any(cell.strip() for cell in cells[len(header) :]):
            what = f"has {len(cells)} cells where the header names {len(header)} columns"
            problems.append(Problem(f"{name} row {count}", what, "put quotes around cells that hold the delimiter"))
            continue
        padded = cells + [""] * (len(header) - len(cells))
        values = {key: cell if cell.strip() else None for key, cell in zip(header, padded, strict=False) if key}
        yield Row(f"{name} row {count}", number, values)


def _delimiter(text: str, column: str) -> str:
    """The delimiter under which the first line names the column; spreadsheets of many countries write semicolons."""
    first = next((line for line in text.splitlines() if line.strip()), "")
    wanted = {part.strip() for part in (column, *column.split(","))}
    for delimiter in _DELIMITERS:
        cells = next(csv.reader([first], delimiter=delimiter), [])
        if wanted & {cell.strip() for cell in cells}:
            return delimiter
    return ","


def _json_rows(text: str, name: str, column: str, problems: list[Problem]) -> Iterator[Row]:
    try:
        content = json.loads(text)
    except json.JSONDecodeError as error:
        what = f"is not valid JSON (line {error.lineno}, column {error.colno}: {error.msg})"
        raise Unreadable(Problem(name, what)) from error
    if isinstance(content, dict):
        lists = [value for value in content.values() if isinstance(value, list)]
        content = lists[0] if len(lists) == 1 else None
    if not isinstance(content, list):
        raise Unreadable(Problem(name, "holds no list of objects", 'write [{"...": "..."}, ...]'))
    for number, item in enumerate(content, 1):
        where = f"{name} item {number}"
        if isinstance(item, dict):
            yield Row(where, number, item)
        else:
            problems.append(Problem(where, f"is {kind(item)} where an object is expected"))


def _jsonl_rows(text: str, name: str, column: str, problems: list[Problem]) -> Iterator[Row]:
    number = 0
    # Not splitlines(): that also cuts at characters such as U+2028, which JSON strings may hold.
    for count, raw in enumerate(text.split("\n"), 1):
        line = raw.strip()
        if not line:
            continue
        where = f"{name} line {count}"
        try:
            item = json.loads(line)
        except json.JSONDecodeError as error:
            problems.append(Problem(where, f"is not valid JSON (column {error.colno}: {error.msg})"))
            continue
        if isinstance(item, dict):
            number += 1
            yield Row(where, number, item)
        else:
            problems.append(Problem(where, f"is {kind(item)} where an object is expected"))


def as_text(value: object) -> str | None:
    """A cell as text: numbers as they are written, ``None`` for blanks, lists, objects, true and false."""
    if isinstance(value, str):
        return value.replace("\r\n", "\n").replace("\r", "\n") if value.strip() else None
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return str(value)
    return None


def value_at(row: Row, column: str | None) -> Any:
    """What stands in a column; in JSON a name with dots leads into objects and lists, unless a key is called just that.

    ``docs.*.text`` is the list of all texts. ``None`` where the path leads to nothing.
    """
    if column is None or column in row.values or "." not in column:
        return None if column is None else row.values.get(column)
    try:
        return select(row.values, column)
    except NotThere:
        return None
