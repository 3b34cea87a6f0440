"""Launches checked jobs from the command line: runs them, prints the table, and says how it ended."""

from __future__ import annotations

import asyncio
import contextlib
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from runner.calls.prices import show as dollars
from runner.config import Job, home
from runner.config.quiet import wanted
from runner.errors import ExitCode, RunnerError, StorageError
from runner.records import AnswerStatus, RunStatus
from runner.sweeps.collector import calm_collector
from runner.sweeps.gating import Gating
from runner.sweeps.keeping import keep_sweep
from runner.sweeps.outcome import SweepOutcome
from runner.sweeps.parents import inherited
from runner.sweeps.report_file import FILE_NAME
from runner.sweeps.sweep import Sweep
from runner.sweeps.tracked import git_commit

EXIT_CODES = {
    RunStatus.COMPLETE: ExitCode.DONE,
    RunStatus.INCOMPLETE: ExitCode.INCOMPLETE,
    RunStatus.FAILED: ExitCode.INCOMPLETE,
    RunStatus.BUDGET: ExitCode.BUDGET_REACHED,
    RunStatus.INTERRUPTED: ExitCode.INTERRUPTED,
}

NOTHING_KEPT = (
    "interrupted before a question was finished; the same command begins again, with all that was stored before"
)
WIDEST = 100
"""Columns of a line that shows an answer."""
BAD_SHOWN = 10
"""How many recorded answers that did not pass are shown after a launch, for each judge."""


def run_jobs(jobs: Sequence[Job], *, output_dir: Path, quiet: bool = False) -> SweepOutcome:
    """Runs the jobs together and keeps what the sweep was; blocks until all is written.

    Ctrl-C ends it with what is finished and the status ``interrupted``.
    Raises ConfigurationError or TrackingUnavailable before anything is paid.
    """
    from rich.console import Console

    belongs_to_another = inherited() is not None
    # Jobs of a sweep that another process launched are gated there, all together.
    gating = None if belongs_to_another else Gating.open(jobs, home(), output_dir)
    sweep = Sweep(jobs, home=home(), output_dir=output_dir, console=Console(stderr=True), quiet=quiet, gating=gating)
    with contextlib.suppress(KeyboardInterrupt):
        sweep.prepare()
        with calm_collector():
            asyncio.run(sweep.run())
    if gating is None or (sweep.outcome().result.status is RunStatus.INTERRUPTED and not began(sweep.outcome())):
        return sweep.outcome()
    outcome = remembered(sweep.outcome())
    return gating.judged(outcome) if outcome.gate is None else outcome


def began(outcome: SweepOutcome) -> bool:
    """Whether anything is there to be kept or told: a finished question, a call."""
    paid = outcome.possibly_paid or outcome.paid_besides
    return bool(paid) or any(run.records or run.calls for run in outcome.result.runs)


def launch(jobs: Sequence[Job], *, output_dir: Path, quiet: bool = False) -> ExitCode:
    """``run_jobs`` for a shell: prints the table and where to look next, returns the exit code."""
    try:
        outcome = run_jobs(jobs, output_dir=output_dir, quiet=quiet or wanted())
    except StorageError as error:
        # Raised only before the first call: later ones end the run with what is kept.
        print(error, file=sys.stderr)
        return ExitCode.BAD_CONFIGURATION
    except RunnerError as error:
        print(error, file=sys.stderr)
        return error.exit_code
    show(outcome, quiet=quiet)
    return exit_code(outcome)


def exit_code(outcome: SweepOutcome) -> ExitCode:
    """The exit code of a launch that got past its checks."""
    if outcome.stopped_by and outcome.result.status is RunStatus.INTERRUPTED:
        return ExitCode.INCOMPLETE
    code = EXIT_CODES[outcome.result.status]
    if code is ExitCode.DONE and outcome.gate is not None and not outcome.gate.passed:
        return ExitCode.GATE_FAILED
    return code


