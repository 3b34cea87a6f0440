"""One question as it is shown in the terminal: the answer, each judge's value with its reasoning, chunks, cost."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import Group
from rich.padding import Padding
from rich.text import Text

from runner.records import AnswerStatus, Record, Score, VerdictStatus, total_money
from runner.report.leaderboard import dollars
from runner.report.text import plain, shorten

CHUNK_WIDTH = 160
"""Characters of a chunk that are shown."""


def render_record(record: Record, seconds: float) -> Group:
    """What ``runner ask`` shows of one question; ``seconds``: how long it took, as the user saw it."""
    return Group(
        _answer(record),
        *(line for score in record.scores.values() for line in _score(score)),
        *_chunks(record),
        _facts(record, seconds),
    )


def _answer(record: Record) -> Text:
    answer = record.answer
    if answer.status is AnswerStatus.FAILED:
        return Text(f"no answer: {plain(answer.detail or answer.reason)}", style="bold yellow")
    mark = " (says that there is no answer)" if answer.abstained else ""
    return Text.assemble((plain(answer.text), "bold"), (mark, "yellow"))


def _score(score: Score) -> Iterator[Text | Padding]:
    name = f"  {plain(score.judge, single_line=True)}: "
    if score.status is not VerdictStatus.SCORED or score.value is None:
        said = f"{score.status.value.replace('_', ' ')} ({plain(score.reason, single_line=True)})"
        yield Text.assemble(name, (said, "yellow"))
        reasoning = score.detail
    else:
        shown = score.label if score.label is not None else f"{score.value:.4g}"
        style = {None: "cyan", True: "green", False: "red"}[score.passed]
        word = {None: "", True: " passes", False: " does not pass"}[score.passed]
        yield Text.assemble(name, (plain(shown, single_line=True) + word, style))
        reasoning = score.rationale
    if reasoning:
        yield Padding(Text(plain(reasoning), style="dim"), (0, 0, 0, 4), expand=False)


def _chunks(record: Record) -> Iterator[Text]:
    for one in record.retrieved:
        source = plain(one.chunk.source or one.chunk.document_id, single_line=True)
        gold = " gold" if one.gold else ""
        head = f"  {one.rank}. {source} {one.score:.3f}{gold}: "
        yield Text(head + shorten(one.chunk.text, CHUNK_WIDTH), style="dim")


def _facts(record: Record, seconds: float) -> Text:
    calls = record.calls
    usages = [call.usage for call in calls if call.usage is not None]
    stored = sum(call.from_ledger for call in calls)
    new = total_money(call.new_cost for call in calls)
    total = total_money(call.total_cost for call in calls)
    parts = [
        f"{sum(usage.input_tokens for usage in usages):,} tokens in, "
        f"{sum(usage.output_tokens for usage in usages):,} out",
        f"{len(calls)} calls, {stored} of them stored",
        f"new cost {dollars(new)}, total {dollars(total)}",
        f"{seconds:.1f} s",
    ]
    return Text("  " + " · ".join(parts if calls else parts[-1:]), style="dim")
