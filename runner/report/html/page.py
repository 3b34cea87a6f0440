"""Puts the sections into one page: everything inline, every text made safe, nothing that a browser could ask for."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from runner.findings import BiasReadings, SweepComparison
from runner.records import RunSummary, SweepResult
from runner.report.html.given import PlannedSpend, ReportInput, Reproduction
from runner.report.text import plain

if TYPE_CHECKING:
    from jinja2 import Environment

_TEMPLATES = "runner.report.html"


def render_report(
    sweep: SweepResult,
    summaries: Mapping[str, RunSummary],
    comparisons: Sequence[SweepComparison] = (),
    *,
    biases: Sequence[BiasReadings] = (),
    planned: PlannedSpend | None = None,
    reproduction: Reproduction | None = None,
    notes: Sequence[str] = (),
) -> str:
    """The report as one HTML document.

    Parameters
    ----------
    summaries
        By job key, for every run of the sweep.
    comparisons
        One a metric, the most important first. The first one's first sentence is the verdict.
    planned
        ``None`` where nothing was planned, as for stored runs.
    """
    from runner.report.html.sections import SECTIONS
    from runner.report.html.sections.verdict import verdict

    given = ReportInput(
        sweep=sweep,
        summaries=summaries,
        comparisons=tuple(comparisons),
        biases=tuple(biases),
        planned=planned,
        reproduction=reproduction or Reproduction(),
        notes=tuple(notes),
    )
    style, script = _file("style.css"), _file("report.js")
    return (
        _environment()
        .get_template("page.html")
        .render(
            title=sweep.name or sweep.id,
            verdict=verdict(given),
            sections=[section for make in SECTIONS if (section := make(given)) is not None],
            style=_raw(style),
            script=_raw(script),
            script_hash=_raw(_source_hash(script)),
        )
    )


@cache
def _environment() -> Environment:
    from jinja2 import Environment, PackageLoader, StrictUndefined

    return Environment(
        loader=PackageLoader(_TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_visible,
    )


def _visible(value: Any) -> Any:
    """Every text on its way into the page: control characters and bidirectional marks become visible."""
    from markupsafe import Markup

    return value if isinstance(value, Markup) else plain(str(value))


def _raw(text: str) -> Any:
    from markupsafe import Markup

    return Markup(text)  # noqa: S704 (only our own files come here)


@cache
def _file(name: str) -> str:
    return (files(_TEMPLATES) / "templates" / name).read_text(encoding="utf-8")


def _source_hash(script: str) -> str:
    """What the content security policy calls the one script that may run."""
    return "sha256-" + base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
