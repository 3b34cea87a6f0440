"""Makes ``report.html`` of a sweep: gathers what the report room may not work out itself, and writes the file."""

from __future__ import annotations

import logging
import platform
import shlex
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from runner.findings import BiasReadings
from runner.records import RunResult
from runner.report.html import PlannedSpend, Reproduction, render_report
from runner.sweeps.outcome import SweepOutcome
from runner.sweeps.plan_totals import JobPlan
from runner.sweeps.warnings import family
from runner.text import without_surrogates

logger = logging.getLogger(__name__)

FILE_NAME = "report.html"
PACKAGES = ("rag-judge-runner", "mlflow", "hydra-core", "openai", "chromadb", "numpy", "scipy")


def write_report(outcome: SweepOutcome, path: Path, commit: str = "") -> str:
    """Writes the report; returns a sentence where that did not work, as the runs themselves are whole without it."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary = path.with_suffix(".tmp")
        temporary.write_text(without_surrogates(report_html(outcome, commit)), encoding="utf-8")
        temporary.replace(path)
    except OSError as error:
        return f"{path}: cannot be written ({error.strerror}); `runner report {outcome.result.id} --html FILE` does it"
    except Exception as error:
        logger.exception("report of sweep %s", outcome.result.id)
        return f"{path}: could not be made (unforeseen {type(error).__name__}: {error}); the runs are whole"
    return ""


def report_html(outcome: SweepOutcome, commit: str = "") -> str:
    """The report as one HTML document."""
    runs = outcome.result.runs
    return render_report(
        outcome.result,
        outcome.summaries,
        outcome.comparisons,
        biases=_biases(runs),
        planned=None if outcome.plan is None else _planned(outcome.plan),
        reproduction=Reproduction(commands(runs), _versions(), commit),
        notes=[sentence for sentence in (outcome.stopped_by, *outcome.notes) if sentence],
    )


def commands(runs: Sequence[RunResult]) -> tuple[str, ...]:
    """What to type for the same jobs: one line with ``-m`` where they are a grid, else a line a job."""
    merged = _grid([run.overrides for run in runs]) if len(runs) > 1 else None
    if merged is not None:
        return (_line(["-m", *merged]),)
    return tuple(_line(run.overrides) for run in runs)


def _line(arguments: Sequence[str]) -> str:
    return shlex.join(["python", "-m", "runner", *arguments])


def _grid(lines: Sequence[Sequence[str]]) -> list[str] | None:
    """One override a key with all its values; ``None`` where the jobs are not all combinations of these."""
    keys = [[override.partition("=")[0] for override in line] for line in lines]
    if any(one != keys[0] for one in keys) or len(set(keys[0])) != len(keys[0]):
        return None
    merged, combinations = [], 1
    for place, key in enumerate(keys[0]):
        values = list(dict.fromkeys(line[place].partition("=")[2] for line in lines))
        if len(values) > 1 and any(set(value) & set(",[]{}()'\" ") for value in values):
            return None
        combinations *= len(values)
        merged.append(f"{key}={','.join(values)}")
    return merged if combinations == len(lines) else None


def _biases(runs: Sequence[RunResult]) -> list[BiasReadings]:
    judges = dict.fromkeys(name for run in runs for record in run.records for name in record.scores)
    if not judges:
        return []
    from runner.statistics.biases import bias_readings

    return [bias_readings(runs, judge, family_of=family) for judge in judges]


def _planned(plan: JobPlan) -> PlannedSpend:
    cost = plan.cost
    low, expected, high = (None, None, None) if cost is None else (cost.low, cost.expected, cost.high)
    return PlannedSpend(low, expected, high, plan.unique_low, plan.unique_high, plan.unknown_prices)


def _versions() -> dict[str, str]:
    found = {"python": platform.python_version()}
    for package in PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found
