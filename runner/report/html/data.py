"""The questions of a report as compact JSON: every text once, and only as long as a browser shows at ease."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from runner.records import AnswerStatus, Record, RunResult, Score, total_money
from runner.report.html.figures import shown_value
from runner.report.html.given import ReportInput
from runner.report.leaderboard import dollars
from runner.report.text import plain

if TYPE_CHECKING:
    from markupsafe import Markup

MOST_CHARACTERS = 20_000_000
"""Of all texts together: MLflow's artifact viewer shows files of up to 50 MB, and a phone has little memory."""
LENGTHS = (20_000, 8_000, 4_000, 2_000, 1_000, 500, 250)
"""Characters of one text; the first with which everything has room."""
CHUNK_LENGTHS = (4_000, 1_000, 300, 0)
"""Of a retrieved chunk; 0: the chunks are named but not shown."""
REPLACED = str.maketrans({"<": "\\u003c", ">": "\\u003e", "&": "\\u0026"})
"""Inside a script element only these can end it; in JSON they stand in strings alone, where an escape is the same."""


def data_block(given: ReportInput) -> Markup:
    """The JSON for a ``<script type="application/json">``; nothing in it can end the element."""
    from markupsafe import Markup

    text = json.dumps(question_data(given), ensure_ascii=False, separators=(",", ":"))
    return Markup(text.translate(REPLACED))  # noqa: S704 (every sign of HTML is replaced)


def question_data(given: ReportInput) -> dict[str, Any]:
    """What ``report.js`` reads; see its first lines for the places in the lists."""
    runs = given.sweep.runs
    length, chunk_length = _lengths(runs)
    texts = _Texts(length)
    judges = given.judges
    by_run = [{record.question.id: record for record in run.records} for run in runs]
    asked = {record.question.id: record.question for run in runs for record in run.records}
    rows = []
    for identifier, question in asked.items():
        found = [records.get(identifier) for records in by_run]
        reference = -1 if question.reference is None else texts.add(question.reference)
        answers = [None if one is None else _record(one, judges, texts, chunk_length) for one in found]
        rows.append([plain(identifier, True), texts.add(question.text), reference, answers])
    return {
        "jobs": [plain(given.names[run.job_key], True) for run in runs],
        "judges": [plain(judge, True) for judge in judges],
        "texts": texts.all,
        "questions": rows,
    }


class _Texts:
    """Every distinct text once."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._places: dict[str, int] = {}
        self.all: list[str] = []

    def add(self, text: str, most: int | None = None) -> int:
        """The place of the text; where it is cut, it says so."""
        limit = self._most if most is None else min(most, self._most)
        shown = text
        if len(text) > limit:
            shown = f"{text[:limit]} … ({len(text) - limit:,} more characters in records.jsonl)"
        if shown not in self._places:
            self._places[shown] = len(self.all)
            self.all.append(plain(shown))
        return self._places[shown]


def _record(record: Record, judges: Sequence[str], texts: _Texts, chunk_length: int) -> list[Any]:
    answer = record.answer
    failed = answer.status is AnswerStatus.FAILED
    said = f"no answer: {answer.detail or answer.reason}" if failed else answer.text
    calls = answer.calls
    cost = total_money(call.total_cost for call in record.calls)
    facts = [
        f"{sum(call.usage.input_tokens for call in record.calls if call.usage):,} tokens in",
        f"{sum(call.usage.output_tokens for call in record.calls if call.usage):,} out",
        dollars(cost),
        f"{sum(call.latency_s for call in calls):.2f} s to answer",
    ]
    state = "failed" if failed else "abstained" if answer.abstained else "answered"
    return [
        texts.add(said),
        state,
        plain(record.blame, True),
        [_score(record.scores.get(judge), texts) for judge in judges],
        [
            [
                plain(one.chunk.source or one.chunk.document_id, True),
                round(one.score, 4),
                int(one.gold),
                texts.add(one.chunk.text, chunk_length) if chunk_length else -1,
            ]
            for one in record.retrieved
        ],
        ", ".join(facts) if record.calls else "",
    ]


def _score(score: Score | None, texts: _Texts) -> list[Any] | None:
    if score is None:
        return None
    why = score.rationale or score.detail
    passed = None if score.passed is None else int(score.passed)
    return [
        score.value,
        plain(shown_value(score), True),
        passed,
        score.status.value,
        plain(score.reason, True),
        texts.add(why),
    ]


def _lengths(runs: Sequence[RunResult]) -> tuple[int, int]:
    """How much of a text and of a chunk is shown, so that all of them have room."""
    texts = [len(text) for text in set(_spoken(runs))]
    chunks = [
        len(text) for text in {one.chunk.text for run in runs for record in run.records for one in record.retrieved}
    ]
    for chunk_length in CHUNK_LENGTHS:
        room = MOST_CHARACTERS - sum(min(length, chunk_length) for length in chunks)
        for length in LENGTHS:
            fits = sum(min(one, length) for one in texts) <= room
            if fits and (length >= 1_000 or chunk_length == 0):
                return length, chunk_length
    return LENGTHS[-1], 0


def _spoken(runs: Sequence[RunResult]) -> Iterator[str]:
    for run in runs:
        for record in run.records:
            yield record.question.text
            yield record.question.reference or ""
            yield record.answer.text
            for score in record.scores.values():
                yield score.rationale or score.detail
