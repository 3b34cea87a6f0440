"""All questions of all jobs as data for the page's script, which shows them a page at a time."""

from __future__ import annotations

from runner.report.html.data import data_block
from runner.report.html.given import ReportInput
from runner.report.html.parts import Section
from runner.report.html.sections.blame import WORDS


def questions(given: ReportInput) -> Section | None:
    if not any(run.records for run in given.sweep.runs):
        return None
    return Section(
        "questions",
        "All questions",
        template="questions.html",
        more={"data": data_block(given), "judges": given.judges, "blames": WORDS},
    )
