"""The questions on which two runs differ most, with what both said and why: numbers are believed when they are seen."""

from __future__ import annotations

from rich.console import Group
from rich.text import Text

from runner.records import Record, RunResult, Score, VerdictStatus
from runner.report.text import plain, shorten

_WIDTH = 300
"""Characters of an answer or a reasoning that are shown."""


def render_examples(a: RunResult, b: RunResult, metric: str, count: int) -> Group:
    """How often the pass turned, and up to ``count`` questions each way: those first, then the largest differences."""
    theirs = {record.question.id: record for record in b.records}
    pairs = [(record, theirs[record.question.id]) for record in a.records if record.question.id in theirs]
    both = [(left, right) for left, right in pairs if _scored(left, metric) and _scored(right, metric)]
    if not both:
        return Group()
    gained = [pair for pair in both if _passed(pair[0], metric) and not _passed(pair[1], metric)]
    lost = [pair for pair in both if _passed(pair[1], metric) and not _passed(pair[0], metric)]
    turned = f"pass turned on {len(gained) + len(lost)} of {len(both)} questions"
    lines = [Text(f"{turned}: {len(gained)} for the first run, {len(lost)} against it")]
    up = _first([pair for pair in both if _difference(pair, metric) > 0], lost, metric)[:count]
    down = _first([pair for pair in both if _difference(pair, metric) < 0], gained, metric)[:count]
    for left, right in (*up, *down):
        lines += _lines(left, right, metric)
    hidden = sum(pair not in shown for turning, shown in ((lost, up), (gained, down)) for pair in turning)
    if hidden:
        lines.append(Text(f"{hidden} more turned: --examples {max(len(gained), len(lost))} shows all"))
    return Group(*lines)


_Pair = tuple[Record, Record]


def _first(pairs: list[_Pair], turning: list[_Pair], metric: str) -> list[_Pair]:
    """Those whose pass turned before the others, each kind with the largest difference first."""
    return sorted(pairs, key=lambda pair: (pair not in turning, -abs(_difference(pair, metric))))


def _difference(pair: _Pair, metric: str) -> float:
    return _value(pair[1], metric) - _value(pair[0], metric)


def _lines(left: Record, right: Record, metric: str) -> list[Text]:
    head = f"[{plain(left.question.id, True)}] {shorten(left.question.text, _WIDTH)}"
    lines = [Text(head, style="bold")]
    same = left.answer.text == right.answer.text
    for mark, record in (("1", left), ("2", right)):
        score = record.scores[metric]
        if not (same and mark == "2"):
            lines.append(Text(f"  answer{'' if same else ' ' + mark}: {shorten(record.answer.text, _WIDTH)}"))
        lines.append(
            Text(f"  {mark}: {score.value:g} ({plain(score.rubric, True)}) {shorten(score.rationale, _WIDTH)}")
        )
    return lines


def _scored(record: Record, metric: str) -> bool:
    score = record.scores.get(metric)
    return score is not None and score.status == VerdictStatus.SCORED and score.value is not None


def _passed(record: Record, metric: str) -> bool:
    return bool(record.scores[metric].passed)


def _value(record: Record, metric: str) -> float:
    score: Score = record.scores[metric]
    return score.value or 0.0
