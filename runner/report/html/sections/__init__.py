"""The sections of the report, in the order of the page. A new one is a file here and a line in this list."""

from __future__ import annotations

from collections.abc import Callable

from runner.report.html.given import ReportInput
from runner.report.html.parts import Section
from runner.report.html.sections.abstention import abstention
from runner.report.html.sections.biases import biases
from runner.report.html.sections.blame import blame
from runner.report.html.sections.comparison import comparison
from runner.report.html.sections.controls import controls
from runner.report.html.sections.distribution import distribution
from runner.report.html.sections.leaderboard import leaderboard
from runner.report.html.sections.money import money
from runner.report.html.sections.questions import questions
from runner.report.html.sections.reproduce import reproduce
from runner.report.html.sections.worst import worst

SECTIONS: tuple[Callable[[ReportInput], Section | None], ...] = (
    leaderboard,
    comparison,
    worst,
    questions,
    distribution,
    blame,
    abstention,
    controls,
    biases,
    money,
    reproduce,
)
"""Each returns ``None`` where it has nothing to say about this sweep."""
