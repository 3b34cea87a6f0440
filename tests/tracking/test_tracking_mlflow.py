"""A sweep in a real MLflow store on SQLite: counted, read back, interrupted."""

from __future__ import annotations

import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from math import inf, nan
from pathlib import Path
from typing import Any

import pytest

from runner.config import schema
from runner.errors import TrackingUnavailable
from runner.records import RunStatus
from runner.tracking import NullTracker, Tracker, TrackingReport, open_tracking
from tests.fakes.records import failed_record, full_record, full_run, full_summary
from tests.tracking.conftest import rows, rubrics, start

Opening = Callable[..., Tracker]
ROOT = Path(__file__).parents[2]
LONG = "word " * 3000


def run_job(tracker: Tracker, parent: str, name: str, records: list[Any], **changed: Any) -> str:
    run_id = start(tracker, parent, name, len(records), **changed)
    for record in records:
        tracker.log_record(run_id, record)
    tracker.finish_run(run_id, full_run(name, records), full_summary(records), {"stats.json": "{}"})
    return run_id


@dataclass(frozen=True)
class Stored:
    """What one launch left in a store."""

    home: Path
    parent: str
    runs: dict[str, str]
    report: TrackingReport


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory, made_tables: Path) -> Stored:
    """One launch with everything that needs no launch of its own: opening the store takes seconds."""
    home = tmp_path_factory.mktemp("stored")
    shutil.copyfile(made_tables, home / "mlflow.db")
    tracker = open_tracking(schema.Tracking(kind="mlflow", experiment="faq"), home)
    parent = tracker.start_sweep("faq", "sweep-1", {"runner.git_commit": "abc"}, {"sweep.json": "{}"})
    records = [*(full_record(number, failing=("topicality",) if number == 2 else ()) for number in range(9))]
    records.append(failed_record(9))
    runs = {name: run_job(tracker, parent, name, records) for name in ("top_k=1", "top_k=3", "top_k=5")}
    tracker.finish_sweep(parent, RunStatus.COMPLETE, {"cost/new_usd": 0.5, "a/b": nan, "a/c": inf}, {"board.txt": "x"})

    other = tracker.start_sweep("faq", "sweep-2", {}, {})
    priced = [full_record(1, price="0.001"), full_record(2, price=None)]
    runs["prices"] = run_job(tracker, other, "prices", priced)
    runs["rubric"] = run_job(tracker, other, "rubric", [], rubrics=rubrics(grounding="In one other word"))
    runs["long"] = run_job(
        tracker,
        other,
        "long",
        [],
        choices={"prompt.system": LONG, "retriever.top_k": 5, "none": None},
        overrides=("+judge@judges.second=grounding", "retriever.top_k=5"),
    )
    for status in RunStatus:
        runs[status] = start(tracker, other, status)
        tracker.finish_run(runs[status], full_run(status, [], status), full_summary([]), {})
    late = [full_record(number) for number in range(5)]
    runs["late"] = start(tracker, other, "late", 5)
    tracker.log_record(runs["late"], late[0])  # the other four never arrive
    tracker.finish_run(runs["late"], full_run("late", late), full_summary(late), {})
    strange = full_record(2)
    object.__setattr__(strange, "scores", {"grounding": None})
    runs["strange"] = start(tracker, other, "strange", 3)
    for record in (full_record(1), strange, full_record(3)):
        tracker.log_record(runs["strange"], record)
    kept = [full_record(1), full_record(3)]
    tracker.finish_run(runs["strange"], full_run("strange", kept), full_summary(kept), {})
    runs["unfinished"] = start(tracker, other, "unfinished")
    return Stored(home, parent, runs, tracker.close())


def traced(stored: Stored, name: str) -> list[str]:
    """The questions that have a trace in a run."""
    query = """select client_request_id from trace_info join trace_request_metadata using (request_id)
        where key = 'mlflow.sourceRun' and value = ? order by client_request_id"""
    return rows(stored.home, query, stored.runs[name])


