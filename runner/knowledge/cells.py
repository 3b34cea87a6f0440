"""What a row holds where a text or several are meant: read, or refused with the row's place. Nothing else will do."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from runner.errors import Problem
from runner.json_paths import EVERY, NotThere, kind, leads, select
from runner.knowledge.reading import Row, as_text, json_list, value_at

_SEPARATORS = re.compile(r"[;,|\n]")


def text_in(row: Row, column: str | None, option: str, problems: list[Problem]) -> str | None:
    """The text of a cell, ``None`` for a blank; numbers are texts as they are written."""
    value = value_at(row, column)
    if isinstance(value, (bool, list, Mapping)):
        problems.append(_no_text(row, str(column), option, value))
        return None
    return as_text(value)


def said_in(row: Row, column: str | None, option: str, problems: list[Problem]) -> str | None:
    """As ``text_in``, but word for word, and an empty JSON text is a text."""
    value = value_at(row, column)
    return value if isinstance(value, str) else text_in(row, column, option, problems)


def passages_in(row: Row, column: str | None, option: str, problems: list[Problem]) -> tuple[str, ...]:
    """Texts of a JSON list, or one text as it stands. Nothing but texts: a number is no passage."""
    value = value_at(row, column)
    if isinstance(value, str):
        value = json_list(value) or [value]
    elif value is None:
        value = []
    if not isinstance(value, list):
        problems.append(_no_text(row, str(column), option, value, wanted="a list of texts"))
        return ()
    wrong = next((item for item in enumerate(value) if not isinstance(item[1], str)), None)
    if wrong is not None:
        problems.append(_no_text(row, str(column), option, wrong[1], number=wrong[0]))
        return ()
    return tuple(value)


def ids_in(row: Row, column: str | None, option: str, problems: list[Problem]) -> tuple[str, ...]:
    """Ids of a JSON list, or of a cell such as ``housing; graduation`` (``;``, ``,`` or ``|`` between them)."""
    value = value_at(row, column)
    if isinstance(value, str):
        value = json_list(value) or _SEPARATORS.split(value)
    return _distinct(value, row, str(column), option, problems)


def quotes_in(row: Row, column: str | None, option: str, problems: list[Problem]) -> tuple[str, ...]:
    """Texts of a JSON list, or one text as it stands; blanks and repeats are left out."""
    value = value_at(row, column)
    if isinstance(value, str):
        value = json_list(value) or [value]
    return _distinct(value, row, str(column), option, problems)


def _distinct(value: Any, row: Row, column: str, option: str, problems: list[Problem]) -> tuple[str, ...]:
    listed = value if isinstance(value, list) else [] if value is None else [value]
    found: list[str] = []
    for number, item in enumerate(listed):
        if isinstance(item, (bool, list, Mapping)):
            place = number if isinstance(value, list) else None
            problems.append(_no_text(row, column, option, item, number=place))
            return ()
        found.append(str(item).strip() if item is not None else "")
    return tuple(dict.fromkeys(text for text in found if text))


def has(row: Row, column: str) -> bool:
    """Whether there is such a column or path in the row, be it blank."""
    return column in row.values or leads(row.values, column)


def way(rows: Sequence[Row], column: str, present: Sequence[str]) -> str:
    """What there is where no row has the column: how far its path leads in the first row in which it leads anywhere."""
    for row in rows:
        try:
            select(row.values, column)
        except NotThere as gap:
            if gap.holder:
                return f"{row.where}: {gap.holder} holds {gap.holds}"
    return f"there are: {', '.join(present)}"


def gap_in(row: Row, column: str | None, option: str) -> Problem | None:
    """The problem of a row in which a path with ``*`` leads to some texts, but not to all."""
    try:
        select(row.values, column or "")
    except NotThere as gap:
        if gap.within_a_list and column not in row.values:
            what = f"has nothing at {gap.place} in one of them ({gap.holder} holds: {gap.holds})"
            return Problem(row.where, what, f"mend the row or {option}")
    return None


def _no_text(
    row: Row, column: str, option: str, value: Any, *, wanted: str = "a text", number: int | None = None
) -> Problem:
    place = column if number is None else f"{column}.{number}"
    inside = next((str(key) for key, said in value.items() if isinstance(said, str)), "") if _is_object(value) else ""
    if not inside:
        return Problem(row.where, f"has {kind(value)} in {place} where {wanted} is meant", f"mend the row or {option}")
    path = f"{column}.{inside}" if number is None else f"{column}.{EVERY}.{inside}"
    what = f"has an object in {place} where {wanted} is meant (it holds: {', '.join(str(key) for key in value)})"
    return Problem(row.where, what, f"lead to the text inside, such as {option}={path}")


def _is_object(value: Any) -> bool:
    return isinstance(value, Mapping)
