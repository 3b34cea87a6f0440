"""Scales, repeats and panels."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runner.config.schema import Panel, Scale
from runner.errors import ConfigurationError
from runner.judging import combine_panel, panel_problems
from runner.judging.scales import bounds, from_share, label_of, pass_mark, passes, same_scale
from runner.records import Reason, Score, Verdict, VerdictStatus
from tests.fakes.judged import judge, shipped
from tests.fakes.queued_door import a_call

SCALES = [
    Scale(kind="ordinal", min=1, max=5, pass_at=4),
    Scale(kind="ordinal", min=0, max=10, pass_at=10),
    Scale(kind="labels", values={"good": 1, "bad": 0}, pass_at=1),
    Scale(kind="labels", values={"R": 1, "P": 0.5, "N": 0}, pass_at=0.5),
    Scale(kind="boolean"),
    Scale(kind="continuous", min=-1, max=1, pass_at=0),
]


@pytest.mark.parametrize("scale", SCALES)
@given(share=st.floats(0, 1), other=st.floats(0, 1), threshold=st.floats(0.1, 0.9))
def test_a_share_keeps_its_order_its_ends_and_its_threshold(
    scale: Scale, share: float, other: float, threshold: float
) -> None:
    low, high = bounds(scale)
    assert from_share(scale, 0, threshold) == pytest.approx(low)
    assert from_share(scale, 1, threshold) == pytest.approx(high)
    value = from_share(scale, share, threshold)
    assert low - 1e-9 <= value <= high + 1e-9
    if share < other:
        assert value <= from_share(scale, other, threshold) + 1e-9
    if abs(share - threshold) > 1e-6 and pass_mark(scale) < high:
        assert passes(scale, value) == (share > threshold)


def test_labels_are_the_nearest_and_ties_go_to_the_worse() -> None:
    good = SCALES[2]
    assert [label_of(good, value) for value in (0.0, 0.49, 0.5, 0.51, 1.0)] == ["bad", "bad", "bad", "good", "good"]
    assert not passes(good, 0.5)
    assert passes(good, 0.51)
    assert label_of(SCALES[0], 4) is None


def member(
    value: float | None, *, passed: bool = False, reason: str = "", status: str = "scored", **other: object
) -> Score:
    call = Verdict(VerdictStatus.SCORED, score=value, calls=(a_call(),))
    told = {"rubric": "grounding@1", "rubric_hash": "h", "lowest": 1.0, "highest": 5.0, "pass_at": 4.0, **other}
    return Score(
        judge="j", status=VerdictStatus(status), reason=reason, detail=reason, value=value,
        passed=passed if value is not None else None, verdicts=(call,), **told,  # type: ignore[arg-type]
    )  # fmt: skip


@pytest.mark.parametrize(
    ("combine", "value", "passed"),
    [("mean", 11 / 3, False), ("median", 5, True), ("majority", 5, True), ("min", 1, False)],
)
def test_a_panel_makes_one_score_and_pays_nothing_itself(combine: str, value: float, passed: bool) -> None:
    scores = {"a": member(5, passed=True), "b": member(5, passed=True), "c": member(1), "other": member(2)}
    score = combine_panel("panel", Panel(["a", "b", "c"], combine), scores)
    assert (score.judge, score.value, score.passed) == ("panel", pytest.approx(value), passed)
    assert score.calls == ()
    assert score.rationale == "a: 5\nb: 5\nc: 1"
    assert score.spread == pytest.approx(2.3094011)
    assert (score.lowest, score.highest, score.rubric, score.rubric_hash) == (1, 5, "grounding@1", "h")


def test_a_failed_member_fails_the_panel_and_one_that_does_not_apply_is_left_out() -> None:
    failed = member(None, status="failed", reason=Reason.TIMEOUT)
    idle = member(None, status="not_applicable", reason=Reason.ABSTAINED)
    score = combine_panel("p", Panel(["a", "b"]), {"a": member(5, passed=True), "b": failed})
    assert (score.status, score.reason, score.value) == ("failed", "timeout", None)
    assert score.detail.startswith("b: ")
    score = combine_panel("p", Panel(["a", "b"]), {"a": member(5, passed=True), "b": idle})
    assert (score.status, score.value, score.detail) == ("scored", 5, "1 judges do not apply")
    score = combine_panel("p", Panel(["a", "b"]), {"a": idle, "b": idle})
    assert (score.status, score.reason) == ("not_applicable", "abstained")


def test_labels_in_a_panel_pass_by_most_of_the_judges() -> None:
    scale = {"lowest": 0.0, "highest": 1.0, "pass_at": 1.0}
    good = member(1.0, passed=True, label="good", **scale)
    bad = member(0.0, label="bad", **scale)
    scores = {"a": good, "b": good, "c": bad}
    panel = combine_panel("p", Panel(["a", "b", "c"]), scores)
    assert (panel.value, panel.label, panel.passed) == (pytest.approx(2 / 3), "good", True)
    panel = combine_panel("p", Panel(["a", "c"]), scores)
    assert (panel.value, panel.label, panel.passed) == (0.5, "bad", False)


def test_judges_on_different_scales_make_no_panel() -> None:
    judges = {"a": judge("grounding_v1"), "b": judge("reference_match_v1"), "c": judge("topicality_v2")}
    (problem,) = panel_problems({"p": Panel(["a", "b"]), "fine": Panel(["a", "c"])}, judges)
    assert problem.where == "panels.p.judges"
    with pytest.raises(ConfigurationError):
        combine_panel("p", Panel(["a", "b"]), {"a": member(5), "b": member(1, lowest=0.0, highest=1.0)})
    assert not same_scale([shipped("grounding_v1").scale, shipped("relevance_v1").scale])
