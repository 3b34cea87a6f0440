"""The report of a sweep as one HTML file that asks nobody for anything: verdict first, every question within reach.

A section is one file in ``sections`` and one line in its registry; ``sections/abstention.py`` is the one to copy.
"""

from runner.report.html.given import PlannedSpend, ReportInput, Reproduction
from runner.report.html.page import render_report

__all__ = ["PlannedSpend", "ReportInput", "Reproduction", "render_report"]
