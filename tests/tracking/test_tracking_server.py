"""A tracking server (`mlflow server`): the same sweep over HTTP, refused when it is away, spooled when it is lost."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from runner.config import schema
from runner.errors import TrackingUnavailable
from runner.records import RunStatus
from runner.tracking import open_tracking, sync_spool
from runner.tracking.environment import answers, set_switches
from tests.fakes.records import full_record, full_run, full_summary
from tests.tracking.conftest import rows, start

HOST = "127.0.0.1"


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        return int(probe.getsockname()[1])


class Server:
    """A tracking server in a process group of its own, so that all its workers end together."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.port = free_port()
        self.uri = f"http://{HOST}:{self.port}"
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        environment = dict(os.environ)
        set_switches(environment)
        self.process = subprocess.Popen(
            [
                *(sys.executable, "-m", "mlflow", "server", "--host", HOST, "--port", str(self.port)),
                *("--workers", "1", "--backend-store-uri", f"sqlite:///{self.folder / 'mlflow.db'}"),
                *("--artifacts-destination", (self.folder / "served").as_uri()),
            ],
            env=environment,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        deadline = time.monotonic() + 100
        while True:
            with contextlib.suppress(OSError):
                answers(self.uri, 2)
                return
            assert time.monotonic() < deadline, "the tracking server did not start"
            time.sleep(0.2)

    def stop(self) -> None:
        if self.process is not None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()
            self.process = None


@pytest.fixture
def server(tmp_path: Path, made_tables: Path) -> Iterator[Server]:
    folder = tmp_path / "server"
    folder.mkdir()
    shutil.copyfile(made_tables, folder / "mlflow.db")
    server = Server(folder)
    server.start()
    yield server
    server.stop()


def settings(uri: str) -> schema.Tracking:
    return schema.Tracking(kind="mlflow", experiment="faq", uri=uri)


@pytest.mark.skipif(os.name == "nt", reason="process groups")
@pytest.mark.timeout(400)
def test_over_http_then_lost_then_spooled_and_synced(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")  # a proxy is for other machines
    home = tmp_path / "home"
    tracker = open_tracking(settings(server.uri), home)
    parent = tracker.start_sweep("faq", "s", {}, {"sweep.json": "{}"})
    records = [full_record(number) for number in range(6)]
    first = start(tracker, parent, "first", 6)
    for record in records:
        tracker.log_record(first, record)
    tracker.finish_run(first, full_run("first", records), full_summary(records), {"stats.json": "{}"})
    query = "select status from runs where run_uuid = ?"
    while rows(server.folder, query, first) != ["FINISHED"]:
        time.sleep(0.1)
    assert rows(server.folder, "select count(*) from trace_info") == [6]
    assert rows(server.folder, "select count(*) from spans") == [36]
    assert rows(server.folder, "select count(*) from assessments") == [24]
    assert len(list((server.folder / "served").rglob("per_question.json"))) == 1
    assert not (home / "mlartifacts").exists()

    server.stop()  # the network cable is pulled, and the sweep goes on
    second = start(tracker, parent, "second", 6)
    for record in records:
        tracker.log_record(second, record)
    tracker.finish_run(second, full_run("second", records), full_summary(records), {"stats.json": "{}"})
    tracker.finish_sweep(parent, RunStatus.COMPLETE, {"cost/new_usd": 1.0}, {"leaderboard.txt": "x"})
    report = tracker.close()
    assert report.spooled > 10
    assert any("runner report --sync" in problem for problem in report.problems)
    with pytest.raises(TrackingUnavailable):
        sync_spool(home)
    assert len(list((home / "spool").glob("*.jsonl"))) == 1

    server.start()
    synced = sync_spool(home)
    assert (synced.traces_written, synced.problems) == (6, ())
    assert list((home / "spool").iterdir()) == []
    assert rows(server.folder, "select name, status from runs order by start_time, name") == [
        ("faq", "FINISHED"),
        ("first", "FINISHED"),
        ("second", "FINISHED"),
    ]
    assert rows(server.folder, "select count(*) from trace_info") == [12]
    assert rows(server.folder, "select count(*) from spans") == [72]
    assert rows(server.folder, "select count(*) from assessments") == [48]
    children = "select count(*) from tags where key = 'mlflow.parentRunId' and value = ?"
    assert rows(server.folder, children, parent) == [2]
    assert sync_spool(home).traces_written == 0


def test_a_server_that_is_away_is_refused_in_seconds_before_anything_is_paid(tmp_path: Path) -> None:
    uri = f"http://name:secret@{HOST}:{free_port()}"
    began = time.monotonic()
    with pytest.raises(TrackingUnavailable, match=r"does not answer .*nothing was paid") as refused:
        open_tracking(settings(uri), tmp_path)
    assert time.monotonic() - began < 20
    assert "secret" not in str(refused.value)
