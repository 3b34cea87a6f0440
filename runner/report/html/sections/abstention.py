"""Who refused rightly: answers that say that there is none, against whether there is one."""

from __future__ import annotations

from collections import Counter

from runner.report.html.given import ReportInput
from runner.report.html.parts import Section, table

COLUMNS = {
    "answered": "answered, and there is an answer",
    "wrong_refusal": "refused although there is an answer",
    "right_refusal": "refused, and there is none",
    "answered_unanswerable": "answered although there is none",
}
"""A record's ``abstention`` → what the column is called."""


def abstention(given: ReportInput) -> Section | None:
    rows = []
    for run in given.sweep.runs:
        counts = Counter(record.abstention for record in run.records)
        unknown = counts[""]
        rows.append([given.names[run.job_key], *(str(counts[name]) for name in COLUMNS), str(unknown or "")])
    if not any(record.abstention for run in given.sweep.runs for record in run.records):
        return None
    caption = "Questions by what the answer did, against whether the knowledge base holds an answer"
    return Section(
        "abstention",
        "Refusals",
        tables=(table(caption, ["job", *COLUMNS.values(), "not known"], rows),),
    )
