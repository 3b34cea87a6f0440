"""Gates without files: the three words, their error rates, and what missing numbers come to."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runner.config.schema import Gate, GateBaseline, Threshold
from runner.findings import GateCheck, GateWord
from runner.records import RunResult
from runner.statistics import summarise
from runner.statistics.gates import Judged, answer_latency, judge_gates
from tests.fakes.runs import make_call, make_record, make_run, make_score, run_of

PASSED, FAILED, UNDECIDED = GateWord.PASSED, GateWord.FAILED, GateWord.UNDECIDED


def against(baseline: RunResult, *runs: RunResult, margin: float = 0.1, **wanted: Any) -> list[GateCheck]:
    gate = Gate(baseline=GateBaseline(run="main", margin=margin, **wanted))
    return list(judge_gates(gate, [Judged(run, summarise(run)) for run in runs], baseline).checks)


def check_of(baseline: Sequence[float | None], run: Sequence[float | None], margin: float = 0.1) -> GateCheck:
    (check,) = against(run_of("main", baseline), run_of("change", run), margin=margin)
    return check


GOOD = [5.0, 4, 5, 4, 5, 4, 5, 4, 5, 4]


@pytest.mark.parametrize(
    ("run", "margin", "word", "said"),
    [
        ([*GOOD[:9], 5.0], 0.5, PASSED, "grounding is +0.1 against main (10 questions"),
        ([3.0, 2, 3, 2, 3, 2, 3, 2, 3, 1], 0.1, FAILED, "is worse than the baseline"),
        ([5.0, 4, 5, 4, 5, 4, 5, 4, 4, 4], 0.2, UNDECIDED, "too few questions: about "),
        ([4.0, 4, 5, 4, 5, 4, 5, 4, 5, 5], 0.1, UNDECIDED, "too few questions"),
        ([None] * 10, 0.1, UNDECIDED, "cannot be compared with main: too few questions"),
        # Significantly lower, and shown to stay within the margin: that is what the margin is for.
        ([4.5, 3.5, 4.5, 3.5, 4.5, 3.5, 4.5, 3.5, 4.5, 3.6], 1.0, PASSED, "grounding is -0.49"),
        # All equal: the sign test needs five documents.
        (GOOD, 0.1, PASSED, "+0 against main (10 questions, the same in each of 10 documents)"),
        # One failed score could hide as much as the margin.
        ([*GOOD[:9], None], 0.1, UNDECIDED, "scores that failed may hide more"),
    ],
)
def test_the_word_against_a_baseline(run: list[float | None], margin: float, word: GateWord, said: str) -> None:
    check = check_of(GOOD, run, margin)
    assert (check.word, check.limit) == (word, -margin), check.sentence
    assert said in check.sentence


@pytest.mark.parametrize(("questions", "word"), [(1, UNDECIDED), (4, UNDECIDED), (5, PASSED)])
def test_equal_scores_of_another_job_need_five_documents(questions: int, word: GateWord) -> None:
    assert check_of([5.0] * questions, [5.0] * questions).word is word


def test_a_run_is_not_worse_than_itself_however_few_its_questions() -> None:
    run = run_of("main", [3.0, 4.0])
    assert [check.word for check in against(run, run)] == [PASSED]


def test_holm_counts_every_judge_and_job_for_calling_one_worse() -> None:
    main = run_of("main", GOOD)
    lower = run_of("lower", [4.0, 4, 3, 4, 4, 4, 4, 4, 4, 4])
    others = [run_of(f"same {n}", GOOD) for n in range(4)]
    assert against(main, lower, margin=0.01)[0].word is FAILED
    assert against(main, lower, *others, margin=0.01)[0].word is UNDECIDED
    assert against(main, lower, *others, margin=0.01, correction="none")[0].word is FAILED


def test_other_rubrics_and_missing_judges_are_not_compared() -> None:
    main = run_of("main", GOOD)
    other = make_run("v2", [make_record("q0", {"grounding": make_score("grounding", 5, rubric="grounding@2")}, ["d0"])])
    (check,) = against(main, other)
    assert check.word is UNDECIDED
    assert "judged by grounding@2 here and by grounding@1 in the baseline" in check.sentence
    (check,) = against(main, run_of("new", GOOD, judge="tone"))
    assert "tone judged nothing in the baseline main" in check.sentence


def test_a_loss_of_the_margin_passes_in_one_of_twenty_at_most() -> None:
    generator = numpy.random.default_rng(11)
    passed = 0
    for _ in range(100):
        base = generator.normal(3.0, 0.3, 10)
        lower = base - 0.1 + generator.normal(0, 0.2, 10)
        # Holm plays no part in passing, and statsmodels collects garbage each time.
        (check,) = against(run_of("main", base.tolist()), run_of("change", lower.tolist()), correction="none")
        passed += check.word is PASSED
    assert passed <= 12, "5 % of 100 is 5; more than 12 has a chance of 0.1 %"


def threshold(run: RunResult, metric: str, **limits: float) -> GateCheck:
    gate = Gate(thresholds=[Threshold(metric=metric, **limits)])
    (check,) = judge_gates(gate, [Judged(run, summarise(run))]).checks
    return check


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(1, 5), min_size=1, max_size=6), st.floats(0, 6), st.floats(0, 6))
def test_a_threshold_is_kept_exactly_where_the_number_is_inside(scores: list[int], low: float, high: float) -> None:
    check = threshold(run_of("a", scores), "grounding/mean", at_least=low, at_most=high)
    assert check.value == pytest.approx(sum(scores) / len(scores))
    assert check.value is not None
    assert (check.word is PASSED) == (low <= check.value <= high)


def test_a_number_that_the_run_does_not_have_is_undecided_and_says_why() -> None:
    unpriced = make_run("a", [make_record("q", answer_calls=(make_call("k", "generate", None),))])
    check = threshold(unpriced, "cost/total_usd", at_most=1.0)
    assert (check.word, check.value) == (UNDECIDED, None)
    assert "price unknown: model-a" in check.sentence
    assert threshold(run_of("a", [None]), "grounding/mean", at_least=4.0).word is UNDECIDED


def test_the_percentile_of_latency_is_the_nearest_rank() -> None:
    calls = [make_call(f"k{n}", "generate", latency_s=float(n)) for n in range(1, 21)]
    run = make_run("a", [make_record(f"q{n}", answer_calls=(call,)) for n, call in enumerate(calls)])
    assert [answer_latency(run, percent) for percent in (0, 5, 50, 95, 99)] == [1, 1, 10, 19, 20]
    assert threshold(run, "latency/answer_p95_s", at_most=19).word is PASSED
    assert threshold(run, "latency/answer_p99_s", at_most=19).word is FAILED
    assert answer_latency(make_run("b", []), 95) is None


def test_the_scored_share_leaves_out_what_a_judge_cannot_judge() -> None:
    scores = [make_score("grounding", 5), make_score("grounding", None), make_score("grounding", None, "no_context",
              status="not_applicable")]  # fmt: skip
    run = make_run("a", [make_record(f"q{n}", {"grounding": score}) for n, score in enumerate(scores)])
    for least, word in ((0.5, PASSED), (0.51, FAILED)):
        (check,) = judge_gates(Gate(minimum_scored_share=least), [Judged(run, summarise(run))]).checks
        assert (check.word, check.value) == (word, 0.5)
        assert "grounding scored 1 of 2 answers (50.0%)" in check.sentence