def test_a_sweep_is_one_parent_with_children_each_with_all_its_traces(stored: Stored) -> None:
    home = stored.home
    children = rows(home, "select run_uuid from tags where key = 'mlflow.parentRunId' and value = ?", stored.parent)
    jobs = [stored.runs[name] for name in ("top_k=1", "top_k=3", "top_k=5")]
    assert sorted(children) == sorted(jobs)
    for run_id in [stored.parent, *jobs]:
        assert rows(home, "select status from runs where run_uuid = ?", run_id) == ["FINISHED"]
    for run_id in jobs:
        traces = "select request_id from trace_request_metadata where key = 'mlflow.sourceRun' and value = ?"
        assert len(rows(home, traces, run_id)) == 10
        assert rows(home, f"select count(*) from spans where trace_id in ({traces})", run_id) == [9 * 6 + 5]
        by_name = "select name, count(*), sum(error is not null) from assessments where run_id = ? group by name"
        assert sorted(rows(home, by_name, run_id)) == [
            ("expected_response", 9, 0),
            ("grounding", 10, 1),
            ("reference_match", 10, 1),
            ("topicality", 10, 2),
        ]


def test_a_job_has_metrics_params_artifacts_and_its_question_set(stored: Stored) -> None:
    run_id = stored.runs["top_k=3"]
    metrics = dict(rows(stored.home, "select key, value from latest_metrics where run_uuid = ?", run_id))
    assert (metrics["topicality/scored"], metrics["topicality/failed"]) == (8, 1)
    assert all(key.count("/") == 1 for key in metrics)
    params = dict(rows(stored.home, "select key, value from params where run_uuid = ?", run_id))
    assert params["retriever.top_k"] == "3"
    folder = stored.home / "mlartifacts" / run_id / "artifacts"
    assert (folder / "config" / "config.yaml").read_text() == "retriever:\n  top_k: 3\n"
    table = json.loads((folder / "per_question.json").read_text())
    assert table["columns"][:2] == ["id", "answer"]
    assert [row[0] for row in table["data"]] == sorted(f"q{number}" for number in range(10))
    assert rows(stored.home, "select name, digest from datasets") == [("faq", "d" * 36)]
    inputs = "select count(*) from inputs where destination_id = ?"
    assert rows(stored.home, inputs, run_id) == [1]
    assert not list(stored.home.glob("**/mlruns"))


def test_the_price_is_where_mlflow_looks_for_it(stored: Stored) -> None:
    assert traced(stored, "prices") == ["q1", "q2"]
    query = """select client_request_id, total_cost from trace_info join trace_request_metadata using (request_id)
        where key = 'mlflow.sourceRun' and value = ? order by 1"""
    assert rows(stored.home, query, stored.runs["prices"]) == [("q1", 0.004), ("q2", None)]


def test_one_prompt_version_for_each_distinct_text(stored: Stored) -> None:
    versions = rows(stored.home, "select name, count(*) from model_versions group by name order by name")
    # Another text of version 1 has no number of its own in "rubric.grounding": see test_tracking_prompts.py.
    one_each = ("rubric.grounding", "rubric.grounding.v1-texts", "rubric.reference_match", "rubric.topicality")
    assert versions == [(name, 1) for name in one_each]
    query = "select value from tags where key = 'mlflow.linkedPrompts' and run_uuid = ?"
    linked = json.loads(rows(stored.home, query, stored.runs["rubric"])[0])
    assert {"name": "rubric.grounding.v1-texts", "version": "1"} in linked
    text = "select value from model_version_tags where key = 'mlflow.prompt.text' and name = 'rubric.topicality'"
    assert rows(stored.home, text) == ["How to judge topicality: {braces}"]


def test_long_choices_are_artifacts_and_groups_with_an_at_sign_are_params(stored: Stored) -> None:
    run_id = stored.runs["long"]
    params = dict(rows(stored.home, "select key, value from params where run_uuid = ?", run_id))
    assert params["judge_judges.second"] == "grounding"
    assert params["retriever.top_k"] == "5"
    assert params["none"] == "null"
    assert len(params["prompt.system"]) < 200
    artifact = stored.home / "mlartifacts" / run_id / "artifacts" / "choices" / "prompt.system.txt"
    assert artifact.read_text() == LONG


def test_figures_of_a_sweep_are_tags_so_that_no_column_is_empty_for_its_jobs(stored: Stored) -> None:
    columns = "select count(*) from latest_metrics where run_uuid = ?"
    assert rows(stored.home, columns, stored.parent) == [0]
    query = "select key, value from tags where run_uuid = ? and key like 'runner.%' and key not like 'runner.launch'"
    assert dict(rows(stored.home, query, stored.parent)) == {
        "runner.cost.new_usd": "0.5",
        "runner.git_commit": "abc",
        "runner.kind": "sweep",
        "runner.status": "complete",
        "runner.sweep_id": "sweep-1",
    }


