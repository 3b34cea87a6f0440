"""The verb ``plan``: prints what a run or a sweep will cost, without a paid call."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from decimal import Decimal

from rich.console import Console
from rich.text import Text

from runner.calls.prices import show as dollars
from runner.config import home
from runner.config.arguments import parse_arguments
from runner.config.composition import prepare
from runner.errors import ConfigurationError, ExitCode
from runner.report.tables import table_or_blocks
from runner.report.text import plain
from runner.sweeps.announcing import between
from runner.sweeps.estimates import Range
from runner.sweeps.identity import drop_duplicates, duplicate_sentence
from runner.sweeps.novelty import novelties
from runner.sweeps.plan import plan_sweep
from runner.sweeps.plan_totals import JobPlan, SweepPlan


def main(argv: Sequence[str]) -> int:
    """``runner plan [-m] [overrides]``."""
    arguments = parse_arguments(argv)
    if arguments.information:
        raise ConfigurationError(f"plan: {' '.join(arguments.information)} is not for this verb; give only overrides")
    jobs, duplicates = drop_duplicates(
        prepare(arguments.overrides, multirun=arguments.multirun, source=arguments.source, needs_keys=False)
    )
    plan = asyncio.run(plan_sweep(jobs, duplicates, home()))
    console = Console()
    show(plan, console)
    for sentence in novelties(jobs, home()):
        console.print(Text(plain(sentence)))
    return ExitCode.DONE


COLUMNS = ("job", "calls", "unique", "in ledger", "new tokens in", "new tokens out", "USD low", "expected", "high")


def show(plan: SweepPlan, console: Console) -> None:
    """The plan as a table (a block a job where the terminal is narrow), with its grounds and its warnings."""
    jobs = (*plan.jobs, plan.total) if len(plan.jobs) > 1 else plan.jobs
    console.print(table_or_blocks(COLUMNS, [_row(job) for job in jobs], console.width))
    for sentence in _sentences(plan):
        console.print(Text(sentence))


def _row(job: JobPlan) -> list[str]:
    cost = (
        [dollars(None)] * 3
        if job.cost is None
        else [dollars(job.cost.low), dollars(job.cost.expected), dollars(job.cost.high)]
    )
    return [
        plain(job.name, single_line=True),
        between(job.calls_low, job.calls_high),
        between(job.unique_low, job.unique_high),
        between(job.held_low, job.held_high),
        _tokens(job.input_tokens),
        _tokens(job.output_tokens),
        *cost,
    ]


def _tokens(tokens: Range) -> str:
    low, high = int(tokens.low), int(tokens.high)
    return between(low, high)


def _sentences(plan: SweepPlan) -> list[str]:
    found = [duplicate_sentence(dropped, kept) for dropped, kept in plan.duplicates.items()]
    found.append(plan.grounds)
    if plan.total.cost is not None and plan.total.cost.high == Decimal(0):
        found.append("nothing here is paid for")
    if plan.total.unknown_prices:
        names = ", ".join(plan.total.unknown_prices)
        found.append(
            f"price unknown: {names}; write it to conf/prices/NAME.yaml and add prices=NAME, or the spend stays unknown"
        )
    found.append(f"time at the set limits: about {_duration(plan.seconds)}")
    found.extend(f"note: {warning}" for warning in plan.warnings)
    return found


def _duration(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:.0f} s"
    minutes = seconds / 60
    return f"{minutes:.0f} min" if minutes < 90 else f"{minutes / 60:.1f} h"
