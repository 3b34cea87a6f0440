"""Judged answers for whoever wants good and bad: counts, shares, the bad ones with reasons, the price, a CSV."""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Iterator, Sequence
from decimal import Decimal
from typing import TextIO

from rich.console import Group
from rich.text import Text

from runner.records import Reason, Record, RunResult, Score, VerdictStatus, total_money
from runner.report.exports import FORMULA, SEPARATOR
from runner.report.leaderboard import dollars
from runner.report.text import plain, shorten

_WIDTH = 400
"""Characters of an answer or a reasoning that are shown."""


def render_verdicts(runs: Sequence[RunResult], most: int | None = None) -> Group:
    """For each run and judge the counts and shares, then what did not pass, with reasons, then the total price.

    ``most``: how many of those that did not pass are shown for each judge; ``None``: all.
    """
    lines: list[Text] = []
    for run in runs:
        if len(runs) > 1:
            lines.append(Text(plain(run.name, single_line=True), style="bold"))
        for judge in _judges([run]):
            scored = [(record, record.scores[judge]) for record in run.records if judge in record.scores]
            lines.append(Text(f"{judge}: {counts([score for _, score in scored])}", style="bold"))
            bad = [(record, score) for record, score in scored if _is_bad(score)]
            shown = bad if most is None else bad[:most]
            for record, score in shown:
                lines.extend(_lines(record, score))
            if len(shown) < len(bad):
                more = f"  … and {len(bad) - len(shown)} more: python -m runner report {run.job_key[:12]} --verdicts"
                lines.append(Text(more))
    lines.append(Text(_price(runs)))
    return Group(*lines)


def counts(scores: Sequence[Score]) -> str:
    """Such as ``good 176 (44.6%), bad 219 (55.4%) of 395 scored; 2 failed (timeout 2)``."""
    scored = [score for score in scores if score.status is VerdictStatus.SCORED]
    words = Counter(_word(score) for score in scored)
    # Those that pass come first; the order within is that of the scale.
    passing = {_word(score): (not score.passed, -(score.value or 0.0)) for score in scored}
    parts = [
        f"{word} {words[word]} ({words[word] / len(scored):.1%})" for word in sorted(words, key=lambda w: passing[w])
    ]
    text = f"{', '.join(parts) or 'none'} of {len(scored)} scored"
    open_scores = [score for score in scores if score.status is not VerdictStatus.SCORED]
    missing = sum(score.reason == Reason.NO_ANSWER for score in open_scores)
    text += f"; {missing} without an answer" if missing else ""
    for status, called in ((VerdictStatus.FAILED, "failed"), (VerdictStatus.NOT_APPLICABLE, "not applicable")):
        reasons = Counter(
            score.reason for score in open_scores if score.status is status and score.reason != Reason.NO_ANSWER
        )
        if reasons:
            why = ", ".join(f"{reason} {count}" for reason, count in reasons.most_common())
            text += f"; {reasons.total()} {called} ({why})"
    return text


def write_verdicts(runs: Sequence[RunResult], file: TextIO) -> int:
    """Writes question, document, score, reasoning, one row a verdict, and returns how many.

    With several judges or runs their names stand in columns before. What was not scored has an empty score, and its
    reason where the reasoning stands. Open the file with ``newline=""``.
    """
    several_runs, several_judges = len(runs) > 1, len(_judges(runs)) > 1
    head = [*(["run"] if several_runs else []), *(["judge"] if several_judges else [])]
    writer = csv.writer(file)
    writer.writerow([*head, "question", "document", "score", "reasoning"])
    count = 0
    for count, (run, record, judge, score) in enumerate(_all(runs), 1):  # noqa: B007 (the number is returned)
        named = [*([run.name] if several_runs else []), *([judge] if several_judges else [])]
        row = [*named, record.question.text, _document(record), _value(score), _reason(score)]
        writer.writerow([f"'{cell}" if cell.startswith(FORMULA) else cell for cell in row])
    return count


def _all(runs: Sequence[RunResult]) -> Iterator[tuple[RunResult, Record, str, Score]]:
    for run in runs:
        for record in run.records:
            for judge, score in record.scores.items():
                yield run, record, judge, score


def _judges(runs: Sequence[RunResult]) -> list[str]:
    return list(dict.fromkeys(judge for run in runs for record in run.records for judge in record.scores))


def _is_bad(score: Score) -> bool:
    return score.status is VerdictStatus.FAILED or (score.status is VerdictStatus.SCORED and score.passed is False)


def _lines(record: Record, score: Score) -> list[Text]:
    word = _value(score) or score.status.value
    document = _document(record)
    found = [
        Text(f"  [{plain(record.question.id, single_line=True)}] {shorten(record.question.text, _WIDTH)}"),
        Text(f"    answer: {shorten(record.answer.text, _WIDTH) or 'none'}"),
        Text(f"    {plain(word, single_line=True)}: {shorten(_reason(score), _WIDTH)}"),
    ]
    return [*found, Text(f"    document: {shorten(document, _WIDTH)}")] if document else found


def _word(score: Score) -> str:
    return score.label or ("pass" if score.passed else "no pass")


def _value(score: Score) -> str:
    if score.status is not VerdictStatus.SCORED or score.value is None:
        return ""
    return score.label or f"{score.value:g}"


def _reason(score: Score) -> str:
    if score.status is VerdictStatus.SCORED:
        return score.rationale
    return f"{score.status.value} ({score.reason}){': ' + score.detail if score.detail else ''}"


def _document(record: Record) -> str:
    found = record.question.gold or tuple(dict.fromkeys(item.chunk.document_id for item in record.retrieved))
    return SEPARATOR.join(found)


def _price(runs: Sequence[RunResult]) -> str:
    calls = {(call.key or id(call)): call for run in runs for call in run.calls}.values()
    total: Decimal | None = total_money(call.total_cost for call in calls)
    return f"total price: {dollars(total)} for {len(calls)} calls"