def show(outcome: SweepOutcome, quiet: bool = False) -> None:
    """Prints what came out to standard output; for a job of a sweep that another process began only what to mind.

    ``quiet``, and the flag of that name: no answers and no name of the report, only the numbers and what to mind.
    """
    from rich.console import Console
    from rich.text import Text

    from runner.report.leaderboard import render_leaderboard
    from runner.report.lowest import lowest_lines
    from runner.report.text import plain
    from runner.report.verdicts import render_verdicts
    from runner.sweeps.comparisons import verdict_lines

    console = Console()
    if inherited() is not None:
        # The process that began the sweep shows all jobs in one table; only that of this one is known here.
        for line in filter(None, (outcome.stopped_by, *outcome.notes)):
            console.print(Text(plain(line)))
        return
    result = outcome.result
    if result.status is RunStatus.INTERRUPTED and not began(outcome) and not outcome.stopped_by:
        console.print(Text(NOTHING_KEPT))
        return
    if result.runs:
        console.print(render_leaderboard([(run, outcome.summaries[run.job_key]) for run in result.runs]))
    recorded = [run for run in result.runs if run.choices.get("generator.kind") == "recorded"]
    if recorded:
        console.print(render_verdicts(recorded, most=BAD_SHOWN))
    is_quiet = quiet or wanted()
    generated = [run for run in result.runs if run not in recorded]
    for line in () if is_quiet else lowest_lines(generated, min(console.width, WIDEST)):
        shown = Text(line)
        shown.truncate(min(console.width, WIDEST), overflow="ellipsis")
        console.print(shown)
    for line in (*verdict_lines(outcome.comparisons), *_sentences(outcome, is_quiet)):
        console.print(Text(plain(line)))


def _sentences(outcome: SweepOutcome, quiet: bool) -> list[str]:
    """What is said below the tables."""
    result = outcome.result
    said = [outcome.stopped_by, *outcome.notes]
    if outcome.repeats is not None:
        first = outcome.repeats
        said.append(f"nothing is new: all of it was stored by sweep {first.id} ({first.started_at[:16]}); no call made")
    if outcome.gate is not None:
        said.append(outcome.gate.sentence)
    if outcome.possibly_paid:
        amount = dollars(outcome.possibly_paid)
        said.append(f"possibly paid as well: up to {amount}, for attempts that ended without a usage")
    if outcome.plan is not None:
        said.append(plan_against_actual(outcome))
    if outcome.paid_besides:
        amount = dollars(outcome.paid_besides)
        said.append(f"of that, {amount} went to questions left unfinished; the next run has the replies")
    folders = list(outcome.folders.values())
    if folders:
        folder = folders[0] if len(folders) == 1 else folders[0].parent
        said.append(f"files: {folder}")
        page = folder / FILE_NAME
        if not quiet and page.is_file():
            here = Path.cwd()
            said.append(f"report: {page.relative_to(here) if page.is_relative_to(here) else page}")
    if result.status is RunStatus.INTERRUPTED and not outcome.stopped_by:
        said.append("interrupted: what is finished is kept, the same command goes on from here")
    said.append(_where_to_compare(outcome))
    return [sentence for sentence in said if sentence]


def _where_to_compare(outcome: SweepOutcome) -> str:
    """How to see more; empty where there is no place for it, or nothing to be seen there."""
    runs = outcome.result.runs
    answered = sum(any(record.answer.status is AnswerStatus.ANSWERED for record in run.records) for run in runs)
    ways = ["python -m runner ui"] if answered and any(outcome.tracked) else []
    ways += [f"python -m runner compare {outcome.result.id}"] if answered > 1 else []
    return f"compare question by question: {'; or: '.join(ways)}" if ways else ""


def plan_against_actual(outcome: SweepOutcome) -> str:
    """One sentence: what was planned, and what was spent."""
    plan = outcome.plan
    assert plan is not None
    spent = [outcome.summaries[run.job_key].new_cost for run in outcome.result.runs]
    actual = None if None in spent else sum((cost for cost in spent if cost is not None), outcome.paid_besides)
    if plan.cost is None:
        return f"planned: price unknown for {', '.join(plan.unknown_prices)}; spent {dollars(actual)}"
    low, expected, high = (dollars(amount) for amount in (plan.cost.low, plan.cost.expected, plan.cost.high))
    return f"planned {low} to {high} (expected {expected}), spent {dollars(actual)}"


def remembered(outcome: SweepOutcome) -> SweepOutcome:
    """Keeps what the sweep came to in the home, so that reports find it later; where that fails, a note says so."""
    said = tuple(sentence for sentence in (outcome.stopped_by, *outcome.notes) if sentence)
    problem = keep_sweep(
        home(), outcome.result, plan=outcome.plan, said=said, commit=git_commit(), tracked=outcome.tracked
    )
    return replace(outcome, notes=(*outcome.notes, problem)) if problem else outcome
