"""What can be read about the judges without any human label."""

from __future__ import annotations

from runner.findings import BiasReadings, FamilyCell
from runner.report.html.figures import interval, number, percent
from runner.report.html.given import ReportInput
from runner.report.html.parts import Cell, Section, table

_NO_FAMILY = ("unknown", "evidence")
"""Judges without a model favour nobody; beside several generators they show what the others might have given."""


def biases(given: ReportInput) -> Section | None:
    if not given.biases:
        return None
    tables = [
        table(
            "Readings of each judge over all jobs",
            (
                "judge",
                "scores",
                "rank correlation with answer length",
                "most frequent value",
                "same score when asked again",
                "pass turns when asked again",
                "deviation within an answer",
            ),
            [_row(one) for one in given.biases],
        )
    ]
    families = [
        (one.judge, cell)
        for one in given.biases
        for cell in one.families
        if len(one.families) > 1 or cell.judge_family not in _NO_FAMILY
    ]
    if families:
        tables.append(
            table(
                "Mean score by the family of the generator and of the judge",
                ("judge", "judge's family", "generator's family", "mean", "scores", "same family"),
                [_family(judge, cell) for judge, cell in families],
                texts=3,
            )
        )
    warnings = dict.fromkeys(warning for one in given.biases for warning in one.warnings)
    return Section("biases", "Biases", paragraphs=tuple(warnings), tables=tuple(tables))


def _row(one: BiasReadings) -> list[Cell | str]:
    top = "" if one.top_value is None else f"{one.top_value} ({percent(one.top_share)})"
    return [
        Cell(one.judge),
        f"{one.scored:,}",
        Cell(number(one.length_correlation, 2, sign=True), note=interval(one.length_interval, 1, 2)),
        top,
        percent(one.retest_share),
        percent(one.retest_flip_rate),
        number(one.within_deviation, 2),
    ]


def _family(judge: str, cell: FamilyCell) -> list[Cell | str]:
    return [
        Cell(judge),
        cell.judge_family,
        cell.generator_family,
        number(cell.mean, 2),
        str(cell.scored),
        "yes" if cell.same else "",
    ]
