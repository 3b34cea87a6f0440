"""Plots in cells: question by configuration, and how often two judges agree."""

from __future__ import annotations

from runner.records import VerdictStatus
from runner.tracking.plots.data import SweepData
from runner.tracking.plots.svg import FAINT, LETTER, Drawing, short

MAX_ROWS = 100
"""Questions in the heat map: those on which the runs differ most. A picture of thousands shows nothing."""
CELL_WIDTH, CELL_HEIGHT = 34, 14


def heat_map(data: SweepData) -> str:
    """Each question's score in each run, those with the greatest differences first. Empty with fewer than two runs."""
    if len(data.runs) < 2:
        return ""
    questions = list(dict.fromkeys(question for run in data.runs for question in run.scores))
    spreads = {question: _spread(data, question) for question in questions}
    rows = sorted(questions, key=lambda question: -spreads[question])[:MAX_ROWS]
    counted = f"{len(rows)} of {len(questions)}" if len(rows) < len(questions) else f"all {len(rows)}"
    title = f"Questions by configuration: {counted} questions, the greatest differences first"
    left = 20 + max((len(short(question, 24)) for question in rows), default=0) * LETTER
    panel = CELL_WIDTH * len(data.runs) + 24
    top = 76 + max(len(short(run.name, 24)) for run in data.runs) * LETTER * 0.9
    width = max(left + panel * len(data.judges), 30 + len(title) * LETTER) + 80
    drawing = Drawing(width, top + CELL_HEIGHT * len(rows) + 40, title)
    drawing.text(10, 20, title, bold=True)
    for number, judge in enumerate(data.judges):
        x0 = left + panel * number
        drawing.text(x0, 42, judge, bold=True)
        for place, run in enumerate(data.runs):
            drawing.text(x0 + CELL_WIDTH * (place + 0.4), top - 6, short(run.name, 24), turn=-60)
        for line, question in enumerate(rows):
            y = top + CELL_HEIGHT * line
            if number == 0:
                drawing.text(left - 6, y + 11, short(question, 24), anchor="end")
            for place, run in enumerate(data.runs):
                value = run.value(question, judge)
                score = run.scores.get(question, {}).get(judge)
                why = "not asked" if score is None else f"{score.status} ({score.reason})"
                told = f"{value:.4g}" if value is not None else why
                fill = _heat(data.unit(judge, value)) if value is not None else FAINT
                note = f"{question}, {run.name}, {judge}: {told}"
                drawing.rectangle(x0 + CELL_WIDTH * place, y, CELL_WIDTH - 1, CELL_HEIGHT - 1, fill, note)
    y = top + CELL_HEIGHT * len(rows) + 22
    for place in range(5):
        drawing.rectangle(left + 20 * place, y - 10, 20, 12, _heat(place / 4))
    drawing.text(left + 106, y, "lowest to highest of the scale; grey: no score")
    return drawing.render()


def _spread(data: SweepData, question: str) -> float:
    """How far the runs lie apart on a question: the widest range over the judges, as a part of the scale."""
    widest = 0.0
    for judge in data.judges:
        values = [value for run in data.runs if (value := run.value(question, judge)) is not None]
        if values:
            widest = max(widest, data.unit(judge, max(values)) - data.unit(judge, min(values)))
    return widest


def _heat(part: float) -> str:
    """From dark violet (lowest) to yellow (highest), evenly brighter, so that it also works in grey."""
    stops = ((68, 1, 84), (59, 82, 139), (33, 145, 140), (94, 201, 98), (253, 231, 37))
    place = min(int(part * 4), 3)
    low, high, at = stops[place], stops[place + 1], part * 4 - place
    return "#" + "".join(f"{round(a + (b - a) * at):02x}" for a, b in zip(low, high, strict=True))


def agreement(data: SweepData) -> str:
    """How often two judges both pass or both fail an answer, over all runs. Empty with fewer than two judges.

    Only answers that both scored count; the number below each share says how many these are.
    """
    if len(data.judges) < 2:
        return ""
    title = "Agreement of the judges: both pass or both fail the answer"
    left = 20 + max(len(short(judge, 24)) for judge in data.judges) * LETTER
    size = 84
    width = max(left + size * len(data.judges), 20 + len(title) * LETTER * 1.1) + 20
    drawing = Drawing(width, 90 + 54 * len(data.judges), title)
    drawing.text(10, 20, title, bold=True)
    for place, judge in enumerate(data.judges):
        drawing.text(left + size * (place + 0.5), 54, short(judge, 12), anchor="middle")
        drawing.text(left - 6, 90 + 54 * place, short(judge, 24), anchor="end")
    for row, first in enumerate(data.judges):
        for column, second in enumerate(data.judges):
            if row == column:
                continue
            same, both = _passes(data, first, second)
            x, y = left + size * column, 62 + 54 * row
            share = same / both if both else 0.0
            fill = _blue(share) if both else FAINT
            drawing.rectangle(x, y, size - 2, 52, fill, f"{first} and {second}: {same} of {both}")
            ink = "#ffffff" if share > 0.6 else "#222222"
            drawing.text(x + size / 2, y + 24, f"{share:.0%}" if both else "none", anchor="middle", bold=True, ink=ink)
            drawing.text(x + size / 2, y + 42, f"{both} answers", anchor="middle", ink=ink)
    return drawing.render()


def _passes(data: SweepData, first: str, second: str) -> tuple[int, int]:
    same = both = 0
    for run in data.runs:
        for scores in run.scores.values():
            one, other = scores.get(first), scores.get(second)
            if one is None or other is None or one.passed is None or other.passed is None:
                continue
            if one.status is VerdictStatus.SCORED and other.status is VerdictStatus.SCORED:
                both += 1
                same += one.passed == other.passed
    return same, both


def _blue(part: float) -> str:
    light, dark = (247, 251, 255), (8, 81, 156)
    return "#" + "".join(f"{round(a + (b - a) * part):02x}" for a, b in zip(light, dark, strict=True))
