"""The verb ``ledger``: what the ledger holds and has cost, and what may go."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

from runner.calls.prices import show
from runner.calls.upkeep import LedgerReport, Spending, ledger_exists, ledger_report, prune
from runner.config import paths
from runner.config.numbers import real_number
from runner.errors import ConfigurationError, ExitCode, Problem
from runner.text.terminal import plain

_RUNS_SHOWN = 20


def main(arguments: Sequence[str]) -> int:
    """``ledger [prune] [--older-than DAYS] [--run KEY] [--model NAME] [--yes] [--ledger URL]``."""
    given = _parser().parse_args(list(arguments))
    home = paths.home()
    if not ledger_exists(given.ledger, home):
        print(f"There is no ledger in {home} yet: no call has been made.")
        return ExitCode.DONE
    if given.action == "prune":
        return _prune(given)
    _print(ledger_report(given.ledger, home))
    return ExitCode.DONE


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="runner ledger", description="What the ledger holds and has cost.")
    parser.add_argument("action", nargs="?", choices=["show", "prune"], default="show")
    parser.add_argument("--ledger", metavar="URL", help="as calls.ledger; without it the one in the home")
    only = parser.add_argument_group("prune takes away calls that fit all of these, and only with --yes")
    only.add_argument("--older-than", metavar="DAYS", type=real_number(0, 36_500))
    only.add_argument("--run", metavar="KEY", help="the job's key")
    only.add_argument("--model", metavar="NAME")
    only.add_argument("--yes", action="store_true", help="really; without it prune only says what would go")
    return parser


def _prune(given: argparse.Namespace) -> int:
    if given.older_than is None and given.run is None and given.model is None:
        remedy = "name --older-than DAYS, --run KEY or --model NAME"
        raise ConfigurationError([Problem("ledger prune", "does not say what should go", remedy)])
    before = None if given.older_than is None else datetime.now(UTC) - timedelta(days=given.older_than)
    gone = prune(given.ledger, paths.home(), before=before, run=given.run, model=given.model, dry=not given.yes)
    what = f"{gone.calls} calls ({gone.attempts} attempts)"
    if given.yes:
        print(f"Taken away: {what}, {_bytes(gone.freed_bytes)} freed. They are paid again when they are asked again.")
    else:
        print(f"Would take away {what}. They would be paid again when they are asked again; add --yes to do it.")
    return ExitCode.DONE


_COLUMNS = ("calls", "attempts", "failed", "tokens in", "tokens out", "cost", "possibly paid")


def _print(report: LedgerReport) -> None:
    from rich.console import Console
    from rich.text import Text

    from runner.text.tables import table_or_blocks

    console = Console()

    def say(sentence: str) -> None:
        console.print(Text(plain(sentence, single_line=True)))

    size = "" if report.size_bytes is None else f", {_bytes(report.size_bytes)}"
    say(f"{report.place}: {report.calls} calls, {report.attempts} attempts{size}")
    if not report.attempts:
        return
    say(f"from {report.oldest[:19]} to {report.newest[:19]} UTC")
    groups = (("model", report.by_model), ("stage", report.by_stage), ("run", report.by_run[:_RUNS_SHOWN]))
    for name, spendings in groups:
        console.print()
        say(f"by {name}")
        console.print(table_or_blocks((name, *_COLUMNS), [_cells(one) for one in spendings], console.width))
    if len(report.by_run) > _RUNS_SHOWN:
        say(f"and {len(report.by_run) - _RUNS_SHOWN} earlier runs")


def _cells(spending: Spending) -> list[str]:
    cost = show(spending.cost)
    if spending.unpriced:
        cost = "unknown" if spending.cost == 0 else f"{cost} + {spending.unpriced} unknown"
    return [
        plain(spending.name, single_line=True) or "(none)",
        str(spending.calls),
        str(spending.attempts),
        str(spending.failed),
        f"{spending.usage.input_tokens:,}",
        f"{spending.usage.output_tokens:,}",
        cost,
        show(spending.possibly_paid) if spending.possibly_paid else "",
    ]


def _bytes(count: int) -> str:
    size = float(count)
    for unit in ("B", "kB", "MB"):
        if size < 1000:
            return f"{size:.0f} {unit}" if unit == "B" else f"{size:.1f} {unit}"
        size /= 1000
    return f"{size:.1f} GB"
