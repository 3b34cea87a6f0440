"""The verb ``report``: shows stored sweeps and runs again, or writes them as files, without a call."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from runner.config import home
from runner.errors import ConfigurationError, ExitCode
from runner.sweeps.exporting import export, stored_outcome
from runner.sweeps.stored import stored_sweeps

SHOWN = 20
"""How many sweeps the list shows."""


def main(argv: Sequence[str]) -> int:
    """``runner report [NAME ...] [--verdicts] [--gate] [--FILE-FORMAT FILE] [--sync]``: the sweeps, or those named."""
    parser = argparse.ArgumentParser(prog="runner report", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help="a sweep, a job key, a run's name or MLflow id")
    parser.add_argument("--sync", action="store_true", help="write to the tracking store what waits on disk for it")
    parser.add_argument("--html", type=Path, metavar="FILE", help="write report.html again")
    parser.add_argument("--csv", type=Path, metavar="FILE", help="write one row a question and run")
    parser.add_argument(
        "--verdicts", action="store_true", help="counts and shares, and all that did not pass, with why"
    )
    parser.add_argument("--verdicts-csv", type=Path, metavar="FILE", help="write question, document, score, reasoning")
    parser.add_argument("--jsonl", type=Path, metavar="FILE", help="write everything, one record a line")
    parser.add_argument("--uri", help="the MLflow store to look into (default: that of the configuration)")
    parser.add_argument(
        "--gate",
        nargs="*",
        metavar="OVERRIDE",
        help="decide the gate again: that of the launch, or of these overrides; exit 4 where it fails",
    )
    parser.add_argument("--gate-files", type=Path, metavar="FOLDER", help="write gate.json, gate.xml and gate.md there")
    arguments = parser.parse_args(list(argv))
    files = {
        "html": arguments.html,
        "csv": arguments.csv,
        "jsonl": arguments.jsonl,
        "verdicts": arguments.verdicts_csv,
    }
    if arguments.sync:
        return _sync()
    gated = arguments.gate is not None
    if not arguments.names and (gated or any(files.values())):
        raise ConfigurationError("report: say which sweep or run is to be written; `runner report` lists them")
    if not arguments.names:
        return _list(home())
    outcome = stored_outcome(home(), arguments.names, uri=arguments.uri)
    runs = outcome.result.runs
    if any(files.values()):
        export(outcome, **files)
    if gated:
        from runner.sweeps.regating import report_gate

        return report_gate(outcome, arguments.gate, folder=arguments.gate_files, uri=arguments.uri)
    if any(files.values()):
        return ExitCode.DONE
    from rich.console import Console

    from runner.report.leaderboard import render_leaderboard
    from runner.report.verdicts import render_verdicts

    if arguments.verdicts:
        Console().print(render_verdicts(runs))
        return ExitCode.DONE
    Console().print(render_leaderboard([(run, outcome.summaries[run.job_key]) for run in runs]))
    return ExitCode.DONE


def _list(folder: Path) -> int:
    from rich.console import Console

    from runner.report.tables import table_or_blocks
    from runner.report.text import plain

    sweeps = stored_sweeps(folder)
    console = Console()
    if not sweeps:
        console.print(f"no sweeps in {folder} yet", markup=False)
        return ExitCode.DONE
    rows = [
        [
            plain(text, single_line=True)
            for text in (one["id"], one["name"], one["started_at"][:19], one["status"], str(len(one["jobs"])))
        ]
        for one in sweeps[:SHOWN]
    ]
    console.print(table_or_blocks(("sweep", "name", "started", "status", "jobs"), rows, console.width, left=4))
    return ExitCode.DONE


def _sync() -> int:
    from runner.tracking import sync_spool

    report = sync_spool(home())
    for problem in report.problems:
        print(problem)
    print(f"{report.traces_written} traces written, {report.spooled} entries still wait")
    return ExitCode.INCOMPLETE if report.spooled or report.problems else ExitCode.DONE
