"""What ``compare`` and ``calibrate`` found, as files and tags of a sweep's parent run: one name a metric, replaced."""

from __future__ import annotations

import dataclasses
import json
import re
from typing import TYPE_CHECKING

from runner.findings import Agreement, BiasReadings, Calibration, Coefficient, Measure, SweepComparison
from runner.sweeps.comparisons import verdict_lines
from runner.sweeps.logged_later import Finding

if TYPE_CHECKING:
    from rich.console import RenderableType

WIDTH = 160
"""Characters of a line: the widest table of a comparison with short names of jobs."""
_SHOWN = {
    "percent": "percent agreement",
    "cohen_quadratic": "kappa (quadratic)",
    "ac2_quadratic": "AC2 (quadratic)",
    "krippendorff_ordinal": "alpha (ordinal)",
}
"""In a tag: several, as no single coefficient decides."""


def options_in_words(*, measure: str, cluster_by: str, seed: int, margin: float | None = None) -> str:
    """With what a result was computed, for whoever finds it later."""
    within = "" if margin is None else f", margin {margin:g}"
    return f"Of stored runs, without a call: {Measure(measure).value}, clustered by {cluster_by}, seed {seed}{within}."


def of_comparison(found: SweepComparison, how: str) -> Finding:
    """Every pair and every job of one metric. ``how``: ``options_in_words``."""
    from runner.report.comparison import render_comparison

    name = _name(found.metric, found.measure)
    whole = json.dumps(dataclasses.asdict(found), ensure_ascii=False, indent=2)
    files = {
        f"compare/{name}.md": _markdown(f"compare: {found.metric}", how, render_comparison(found)),
        f"compare/{name}.csv": str(found.to_frame().to_csv(index=False)),
        f"compare/{name}_standings.csv": str(found.standings_frame().to_csv(index=False)),
        f"compare/{name}.json": whole,
    }
    return Finding(files, {f"runner.compare.{name}": " ".join(verdict_lines([found]))})


def of_agreement(found: Agreement, how: str) -> Finding:
    """How far judges agree with each other."""
    from runner.report.agreement import render_agreement

    name = "agreement_" + "_".join(map(_safe, found.raters))
    files = {
        f"compare/{name}.md": _markdown(f"agreement: {', '.join(found.raters)}", how, render_agreement(found)),
        f"compare/{name}.csv": str(found.to_frame().to_csv(index=False)),
        f"compare/{name}.json": json.dumps(dataclasses.asdict(found), ensure_ascii=False, indent=2),
    }
    return Finding(files, {f"runner.compare.{name}": _in_words(found)})


def of_calibration(found: Calibration, readings: BiasReadings, measure: Measure, how: str) -> Finding:
    """A judge against human labels: its agreement and its corrected numbers."""
    from runner.report.agreement import CalibrationView

    name = _name(found.judge, measure)
    whole = {"calibration": dataclasses.asdict(found), "bias_readings": dataclasses.asdict(readings)}
    files = {
        f"calibration/{name}.md": _markdown(f"calibrate: {found.judge}", how, CalibrationView(found, readings)),
        f"calibration/{name}.csv": str(found.to_frame().to_csv(index=False)),
        f"calibration/{name}.json": json.dumps(whole, ensure_ascii=False, indent=2),
    }
    if found.judge_human is not None:
        files[f"calibration/{name}_agreement.csv"] = str(found.judge_human.to_frame().to_csv(index=False))
    sample = "a random sample" if found.random_sample else "no random sample, nothing corrected"
    agreed = "none of them scored" if found.judge_human is None else _in_words(found.judge_human)
    return Finding(files, {f"runner.calibration.{name}": f"{found.labelled} labels ({sample}): {agreed}"})


def _in_words(found: Agreement) -> str:
    shown = {name: found.coefficients[name] for name in _SHOWN if name in found.coefficients}
    parts = [f"{_SHOWN[name]} {_value(one)}" for name, one in shown.items()]
    bias = [] if found.bias is None else [f"bias {found.bias:+.2f}"]
    return ", ".join([*parts, *bias]) or "no answer has two ratings"


def _value(one: Coefficient) -> str:
    if one.value is None:
        return "undefined"
    return f"{one.value:.2f}" + ("" if one.interval is None else f" [{one.interval.low:.2f}, {one.interval.high:.2f}]")


def _markdown(title: str, how: str, shown: RenderableType) -> str:
    """The terminal's text, fenced, as tables and names in it are no markup."""
    from rich.console import Console

    from runner.report.text import plain

    console = Console(width=WIDTH, no_color=True, force_terminal=False, highlight=False)
    with console.capture() as captured:
        console.print(shown)
    text = "\n".join(line.rstrip() for line in captured.get().splitlines())
    return f"# {plain(title, True)}\n\n{plain(how, True)}\n\n~~~~~~text\n{text}\n~~~~~~\n"


def _name(metric: str, measure: Measure) -> str:
    return _safe(metric) + ("_pass_rate" if measure == Measure.PASS_RATE else "")


def _safe(name: str) -> str:
    return re.sub(r"[^\w.-]", "_", name)
