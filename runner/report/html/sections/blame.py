"""Where the fault of a bad answer lies: the retriever, the generator, or nobody knows."""

from __future__ import annotations

from collections import Counter

from runner.report.html.given import ReportInput
from runner.report.html.parts import Section, table

WORDS = {
    "fine": "fine",
    "retriever_miss": "retriever miss",
    "context_ignored": "context ignored",
    "hallucinated": "hallucinated",
    "wrong_refusal": "wrong refusal",
    "judges_disagree": "judges disagree",
}
"""A record's ``blame`` → its words."""


def blame(given: ReportInput) -> Section | None:
    found = [record.blame for run in given.sweep.runs for record in run.records if record.blame]
    if not found:
        return None
    names = list(dict.fromkeys([*WORDS, *found]))
    rows = []
    for run in given.sweep.runs:
        counts = Counter(record.blame for record in run.records)
        rows.append([given.names[run.job_key], *(str(counts[name]) for name in names), str(counts[""] or "")])
    columns = ["job", *(WORDS.get(name, name) for name in names), "not known"]
    caption = "Questions by where to look first, read from gold documents, grounding and correctness"
    return Section("blame", "Blame", tables=(table(caption, columns, rows),))