def test_question_sets_are_under_datasets_once_for_each_digest(stored: Stored) -> None:
    assert rows(stored.home, "select name from evaluation_datasets") == ["faq dddddddd"]
    records = rows(stored.home, "select inputs, expectations from evaluation_dataset_records")
    found = {json.loads(inputs)["id"]: json.loads(expected) for inputs, expected in records}
    assert len(found) == 10
    assert found["q3"] == {"expected_response": "Rule 3 is the rule.", "gold_documents": ["doc3"]}


@pytest.mark.parametrize(
    ("status", "mlflow_status"),
    [
        (RunStatus.COMPLETE, "FINISHED"),
        (RunStatus.INCOMPLETE, "FINISHED"),
        (RunStatus.FAILED, "FAILED"),
        (RunStatus.INTERRUPTED, "KILLED"),
        (RunStatus.BUDGET, "KILLED"),
    ],
)
def test_how_a_run_ended(status: RunStatus, mlflow_status: str, stored: Stored) -> None:
    run_id = stored.runs[status]
    assert rows(stored.home, "select status from runs where run_uuid = ?", run_id) == [mlflow_status]
    query = "select value from tags where key = 'runner.status' and run_uuid = ?"
    assert rows(stored.home, query, run_id) == [str(status)]


def test_a_run_that_nobody_finished_is_killed_when_the_tracker_is_closed(stored: Stored) -> None:
    assert rows(stored.home, "select status from runs where run_uuid = ?", stored.runs["unfinished"]) == ["KILLED"]
    assert rows(stored.home, "select count(*) from runs where status = 'RUNNING'") == [0]


def test_records_that_never_arrived_are_counted_and_written_at_the_end(stored: Stored) -> None:
    assert traced(stored, "late") == [f"q{number}" for number in range(5)]
    assert stored.report.traces_rewritten == 4
    assert stored.report.traces_written == 30 + 2 + 5 + 2
    assert stored.report.spooled == 0


def test_one_record_that_cannot_be_written_does_not_take_others_with_it(stored: Stored) -> None:
    assert traced(stored, "strange") == ["q1", "q3"]
    assert len(stored.report.problems) == 1
    assert "question q2" in stored.report.problems[0]


def writer_of(home: Path) -> int:
    """The process id of the writer: the child whose command boots the worker."""
    children = Path(f"/proc/{os.getpid()}/task").glob("*/children")
    for pid in {pid for file in children for pid in file.read_text().split()}:
        if b"runner.tracking.worker" in Path(f"/proc/{pid}/cmdline").read_bytes():
            return int(pid)
    raise AssertionError("no writer runs")


@pytest.mark.skipif(sys.platform != "linux", reason="finds the writer in /proc")
def test_a_writer_killed_in_the_middle_loses_nothing(opened: Opening, store_home: Path) -> None:
    tracker = opened()
    parent = tracker.start_sweep("faq", "s", {}, {})
    records = [full_record(number) for number in range(80)]
    run_id = start(tracker, parent, questions=80)
    for record in records[:70]:
        tracker.log_record(run_id, record)
    while not rows(store_home, "select count(*) from trace_info")[0]:
        time.sleep(0.01)
    os.kill(writer_of(store_home), signal.SIGKILL)
    for record in records[70:]:
        tracker.log_record(run_id, record)
    tracker.finish_run(run_id, full_run("a", records), full_summary(records), {})
    tracker.finish_sweep(parent, RunStatus.COMPLETE, {}, {})
    report = tracker.close()
    assert report.problems == ()
    assert rows(store_home, "select count(*) from trace_info") == [80]
    assert rows(store_home, "select count(*) from assessments") == [80 * 4]
    assert rows(store_home, "select count(*) from spans") == [80 * 6]
    assert rows(store_home, "select distinct status from runs") == ["FINISHED"]


LAUNCH = """
import sys, time
from pathlib import Path
from runner.config import schema
from runner.tracking import open_tracking
from tests.fakes.records import full_record
from tests.tracking.conftest import start
tracker = open_tracking(schema.Tracking(kind="mlflow", experiment="faq"), Path(sys.argv[1]))
parent = tracker.start_sweep("faq", "s", {}, {})
run_id = start(tracker, parent, questions=100)
for number in range(40):
    tracker.log_record(run_id, full_record(number))
while tracker.pending > 20:
    time.sleep(0.05)
print("handed over", "mlflow" in sys.modules, flush=True)
time.sleep(60)
"""


