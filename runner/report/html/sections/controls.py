"""The judges' controls: answers whose right verdict is known beforehand, and whether the judges noticed."""

from __future__ import annotations

from runner.records import ControlRow
from runner.report.html.figures import number
from runner.report.html.given import ReportInput
from runner.report.html.parts import Cell, Section, table


def controls(given: ReportInput) -> Section | None:
    rows: list[list[Cell | str]] = []
    seen: set[ControlRow] = set()
    for run in given.sweep.runs:
        for row in run.controls:
            if row not in seen:
                seen.add(row)
                rows.append([*_cells(row), given.names[run.job_key] if len(given.sweep.runs) > 1 else ""])
    if not rows:
        return None
    failing = sorted({row.judge for row in seen if not row.passed})
    sentence = f"Not to be trusted: {', '.join(failing)}." if failing else "Every judge noticed what it should."
    return Section(
        "controls",
        "Controls",
        paragraphs=(sentence,),
        tables=(
            table(
                "Answers whose right verdict is known, and what the judges made of them",
                ("judge", "control", "expected", "result", "first mistake", "as expected", "failed", "mean", "job"),
                rows,
                texts=5,
            ),
        ),
    )


def _cells(row: ControlRow) -> list[Cell | str]:
    return [
        Cell(row.judge),
        row.control.replace("_", " "),
        row.expected,
        Cell("noticed", tone="good") if row.passed else Cell("not noticed", tone="bad"),
        row.example,
        f"{row.as_expected} of {row.cases}",
        str(row.failed or ""),
        number(row.mean, 2),
    ]
