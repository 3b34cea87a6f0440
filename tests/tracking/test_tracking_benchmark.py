"""What writing costs: CPU and bytes a question, and the time it adds to a run. Asserts that nothing is lost."""

from __future__ import annotations

import asyncio
import os
import shutil
import sqlite3
import time
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


async def evaluate(tracker: Tracker, questions: int) -> tuple[float, TrackingReport]:
    """The shape of a run: one answer, then all judges, with every call at the given latency."""
    began = time.monotonic()
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
    began = time.monotonic()
    await asyncio.gather(*(question(number) for number in range(questions)))
    tracker.finish_run(run_id, full_run("bench", records), full_summary(records), {})
    tracker.finish_sweep(parent, RunStatus.COMPLETE, {}, {})
    report = await asyncio.to_thread(tracker.close)
    return time.monotonic() - began, report


def test_what_logging_costs_and_that_every_trace_is_complete(tmp_path: Path, made_tables: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    shutil.copyfile(made_tables, home / "mlflow.db")
    small = asyncio.run(evaluate(open_tracking(schema.Tracking(kind="mlflow", experiment="warm"), home), 20))[1]
    before = os.path.getsize(home / "mlflow.db")
    without, _ = asyncio.run(evaluate(NullTracker(), QUESTIONS))
    tracker = open_tracking(schema.Tracking(kind="mlflow", experiment="bench"), home)
    wall, report = asyncio.run(evaluate(tracker, QUESTIONS))

    connection = sqlite3.connect(home / "mlflow.db")
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    connection.close()
    each_ms = (report.writer_cpu_s - small.writer_cpu_s) / QUESTIONS * 1000
    size = (os.path.getsize(home / "mlflow.db") - before) / QUESTIONS
    print(
        f"\n{QUESTIONS} questions x {JUDGES} judges, {LATENCY_S * 1000:.0f} ms, {CONCURRENCY} calls at once: "
        f"writer {each_ms:.1f} ms CPU and {size / 1024:.1f} kB a question; "
        f"wall {without:.1f} s without, {wall:.1f} s with logging ({wall / without - 1:+.1%}); "
        f"load {os.getloadavg()[0]:.1f}"
    )
    assert report.problems == ()
    assert report.traces_written == QUESTIONS
    assert rows(home, "select count(*) from trace_info") == [QUESTIONS + 20]
    assert rows(home, "select count(*) from assessments") == [(QUESTIONS + 20) * (JUDGES + 1)]
    assert rows(home, "select count(*) from spans") == [(QUESTIONS + 20) * (JUDGES + 3)]
