"""The verb ``plan``: prints what a run or a sweep will cost, without a paid call."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from decimal import Decimal

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from runner.calls.prices import show as dollars
from runner.config import home
from runner.config.arguments import parse_arguments
from runner.config.composition import prepare
from runner.errors import ConfigurationError, ExitCode
from runner.sweeps.estimates import Range
from runner.sweeps.plan import plan_sweep
from runner.sweeps.plan_totals import JobPlan, SweepPlan
from runner.sweeps.sweep import drop_duplicates, duplicate_sentence


def main(argv: Sequence[str]) -> int:
    """``runner plan [-m] [overrides]``."""
    arguments = parse_arguments(argv)
    if arguments.information:
        raise ConfigurationError(f"plan: {' '.join(arguments.information)} is not for this verb; give only overrides")
    jobs, duplicates = drop_duplicates(
        prepare(arguments.overrides, multirun=arguments.multirun, source=arguments.source)
    )
    plan = asyncio.run(plan_sweep(jobs, duplicates, home()))
    show(plan, Console())
    return ExitCode.DONE


def show(plan: SweepPlan, console: Console) -> None:
    """The plan as a table, with the grounds of its estimates and its warnings."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("job", overflow="fold")
    for column in ("calls", "unique", "in ledger", "new tokens in", "new tokens out", "USD low", "expected", "high"):
        table.add_column(column, justify="right", no_wrap=False, overflow="fold")
    for job in plan.jobs:
        table.add_row(*_row(job))
    if len(plan.jobs) > 1:
        table.add_section()
        table.add_row(*_row(plan.total), style="bold")
    console.print(table)
    for sentence in _sentences(plan):
        console.print(Text(sentence))


def _row(job: JobPlan) -> list[str]:
    cost = (
        [dollars(None)] * 3
        if job.cost is None
        else [dollars(job.cost.low), dollars(job.cost.expected), dollars(job.cost.high)]
    )
    return [
        job.name,
        _between(job.calls_low, job.calls_high),
        _between(job.unique_low, job.unique_high),
        _between(job.held_low, job.held_high),
        _tokens(job.input_tokens),
        _tokens(job.output_tokens),
        *cost,
    ]


def _between(low: int, high: int) -> str:
    return f"{low:,}" if low == high else f"{low:,}–{high:,}"


def _tokens(tokens: Range) -> str:
    low, high = int(tokens.low), int(tokens.high)
    return f"{low:,}" if low == high else f"{low:,}–{high:,}"


def _sentences(plan: SweepPlan) -> list[str]:
    found = [duplicate_sentence(dropped, kept) for dropped, kept in plan.duplicates.items()]
    found.append(plan.grounds)
    if plan.total.cost is not None and plan.total.cost.high == Decimal(0):
        found.append("nothing here is paid for")
    if plan.total.unknown_prices:
        names = ", ".join(plan.total.unknown_prices)
        found.append(f"price unknown: {names}; give it under prices, or the spend stays unknown")
    found.append(f"time at the set limits: about {_duration(plan.seconds)}")
    found.extend(f"note: {warning}" for warning in plan.warnings)
    return found


def _duration(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:.0f} s"
    minutes = seconds / 60
    return f"{minutes:.0f} min" if minutes < 90 else f"{minutes / 60:.1f} h"
