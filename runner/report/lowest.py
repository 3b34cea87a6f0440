"""The answers with the lowest scores, a line each, so that the end of a launch shows what the judges caught."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from runner.records import Record, RunResult, Score, VerdictStatus
from runner.report.text import plain, shorten

MOST = 3
_ID, _NAME = 16, 24
"""Characters of a question's id and a run's name, so that some of the answer fits in a line."""


def lowest_lines(runs: Sequence[RunResult], width: int = 80, most: int = MOST) -> list[str]:
    """A heading, and up to ``most`` answers that did not pass the first judge that let one fail, the worst first.

    One answer that several runs gave to a question is shown once. Empty where every answer passed.
    """
    judges = dict.fromkeys(name for run in runs for record in run.records for name in record.scores)
    for judge in judges:
        failed = list(_failed(runs, judge))
        if failed:
            break
    else:
        return []
    failed.sort(key=lambda one: one[0])
    shown: dict[tuple[str, str], str] = {}
    for value, run, record, score in failed:
        named = f"{shorten(run.name, _NAME)}, " if len(runs) > 1 else ""
        what = f"{round(value, 2):g}{f' ({plain(score.label, True)})' if score.label else ''}"
        line = f"  {what} {named}{shorten(record.question.id, _ID)}: {record.answer.text.strip() or 'empty answer'}"
        shown.setdefault((record.question.id, record.answer.text), shorten(" ".join(line.split("\n")), width))
        if len(shown) == most:
            break
    return [f"lowest scores ({shorten(judge, width - len('lowest scores ():'))}):", *shown.values()]


def _failed(runs: Sequence[RunResult], judge: str) -> Iterator[tuple[float, RunResult, Record, Score]]:
    for run in runs:
        for record in run.records:
            score = record.scores.get(judge)
            if score is None or score.status is not VerdictStatus.SCORED or score.value is None:
                continue
            if score.passed is False:
                yield score.value, run, record, score
