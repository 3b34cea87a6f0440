"""Records as rows: one a question and run, with a judge's score, label, status and reasoning side by side."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator, Sequence
from typing import TextIO

from runner.records import Record, RunResult, Score, VerdictStatus, total_money

FORMULA = ("=", "+", "-", "@", "\t", "\r")
"""A cell that begins with one of these is a formula to a spreadsheet, whoever wrote it."""
SEPARATOR = " | "


def columns(runs: Sequence[RunResult]) -> list[str]:
    """The names of the columns, in their order; judges and metrics of any of the runs."""
    judges = _distinct(judge for run in runs for record in run.records for judge in record.scores)
    metrics = _distinct(name for run in runs for record in run.records for name in record.retrieval_metrics)
    return [
        "run",
        "job_key",
        "question_id",
        "question",
        "reference",
        "document",
        "gold",
        "answer",
        "answer_status",
        "abstained",
        *(f"{judge}_{part}" for judge in judges for part in ("score", "label", "passed", "status", "reasoning")),
        *metrics,
        "blame",
        "abstention",
        "input_tokens",
        "output_tokens",
        "cost_usd",
        "latency_s",
    ]


def rows(runs: Sequence[RunResult]) -> Iterator[dict[str, object]]:
    """One row a question and run. A number that is not known is ``None``; look at the status for the reason."""
    for run in runs:
        for record in run.records:
            yield {"run": run.name, "job_key": run.job_key, **_row(record)}


def write_csv(runs: Sequence[RunResult], file: TextIO) -> int:
    """Writes the rows and returns their number.

    Texts that a spreadsheet would take for a formula get an apostrophe in front; numbers are left as they are.
    Open the file with ``newline=""``.
    """
    writer = csv.DictWriter(file, columns(runs), restval="")
    writer.writeheader()
    count = 0
    for count, row in enumerate(rows(runs), 1):  # noqa: B007 (the number is returned)
        writer.writerow({name: _cell(value) for name, value in row.items()})
    return count


def _cell(value: object) -> object:
    if isinstance(value, str) and value.startswith(FORMULA):
        return "'" + value
    return "" if value is None else value


def _row(record: Record) -> dict[str, object]:
    question, answer = record.question, record.answer
    cost = total_money(call.total_cost for call in record.calls)
    row: dict[str, object] = {
        "question_id": question.id,
        "question": question.text,
        "reference": question.reference,
        "document": SEPARATOR.join(_distinct(one.chunk.source or one.chunk.document_id for one in record.retrieved)),
        "gold": SEPARATOR.join(question.gold),
        "answer": answer.text,
        "answer_status": answer.status.value + (f" ({answer.reason})" if answer.reason else ""),
        "abstained": answer.abstained,
    }
    for judge, score in record.scores.items():
        row[f"{judge}_score"] = score.value
        row[f"{judge}_label"] = score.label
        row[f"{judge}_passed"] = score.passed
        row[f"{judge}_status"] = score.status.value + (f" ({score.reason})" if score.reason else "")
        row[f"{judge}_reasoning"] = _reasoning(score)
    usages = [call.usage for call in record.calls if call.usage is not None]
    return row | {
        **record.retrieval_metrics,
        "blame": record.blame,
        "abstention": record.abstention,
        "input_tokens": sum(usage.input_tokens for usage in usages),
        "output_tokens": sum(usage.output_tokens for usage in usages),
        "cost_usd": None if cost is None else float(cost),
        "latency_s": sum(call.latency_s for call in answer.calls),
    }


def _reasoning(score: Score) -> str:
    return score.rationale if score.status is VerdictStatus.SCORED else score.detail


def _distinct(names: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(names))