def launch(home: Path, *how: str) -> subprocess.Popen[str]:
    process = subprocess.Popen([sys.executable, "-c", LAUNCH, str(home)], cwd=ROOT, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "handed over False\n"  # MLflow is loaded in the writer only
    return process


def wait_for(home: Path, query: str, expected: Any, seconds: float = 60) -> None:
    deadline = time.monotonic() + seconds
    while rows(home, query) != expected:
        assert time.monotonic() < deadline, rows(home, query)
        time.sleep(0.1)


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
def test_a_launch_killed_outright_leaves_its_traces_and_closed_runs(store_home: Path) -> None:
    process = launch(store_home)
    process.kill()
    process.wait()
    wait_for(store_home, "select status from runs", ["KILLED", "KILLED"])
    assert rows(store_home, "select count(*) from trace_info")[0] >= 20
    assert (
        rows(store_home, "select count(*) from spans")[0] == 6 * rows(store_home, "select count(*) from trace_info")[0]
    )


@pytest.mark.skipif(sys.platform != "linux", reason="finds the writer in /proc")
def test_runs_that_a_dead_launch_left_open_are_killed_by_the_next_and_no_others(
    store_home: Path, opened: Opening
) -> None:
    process = launch(store_home)
    children = Path(f"/proc/{process.pid}/task").glob("*/children")
    writers = {int(pid) for file in children for pid in file.read_text().split()}
    for pid in [*writers, process.pid]:
        os.kill(pid, signal.SIGKILL)
    process.wait()
    assert rows(store_home, "select status from runs") == ["RUNNING", "RUNNING"]

    other = opened()
    alive = other.start_sweep("faq", "alive", {}, {})
    other.hand_over(alive)
    other.close()  # as a launcher does that lets other processes go on
    third = open_tracking(schema.Tracking(kind="mlflow", experiment="another experiment"), store_home)
    third.close()
    found = dict(rows(store_home, "select run_uuid, status from runs"))
    assert found.pop(alive) == "RUNNING"
    assert list(found.values()) == ["KILLED", "KILLED"]


def test_two_launches_on_a_new_home_make_one_store(tmp_path: Path) -> None:
    failures: list[Exception] = []

    def open_and_close() -> None:
        try:
            tracker = open_tracking(schema.Tracking(kind="mlflow", experiment="faq"), tmp_path / "new")
            tracker.finish_sweep(tracker.start_sweep("faq", "s", {}, {}), RunStatus.COMPLETE, {}, {})
            tracker.close()
        except Exception as problem:
            failures.append(problem)

    threads = [threading.Thread(target=open_and_close) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert rows(tmp_path / "new", "select count(*) from runs") == [2]
    assert rows(tmp_path / "new", "select count(*) from experiments where name = 'faq'") == [1]


def test_a_store_that_cannot_be_made_is_refused_with_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "home").write_text("a file, not a folder")
    with pytest.raises((TrackingUnavailable, OSError)):
        open_tracking(schema.Tracking(kind="mlflow", experiment="faq"), tmp_path / "home")
    with pytest.raises(TrackingUnavailable, match="nothing was paid"):
        open_tracking(
            schema.Tracking(kind="mlflow", experiment="faq", uri="sqlite:////proc/no/such.db"), tmp_path / "other"
        )


def test_only_failures_are_traced_in_an_experiment_that_was_deleted_and_is_used_again(
    opened: Opening, store_home: Path
) -> None:
    opened().close()
    connection = sqlite3.connect(store_home / "mlflow.db")
    connection.execute("update experiments set lifecycle_stage = 'deleted' where name = 'faq'")
    connection.commit()
    connection.close()
    tracker = opened(traces="failed")
    parent = tracker.start_sweep("faq", "s", {}, {})
    run_job(tracker, parent, "a", [full_record(1), full_record(2, failing=("grounding",)), failed_record(3)])
    report = tracker.close()
    assert rows(store_home, "select client_request_id from trace_info order by 1") == ["q2", "q3"]
    assert report.problems == ()


def test_no_tracking_is_a_tracker_that_keeps_nothing(tmp_path: Path) -> None:
    tracker = open_tracking(schema.Tracking(kind="none", experiment="faq"), tmp_path)
    assert isinstance(tracker, NullTracker)
    tracker.log_record(tracker.start_sweep("a", "b", {}, {}), full_record(1))
    assert tracker.close().traces_written == 0
    assert list(tmp_path.iterdir()) == []
