"""A launch that brings nothing: interrupted before its first question, or the same command a second time."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import pytest

from runner.cli import main
from runner.errors import ExitCode
from runner.sweeps.launch import NOTHING_KEPT
from tests.fakes.model_server import ModelServer
from tests.sweeps.driving import CHECKOUT, start

pytestmark = pytest.mark.usefixtures("home")

LINE = ("-m", "stack=extractive", "retriever=bm25", "embedder=none", "judge=[topicality]", "questions.limit=2")
SWEEP = (*LINE, "retriever.top_k=1,3", "name=small")


def sweeps_in(home: Path) -> list[tuple[str, str, str]]:
    """Run id, name and what they repeat, of the sweeps on the runs page."""
    connection = sqlite3.connect(home / "mlflow.db")
    query = """select runs.run_uuid, name, coalesce(again.value, '') from runs
        join tags kind on kind.run_uuid = runs.run_uuid and kind.key = 'runner.kind' and kind.value = 'sweep'
        left join tags again on again.run_uuid = runs.run_uuid and again.key = 'runner.again'
        where lifecycle_stage = 'active' order by start_time"""
    found = connection.execute(query).fetchall()
    connection.close()
    return found


def test_the_same_command_again_is_marked_as_such(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(list(SWEEP)) == ExitCode.DONE
    assert "nothing is new" not in capsys.readouterr().out
    assert main(list(SWEEP)) == ExitCode.DONE
    first_sweep = min((home / "sweeps").glob("*.json"), key=lambda path: path.stat().st_mtime).stem
    said = " ".join(capsys.readouterr().out.split())
    assert f"nothing is new: all of it was stored by sweep {first_sweep}" in said
    (first, name, repeats), second = sweeps_in(home)
    assert (name, repeats) == ("small", "")
    assert second[1:] == ("small (again)", first)

    # One question more is something new.
    assert main([*SWEEP[:5], "questions.limit=3", *SWEEP[6:]]) == ExitCode.DONE
    assert sweeps_in(home)[2][1:] == ("small", "")


def test_ctrl_c_before_the_first_question_leaves_no_empty_sweep_and_no_hint_that_leads_nowhere(home: Path) -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "runner", *SWEEP],
        env={**os.environ, "PYTHONPATH": str(CHECKOUT)},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        stdin=subprocess.DEVNULL,
        text=True,
    )
    deadline = time.monotonic() + 60
    while not (home / "tracking.log").exists():  # it appears when the tracking store begins to open, for seconds
        assert time.monotonic() < deadline
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    said, _ = process.communicate(timeout=60)
    assert process.returncode == ExitCode.INTERRUPTED, said
    assert NOTHING_KEPT in " ".join(said.split())
    assert "compare" not in said
    assert "runner ui" not in said
    assert not list((home / "sweeps").glob("*.json"))


def test_ctrl_c_under_hydras_own_launcher_does_not_go_on_with_the_next_job(home: Path) -> None:
    with ModelServer(latency_s=0.3) as server:
        jobs = ("-m", "launch=basic", "retriever.top_k=1,2,3", "questions.limit=8", "calls.concurrency=1")
        process = start(server, *jobs)
        deadline = time.monotonic() + 60
        while server.count() < 6:
            assert time.monotonic() < deadline
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        said, _ = process.communicate(timeout=60)
        assert server.count() <= 8
    assert process.returncode == ExitCode.INTERRUPTED, said
    assert "top_k=2: started" not in said
    (path,) = (home / "sweeps").glob("*.json")
    kept = json.loads(path.read_text(encoding="utf-8"))
    assert (kept["status"], [job["status"] for job in kept["jobs"]]) == ("interrupted", ["interrupted"] * 3)
