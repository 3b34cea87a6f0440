"""The Python API: what the command line does, as functions. The command line is a thin layer over the same rooms."""

from __future__ import annotations

import asyncio
import concurrent.futures
import warnings
from collections.abc import Callable, Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from runner.config import Job, check, compose_jobs, home
from runner.config.environment import load_dotenv_file
from runner.errors import ConfigurationError, RunnerError
from runner.findings import Calibration, GateReport, SweepComparison
from runner.records import RunResult, RunStatus, SweepResult

if TYPE_CHECKING:
    import pandas

Result = TypeVar("Result")


def evaluate(overrides: Sequence[str] = (), *, output_dir: str | Path | None = None, quiet: bool = True) -> RunResult:
    """Runs one configuration, as ``python -m runner OVERRIDES`` does, and returns its records.

    Works in a script and in a notebook (under a running event loop). Like the command line it reads ``.env`` of the
    working directory first; the environment wins over it. What the ledger and the journal hold is not paid again.

    Parameters
    ----------
    overrides
        A list of texts, each as one word of the command line: ``["stack=openai", "retriever.top_k=3"]``.
    output_dir
        Where the files of the run go; by default a new folder under ``outputs``.
    quiet
        False shows the progress on standard error.

    Returns
    -------
    RunResult
        ``records`` has one record a question, in the order of the question set: the retrieved chunks, the answer, a
        score a judge. Money is ``Decimal`` US dollars, latencies are seconds. Questions that failed are records with a
        status and a reason, and the run's ``status`` says so: nothing is raised for them.

    Raises
    ------
    ConfigurationError
        Everything that is wrong with the overrides in one message, before anything is paid.
    TrackingUnavailable
        The tracking server does not answer; nothing was paid.
    RunnerError
        What stopped the run, such as a refused key; what is finished is kept.
    KeyboardInterrupt
        Ctrl-C, or the notebook's stop; what is finished is kept.
    """
    load_dotenv_file()
    result = _run(compose_jobs(_overrides(overrides), multirun=False), output_dir, quiet)
    return result.runs[0]


def sweep(overrides: Sequence[str] = (), *, output_dir: str | Path | None = None, quiet: bool = True) -> SweepResult:
    """Runs all combinations, as ``python -m runner -m OVERRIDES`` does, and returns their runs.

    Parameters, environment and errors are those of ``evaluate``; ``output_dir`` gets a folder a job. ``runs`` are in
    the order of the combinations, equal ones once. A run that failed is among them with its status.
    """
    load_dotenv_file()
    return _run(compose_jobs(_overrides(overrides), multirun=True), output_dir, quiet)


def load(name: str, *, uri: str | None = None) -> tuple[RunResult, ...]:
    """The stored runs that a name means; costs nothing.

    ``name`` is a sweep's id or name, a job key, a run's name, an MLflow run id (of a job or a sweep), or
    ``tag:NAME:VALUE``. Of several launches with one name or tag the newest counts. Runs that are not in the home are
    read from the tracking store: ``uri``, else that of the configuration, else the local one. Their calls count as
    taken from the ledger (a new cost of 0).
    Raises ConfigurationError where nothing fits or where it is not clear what (the candidates are listed), and
    TrackingUnavailable where the tracking server does not answer.
    """
    from runner.sweeps.stored import load as load_stored

    load_dotenv_file()
    return load_stored(home(), name, uri=uri)


def frame(*runs: str | RunResult | SweepResult, uri: str | None = None) -> pandas.DataFrame:
    """The questions of stored or given runs as a pandas DataFrame, one row a question and run; costs nothing.

    ``runs`` are results, or what ``load`` takes (with its ``uri`` and its errors). Each judge has the columns
    ``NAME_score``, ``NAME_label``, ``NAME_passed``, ``NAME_status`` and ``NAME_reasoning``; undefined numbers are
    missing values. Money is in US dollars.
    """
    from runner.sweeps.exporting import frame as frame_of

    return frame_of(_results(runs, uri))


def gate(
    *runs: str | RunResult | SweepResult, overrides: Sequence[str] = ("gate=default",), uri: str | None = None
) -> GateReport:
    """Puts stored or given runs before a gate, as ``python -m runner report NAME --gate`` does; costs nothing.

    ``overrides`` say the gate: ``["gate.thresholds=[{metric: grounding/mean, at_least: 4}]"]``; empty: the one that the
    runs were launched with. ``.passed`` and ``.sentence`` say what came out, ``.checks`` one check each. ``runs`` are
    those of ``frame``. Raises ConfigurationError where there is no gate, or it names what the runs do not have.
    """
    from runner.sweeps.regating import decided_gate

    found = _results(runs, uri)
    return decided_gate(found, _overrides(overrides), uri=uri)


