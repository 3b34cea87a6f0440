"""Gates that can never pass, or always do, are refused before anything is paid."""

from __future__ import annotations

import pytest

from runner.config.gate_rules import JUDGE_METRICS, problems_of
from runner.config.schema import Gate, Threshold
from runner.statistics import summarise
from tests.fakes.records import full_record, full_run


def said(*thresholds: Threshold) -> list[str]:
    return [str(problem) for problem in problems_of(Gate(thresholds=list(thresholds)), ["grounding"])]


@pytest.mark.parametrize("percentile", ["50", "95", "99.9", "1", "0.5"])
def test_latency_takes_every_percentile_that_there_is(percentile: str) -> None:
    assert said(Threshold(f"latency/answer_p{percentile}_s", at_most=3)) == []


@pytest.mark.parametrize("name", ["answer_p101_s", "answer_p100_s", "answer_p0_s", "answer_p-5_s", "answer_p95", "p95"])
def test_a_percentile_that_there_is_not_is_refused(name: str) -> None:
    (problem,) = said(Threshold(f"latency/{name}", at_most=3))
    assert f"there is no latency {name}" in problem


def test_limits_that_no_number_is_between_are_refused() -> None:
    (problem,) = said(Threshold("grounding/mean", at_least=5, at_most=4))
    assert "no number is at least 5 and at most 4" in problem
    (problem,) = said(Threshold("grounding/mean", at_least=5), Threshold("grounding/mean", at_most=4))
    assert problem.startswith("gate.thresholds[1]")
    assert said(Threshold("grounding/mean", at_least=4, at_most=4)) == []
    assert said(Threshold("grounding/mean", at_least=4), Threshold("grounding/pass_rate", at_most=1)) == []


def test_a_misspelt_metric_of_a_judge_is_refused_and_every_one_that_runs_have_is_taken() -> None:
    (problem,) = said(Threshold("grounding/meen", at_least=4))
    assert "a judge has no metric meen; did you mean mean?" in problem
    metrics = summarise(full_run("run", [full_record(1), full_record(2, failing=("grounding",))])).metrics
    names = {name.partition("/")[2] for name in metrics if name.startswith("grounding/")}
    assert names <= set(JUDGE_METRICS)
    assert {"mean", "pass_rate", "scored"} <= names
