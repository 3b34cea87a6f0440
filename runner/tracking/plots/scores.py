"""Plots of means: by what was swept (with intervals), against cost (with the Pareto front), distributions."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping, Sequence

from runner.records import JudgeSummary
from runner.tracking import text as t
from runner.tracking.plots.data import PlottedRun, SweepData
from runner.tracking.plots.svg import LETTER, Axis, Drawing, colour, short

PANEL = 300
HEIGHT = 240
LEFT, TOP, BOTTOM = 46, 56, 46
NORMAL_95 = 1.96
"""Half-width of a 95 % interval in standard errors."""


def scores_by_choice(data: SweepData) -> Mapping[str, str]:
    """For each swept choice with numbers (``top_k``): mean and 95 % interval of each judge. Else by run."""
    plots = {}
    for choice in data.varying:
        values = {run.name: run.choices.get(choice) for run in data.runs}
        if all(isinstance(value, int | float) and not isinstance(value, bool) for value in values.values()):
            plots[choice.rpartition(".")[2]] = _by_number(data, choice)
    return plots or {"run": _by_name(data)}


def _by_number(data: SweepData, choice: str) -> str:
    others = [key for key in data.varying if key != choice]

    def group(run: PlottedRun) -> str:
        return " · ".join(t.value_text(run.choices.get(key)) for key in others)

    places = {run.name: float(run.choices[choice]) for run in data.runs}
    low, high = min(places.values()), max(places.values())
    margin = (high - low) * 0.08
    ticks = sorted(set(places.values()))
    return _panels(
        data,
        f"Score by {choice}, mean and 95 % interval",
        (low - margin, high + margin),
        places,
        {tick: f"{tick:g}" for tick in ticks},
        group,
    )


def _by_name(data: SweepData) -> str:
    places = {run.name: float(place) for place, run in enumerate(data.runs)}
    names = {place: short(name, 14) for name, place in places.items()}
    return _panels(data, "Score by run, mean and 95 % interval", (-0.5, len(data.runs) - 0.5), places, names, None)


def _panels(  # noqa: PLR0917
    data: SweepData,
    title: str,
    ends: tuple[float, float],
    places: Mapping[str, float],
    ticks: Mapping[float, str],
    group: Callable[[PlottedRun], str] | None,
) -> str:
    """One panel a judge; runs of one group are joined by a line, in the colour of the group."""
    groups = list(dict.fromkeys(group(run) for run in data.runs)) if group else []
    named = [name for name in groups if name]
    width = LEFT + PANEL * len(data.judges)
    drawing = Drawing(width + 10, HEIGHT + 18 * len(named), title)
    drawing.text(10, 20, title, bold=True)
    for number, judge in enumerate(data.judges):
        across = Axis(*ends, LEFT + PANEL * number, LEFT + PANEL * (number + 1) - 50)
        up = Axis(*data.scales[judge], HEIGHT - BOTTOM, TOP)
        _frame(drawing, judge, across, up, ticks)
        for place, name in enumerate(groups or [""]):
            members = [run for run in data.runs if group is None or group(run) == name]
            points = []
            for run in sorted(members, key=lambda member: places[member.name]):
                found = run.summary.judges.get(judge)
                if found is None or found.mean is None:
                    continue
                x = across.at(places[run.name]) + (place - (len(groups or [""]) - 1) / 2) * 5
                points.append((x, up.at(found.mean)))
                _interval(drawing, x, up, found, colour(place))
                drawing.dot(x, up.at(found.mean), colour(place), f"{run.name}: {_told(found)}")
            if group is not None:
                drawing.path(points, colour(place))
    for place, name in enumerate(named):
        drawing.dot(LEFT, HEIGHT + 18 * place, colour(groups.index(name)))
        drawing.text(LEFT + 10, HEIGHT + 4 + 18 * place, short(name, 90))
    return drawing.render()


def _frame(drawing: Drawing, judge: str, across: Axis, up: Axis, ticks: Mapping[float, str]) -> None:
    drawing.text(across.start, TOP - 12, judge, bold=True)
    for value in up.ticks():
        drawing.line(across.start, up.at(value), across.end, up.at(value), "#e4e4e4")
        drawing.text(across.start - 6, up.at(value) + 4, f"{value:g}", anchor="end")
    drawing.line(across.start, up.start, across.end, up.start)
    crowded = sum(len(name) for name in ticks.values()) * LETTER > across.end - across.start
    for place, name in ticks.items():
        drawing.text(
            across.at(place),
            up.start + (14 if crowded else 18),
            name,
            anchor="end" if crowded else "middle",
            turn=-25 if crowded else 0,
        )


def _interval(drawing: Drawing, x: float, up: Axis, found: JudgeSummary, ink: str) -> None:
    if found.mean is None or found.standard_error is None:
        return
    half = NORMAL_95 * found.standard_error
    low, high = max(up.low, found.mean - half), min(up.high, found.mean + half)
    drawing.line(x, up.at(low), x, up.at(high), ink, 1.5)
    for end in (low, high):
        drawing.line(x - 4, up.at(end), x + 4, up.at(end), ink, 1.5)


def _told(found: JudgeSummary) -> str:
    return f"{found.mean:.3g} ({found.scored} of {found.asked} scored, {found.failed} failed)"


def score_and_cost(data: SweepData) -> str:
    """Mean against dollars a question, with the runs that no other one beats in both. Empty without prices."""
    costs = {
        run.name: float(run.summary.total_cost) / run.summary.asked
        for run in data.runs
        if run.summary.total_cost is not None and run.summary.asked
    }
    if len(costs) < 2 or not any(costs.values()):
        return ""
    title = "Score against cost, US dollars a question as if nothing had been cached; line: Pareto front"
    drawing = Drawing(LEFT + PANEL * len(data.judges) + 10, HEIGHT + 18 * len(data.runs), title)
    drawing.text(10, 20, title, bold=True)
    top = max(costs.values())
    for number, judge in enumerate(data.judges):
        across = Axis(0, top * 1.08, LEFT + PANEL * number, LEFT + PANEL * (number + 1) - 50)
        up = Axis(*data.scales[judge], HEIGHT - BOTTOM, TOP)
        _frame(drawing, judge, across, up, {value: f"{value:.3g}" for value in across.ticks(4)})
        means = {run.name: found.mean for run in data.runs if (found := run.summary.judges.get(judge)) is not None}
        known = [(costs[name], mean, name) for name, mean in means.items() if mean is not None and name in costs]
        front = pareto_front([(cost, mean) for cost, mean, _ in known])
        drawing.path([(across.at(cost), up.at(mean)) for cost, mean in front], "#888888")
        for place, run in enumerate(data.runs):
            mean = means.get(run.name)
            if mean is not None and run.name in costs:
                note = f"{run.name}: {mean:.3g} for ${costs[run.name]:.3g}"
                drawing.dot(across.at(costs[run.name]), up.at(mean), colour(place), note)
    for place, run in enumerate(data.runs):
        drawing.dot(LEFT, HEIGHT + 18 * place, colour(place))
        cost = f"${costs[run.name]:.3g}" if run.name in costs else "price unknown"
        drawing.text(LEFT + 10, HEIGHT + 4 + 18 * place, f"{short(run.name, 70)}: {cost}")
    return drawing.render()


def pareto_front(points: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    """(cost, score) of the runs for which no other is at least as cheap and better, cheapest first."""
    front: list[tuple[float, float]] = []
    for cost, score in sorted(set(points), key=lambda point: (point[0], -point[1])):
        if not front or score > front[-1][1]:
            front.append((cost, score))
    return front


def distributions(data: SweepData) -> str:
    """How often each score was given: a bar a run, a panel a judge, lowest score left."""
    title = "Distribution of the scores by judge and run (share of the scored answers)"
    row, name_width, bar = 24, 190, 420
    height = 40 + sum(30 + row * len(data.runs) + 26 for _ in data.judges)
    drawing = Drawing(name_width + bar + 40, height, title)
    drawing.text(10, 20, title, bold=True)
    y = 44.0
    for judge in data.judges:
        found = {run.name: run.summary.judges[judge] for run in data.runs if judge in run.summary.judges}
        words = sorted({word for summary in found.values() for word in summary.distribution}, key=_order(found))
        drawing.text(10, y, judge, bold=True)
        for place, word in enumerate(words):
            at = name_width + place * max(44.0, bar / max(len(words), 1))
            drawing.rectangle(at, y - 10, 12, 12, _shade(place, len(words)))
            drawing.text(at + 16, y, short(word, 8))
        y += 14
        for run in data.runs:
            drawing.text(10, y + 14, short(run.name))
            counts = found[run.name].distribution if run.name in found else {}
            total, x = sum(counts.values()), float(name_width)
            for place, word in enumerate(words):
                share = counts.get(word, 0) / total if total else 0.0
                if share:
                    note = f"{run.name}, {judge} {word}: {counts[word]} of {total}"
                    drawing.rectangle(x, y, share * bar, row - 6, _shade(place, len(words)), note)
                    x += share * bar
            drawing.text(name_width + bar + 6, y + 14, str(total))
            y += row
        y += 30
    return drawing.render()


def _order(found: Mapping[str, JudgeSummary]) -> Callable[[str], int]:
    """Words in the order in which the summaries give them: lowest first."""
    order = list(dict.fromkeys(word for summary in found.values() for word in summary.distribution))
    with contextlib.suppress(ValueError):  # labels are no numbers
        order.sort(key=float)
    return order.index


def _shade(place: int, count: int) -> str:
    """From orange (lowest) over grey to blue (highest)."""
    part = place / max(count - 1, 1)
    low, middle, high = (213, 94, 0), (222, 222, 222), (0, 114, 178)
    first, second, at = (low, middle, part * 2) if part < 0.5 else (middle, high, part * 2 - 1)
    return "#" + "".join(f"{round(a + (b - a) * at):02x}" for a, b in zip(first, second, strict=True))