def compare(
    *runs: str | RunResult | SweepResult,
    metric: str | None = None,
    baseline: str | None = None,
    measure: str = "mean",
    cluster_by: str = "gold",
    margin: float | None = None,
    seed: int = 7,
    uri: str | None = None,
    confirm: float | None = None,
    log: bool = False,
) -> SweepComparison:
    """Compares stored or given runs on one metric, question by question; costs nothing.

    ``runs`` are results, or what ``load`` takes (with its ``uri`` and its errors). ``compare(a, b).pairs[0].sentence``
    is the verdict in words, ``.to_frame()`` a DataFrame, one row a pair.

    Parameters
    ----------
    metric
        A judge's name (default: the first judge), or a retrieval metric such as ``retrieval/hit_rate_at_3``.
    baseline
        The name or key of one of the runs, or what ``load`` takes for another one: all are compared with it alone.
    measure
        ``mean`` or ``pass_rate``; differences and ``margin`` are in its units: those of the judge's scale, or shares
        between 0 and 1.
    cluster_by
        What belongs together: questions with the same ``gold`` documents, each ``question`` by itself, or those with
        the same value of a metadata field.
    margin
        Differences up to this do not matter; by default 5 % of the scale.
    confirm
        0.5 picks the best on half of the questions and confirms it on the other half (``.confirmation``).
    log
        Keeps the result as files and a tag with the parent run of the sweep in MLflow (of each sweep, where there are
        several); the same again replaces it. Where that cannot be done a warning says why.

    Raises
    ------
    ConfigurationError
        There is nothing to compare, or no such metric or baseline.
    """
    from runner.sweeps.comparing import compare_stored, log_comparisons

    given = _results(runs, uri)
    found = compare_stored(
        given,
        metric,
        baseline=baseline,
        measure=measure,
        cluster_by=cluster_by,
        margin=margin,
        seed=seed,
        uri=uri,
        confirm=confirm,
    )
    if log:
        logged = log_comparisons(
            [found], runs, given, uri=uri, measure=measure, cluster_by=cluster_by, margin=margin, seed=seed
        )
        _warn(logged.problems)
    return found


def calibrate(
    *runs: str | RunResult | SweepResult,
    labels: Sequence[Path | str],
    judge: str | None = None,
    measure: str = "mean",
    cluster_by: str = "gold",
    seed: int = 7,
    uri: str | None = None,
    log: bool = False,
) -> Calibration:
    """Sets a judge against human labels, as ``python -m runner calibrate`` does; costs nothing.

    ``runs`` are those given to ``label``, as results, or what ``load`` takes (with its ``uri`` and its errors).
    ``.judge_human`` is the agreement (``.to_frame()``: one row a coefficient); ``.to_frame()`` has one row a mean or
    difference, as the judge sees it and as the labels correct it.

    Parameters
    ----------
    labels
        The files that ``label`` wrote and a person filled in, one a person.
    judge
        Its name (default: the first judge).
    measure, cluster_by, log
        As in ``compare``.

    Raises
    ------
    ConfigurationError
        No run has the judge, or a file cannot be read or has labels that are not on its scale.
    """
    from runner.sweeps.calibrating import calibrate_stored, log_calibration

    given = _results(runs, uri)
    files = [Path(path) for path in ([labels] if isinstance(labels, str | Path) else labels)]
    found = calibrate_stored(given, files, judge, measure=measure, cluster_by=cluster_by, seed=seed)
    if log:
        _warn(log_calibration(found, runs, given, uri=uri, measure=measure, cluster_by=cluster_by, seed=seed).problems)
    return found[0]


def _warn(problems: Sequence[str]) -> None:
    for problem in problems:
        warnings.warn(problem, stacklevel=3)


def _results(runs: Sequence[str | RunResult | SweepResult], uri: str | None) -> list[RunResult]:
    load_dotenv_file()
    found: list[RunResult] = []
    for run in runs:
        if isinstance(run, str):
            found.extend(load(run, uri=uri))
        else:
            found.extend(run.runs if isinstance(run, SweepResult) else (run,))
    return found


def _overrides(given: Sequence[str]) -> tuple[str, ...]:
    if isinstance(given, str):
        raise ConfigurationError(f"overrides: {given!r} is one text; give a list, such as [{given!r}]")
    return tuple(given)


def _run(jobs: Sequence[Job], output_dir: str | Path | None, quiet: bool) -> SweepResult:
    problems = check(jobs)
    if problems:
        raise ConfigurationError(problems)
    from runner.sweeps.launch import run_jobs

    folder = Path(output_dir) if output_dir else Path("outputs") / datetime.now().strftime("%Y-%m-%d/%H-%M-%S-%f")
    outcome = _outside_running_loop(lambda: run_jobs(jobs, output_dir=folder, quiet=quiet))
    if outcome.stopped_by:
        raise RunnerError(outcome.stopped_by)
    if outcome.result.status is RunStatus.INTERRUPTED:
        raise KeyboardInterrupt
    return outcome.result


def _outside_running_loop(work: Callable[[], Result]) -> Result:
    """Does the work here, or in a thread of its own where this thread runs an event loop already."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return work()
    with concurrent.futures.ThreadPoolExecutor(max_workers=1) as executor:
        return executor.submit(work).result()
