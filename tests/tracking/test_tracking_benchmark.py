"""What writing costs: CPU and bytes a question, and the time it adds to a run. Asserts that nothing is lost."""

from __future__ import annotations

import asyncio
import os
import shutil
import sqlite3
import time
from dataclasses import dataclass
from pathlib import Path

import pytest

from runner.config import schema
from runner.records import RunStatus
from runner.tracking import NullTracker, Tracker, TrackingReport, open_tracking
from tests.fakes.records import full_record, full_run, full_summary
from tests.tracking.conftest import rows, start

pytestmark = [pytest.mark.benchmark, pytest.mark.timeout(1800)]
QUESTIONS = int(os.environ.get("TRACKING_BENCHMARK_QUESTIONS", "5000"))
JUDGES = 3
LATENCY_S = 0.2
CONCURRENCY = 32
CALL_CPU_S = 0.0015
"""What our own door costs for each call, so that the loop is as busy as it really is."""


@dataclass(frozen=True)
class Measured:
    """One run: seconds on the clock, of which at the end (waiting for the writer), and our own CPU seconds."""

    wall: float
    tail: float
    cpu: float
    report: TrackingReport


async def evaluate(tracker: Tracker, questions: int) -> Measured:
    """The shape of a run: one answer, then all judges, with every call at the given latency."""
    parent = await asyncio.to_thread(tracker.start_sweep, "bench", "s", {}, {})
    run_id = start(tracker, parent, "bench", questions)
    places = asyncio.Semaphore(CONCURRENCY)

    async def call() -> None:
        async with places:
            busy = time.perf_counter() + CALL_CPU_S
            while time.perf_counter() < busy:
                pass
            await asyncio.sleep(LATENCY_S)

    async def question(number: int) -> None:
        await call()
        await asyncio.gather(*(call() for _ in range(JUDGES)))
        tracker.log_record(run_id, records[number])

    records = [full_record(number) for number in range(questions)]
    began, busy = time.monotonic(), time.process_time()
    await asyncio.gather(*(question(number) for number in range(questions)))
    evaluated = time.monotonic()
    tracker.finish_run(run_id, full_run("bench", records), full_summary(records), {})
    tracker.finish_sweep(parent, RunStatus.COMPLETE, {}, {})
    report = await asyncio.to_thread(tracker.close)
    ended = time.monotonic()
    return Measured(ended - began, ended - evaluated, time.process_time() - busy, report)


def test_what_logging_costs_and_that_every_trace_is_complete(tmp_path: Path, made_tables: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    shutil.copyfile(made_tables, home / "mlflow.db")
    small = asyncio.run(evaluate(open_tracking(schema.Tracking(kind="mlflow", experiment="warm"), home), 20))
    before = os.path.getsize(home / "mlflow.db")
    without = asyncio.run(evaluate(NullTracker(), QUESTIONS))
    tracker = open_tracking(schema.Tracking(kind="mlflow", experiment="bench"), home)
    logged = asyncio.run(evaluate(tracker, QUESTIONS))

    connection = sqlite3.connect(home / "mlflow.db")
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    connection.close()
    each_ms = (logged.report.writer_cpu_s - small.report.writer_cpu_s) / QUESTIONS * 1000
    size = (os.path.getsize(home / "mlflow.db") - before) / QUESTIONS
    print(
        f"\n{QUESTIONS} questions x {JUDGES} judges, {LATENCY_S * 1000:.0f} ms, {CONCURRENCY} calls at once: "
        f"writer {each_ms:.1f} ms CPU and {size / 1024:.1f} kB a question; "
        f"the run itself {(logged.cpu - without.cpu) / QUESTIONS * 1000:.2f} ms CPU; "
        f"wall {without.wall:.1f} s without, {logged.wall:.1f} s with logging ({logged.wall / without.wall - 1:+.1%}), "
        f"{logged.tail:.1f} s of it at the end; "
        f"load {os.getloadavg()[0]:.1f}"
    )
    assert logged.report.problems == ()
    assert logged.report.traces_written == QUESTIONS
    assert rows(home, "select count(*) from trace_info") == [QUESTIONS + 20]
    assert rows(home, "select count(*) from assessments") == [(QUESTIONS + 20) * (JUDGES + 1)]
    assert rows(home, "select count(*) from spans") == [(QUESTIONS + 20) * (JUDGES + 3)]
