"""How often each judge gave each value, a bar a job: a mean hides two heaps."""

from __future__ import annotations

from collections.abc import Iterable

from runner.report.html.figures import shared
from runner.report.html.given import ReportInput
from runner.report.html.parts import Cell, Section, Table, table

MOST_VALUES = 12
"""Values that get a column each; a judge with a continuous scale has more."""


def distribution(given: ReportInput) -> Section | None:
    tables = [found for judge in given.judges if (found := _table(given, judge)) is not None]
    return Section("distribution", "Distribution", tables=tuple(tables)) if tables else None


def _table(given: ReportInput, judge: str) -> Table | None:
    rows = [
        (given.names[run.job_key], given.summaries[run.job_key].judges[judge].distribution)
        for run in given.sweep.runs
        if judge in given.summaries[run.job_key].judges
    ]
    values = _ordered(value for _, counts in rows for value in counts)
    if not values or len(values) > MOST_VALUES:
        return None
    cells = [
        [Cell(name), Cell("", shares=shared(counts, values)), *(str(counts.get(value, 0)) for value in values)]
        for name, counts in rows
    ]
    return table(f"{judge}: how many answers got each value", ["job", "share", *values], cells, texts=2)


def _ordered(values: Iterable[str]) -> list[str]:
    distinct = list(dict.fromkeys(values))
    try:
        return sorted(distinct, key=float)
    except ValueError:
        return distinct
