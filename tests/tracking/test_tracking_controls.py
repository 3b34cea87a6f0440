"""The tags that say whether a run's judges stood their controls."""

from __future__ import annotations

from runner.records import ControlRow
from runner.tracking import operations


def row(control: str, as_expected: int, *, passed: bool) -> ControlRow:
    return ControlRow("grounding", control, "lets it pass", 4, as_expected, passed=passed)


def test_without_controls_nothing_is_said() -> None:
    assert operations.controls("run", ()) == []


def test_a_run_is_tagged_with_whether_its_judges_can_be_trusted() -> None:
    fine = row("reference_answer", 4, passed=True)
    (tags,) = operations.controls("run", [fine])
    assert tags["items"] == {"judge_trusted": "true"}
    (tags,) = operations.controls("run", [fine, row("a_lone_colon", 1, passed=False)])
    assert tags["items"] == {"judge_trusted": "false", "runner.controls_failed": "grounding: a lone colon 1 of 4"}
    assert tags["run"] == "run"
