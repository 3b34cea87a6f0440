"""Rows of a log within a window of time; knows the ways in which logs write a moment."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from runner.config.schema import Questions
from runner.errors import Problem
from runner.knowledge.reading import Row, value_at

_MILLISECONDS = 1e11
"""A number from here on cannot be seconds: it would be the year 5138."""


def in_window(rows: Sequence[Row], cfg: Questions, problems: list[Problem]) -> list[Row]:
    """The rows at or after ``since`` and before ``until``; all where neither is set.

    A row whose time is missing or illegible is a problem: silently in or out, it would change what is measured.
    """
    if cfg.since is None and cfg.until is None:
        return list(rows)
    since = None if cfg.since is None else moment(cfg.since)
    until = None if cfg.until is None else moment(cfg.until)
    kept = []
    for row in rows:
        value = value_at(row, cfg.fields.time)
        try:
            at = moment(value)
        except (ValueError, OverflowError, OSError):
            what = f"has no legible time ({cfg.fields.time} is {value!r})"
            problems.append(Problem(row.where, what, "write ISO 8601 or seconds since 1970"))
            continue
        if (since is None or since <= at) and (until is None or at < until):
            kept.append(row)
    return kept


def moment(value: Any) -> datetime:
    """A moment from ISO 8601 (UTC without a zone) or a number of seconds or milliseconds since 1970.

    Raises ValueError (and OverflowError, OSError for numbers beyond the calendar).
    """
    try:
        number = float(value) if not isinstance(value, bool) and value is not None else None
    except (TypeError, ValueError):
        number = None
    if number is not None:
        return datetime.fromtimestamp(number / 1000 if abs(number) >= _MILLISECONDS else number, UTC)
    at = datetime.fromisoformat(str(value).strip())
    return at.replace(tzinfo=UTC) if at.tzinfo is None else at
