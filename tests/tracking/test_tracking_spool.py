"""Operations on disk: in order, whole, gone on with after a crash, and left alone while a launch still writes."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import filelock
import pytest

from runner.tracking import sync_spool
from runner.tracking.spool import PLACEHOLDER, Spool, SpoolFile, waiting
from tests.mlflow_pages import ROOT

CREATE = {"op": "create_run", "name": "top_k=3", "tags": {}, "placeholder": PLACEHOLDER + "a"}
TAGS = {"op": "tags", "run": PLACEHOLDER + "a", "items": {"answer": 'line\u2028"ü"'}}
END = {"op": "end", "run": PLACEHOLDER + "a", "status": "FINISHED"}


def spooled(home: Path) -> Path:
    """A spool file as a launch that ended leaves it."""
    spool = Spool(home, "http://127.0.0.1:9", "faq")
    for operation in (CREATE, TAGS, END):
        spool.append(operation)
    assert spool.count == 3
    return waiting(home)[0]


def test_what_was_spooled_comes_back_in_order_with_the_real_run(tmp_path: Path) -> None:
    file = SpoolFile(spooled(tmp_path))
    assert (file.uri, file.experiment) == ("http://127.0.0.1:9", "faq")
    remaining = file.remaining()
    assert next(remaining) == CREATE
    file.mark_done(CREATE, "real")
    assert next(remaining) == {**TAGS, "run": "real"}
    file.mark_done(TAGS, None)
    file.release()

    again = SpoolFile(file.path)  # the process died here
    assert list(again.remaining()) == [{**END, "run": "real"}]
    again.remove()
    again.release()
    assert waiting(tmp_path) == []


def test_a_torn_last_line_is_left_out(tmp_path: Path) -> None:
    path = spooled(tmp_path)
    path.write_text(path.read_text(encoding="utf-8")[:-20], encoding="utf-8")
    assert [operation["op"] for operation in SpoolFile(path).remaining()] == ["create_run", "tags"]


def test_a_spool_that_a_launch_still_writes_to_is_left_alone(tmp_path: Path) -> None:
    script = (
        "import sys; from pathlib import Path; from runner.tracking.spool import Spool; "
        "spool = Spool(Path(sys.argv[1]), 'http://127.0.0.1:9', 'faq'); spool.append({'op': 'end', 'run': 'x'}); "
        "print('ready', flush=True); sys.stdin.read()"
    )
    launch = subprocess.Popen(
        [sys.executable, "-c", script, str(tmp_path)],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert launch.stdout is not None
    launch.stdout.readline()
    try:
        with pytest.raises(filelock.Timeout):
            SpoolFile(waiting(tmp_path)[0])
        report = sync_spool(tmp_path)
        assert "still writes" in report.problems[0]
    finally:
        launch.communicate("")
    SpoolFile(waiting(tmp_path)[0]).release()


def test_nothing_to_sync_needs_no_store(tmp_path: Path) -> None:
    assert sync_spool(tmp_path).traces_written == 0
