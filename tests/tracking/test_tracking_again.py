"""What would confuse the runs page: sweeps that nothing came of, and sweeps that only repeat another one."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from runner.records import RunStatus
from runner.tracking import Tracker
from tests.tracking.conftest import rows, start

ALL = "select name, lifecycle_stage, status from runs order by start_time"


def test_a_sweep_that_ended_before_its_first_job_is_not_on_the_page(
    store_home: Path, opened: Callable[..., Tracker]
) -> None:
    tracker = opened()
    tracker.start_sweep("empty", "s1", {}, {})
    left = tracker.start_sweep("interrupted", "s2", {}, {})
    tracker.finish_sweep(left, RunStatus.INTERRUPTED, {}, {})
    begun = tracker.start_sweep("begun", "s3", {}, {})
    start(tracker, begun)
    assert tracker.close().problems == ()
    assert sorted(rows(store_home, ALL)) == [
        ("begun", "active", "KILLED"),
        ("empty", "deleted", "KILLED"),
        ("interrupted", "deleted", "KILLED"),
        ("top_k=3", "active", "KILLED"),
    ]


def test_a_sweep_that_is_another_one_again_says_so_by_its_name(
    store_home: Path, opened: Callable[..., Tracker]
) -> None:
    tracker = opened()
    first, second = (tracker.start_sweep("faq", sweep, {}, {}) for sweep in ("s1", "s2"))
    for parent in (first, second):
        start(tracker, parent)
    tracker.mark_again(second, "faq", first)
    for parent in (first, second):
        tracker.finish_sweep(parent, RunStatus.COMPLETE, {}, {})
    tracker.close()
    names = dict(rows(store_home, "select run_uuid, name from runs"))
    assert (names[first], names[second]) == ("faq", "faq (again)")
    tags: dict[str, Any] = dict(rows(store_home, "select key, value from tags where run_uuid = ?", second))
    assert tags["runner.again"] == first
    assert tags["mlflow.runName"] == "faq (again)"
    assert f"/runs/{first})" in tags["mlflow.note.content"]
