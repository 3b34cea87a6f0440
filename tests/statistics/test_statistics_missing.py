"""Missing answers in every number of a comparison: none is better for them, and what does not apply is left out."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runner.findings import ConfirmationWord, Word
from runner.records import Answer, AnswerStatus, Record, RunResult, Score, VerdictStatus
from runner.statistics import compare_runs, compare_sweep, summarise
from tests.fakes.runs import make_call, make_record, make_run, make_score

MISSING, ABSTAINED = "missing", "abstained"
Value = float | str


def not_scored(reason: str) -> Score:
    return make_score("grounding", None, reason, status=VerdictStatus.NOT_APPLICABLE)


def record(number: int, value: Value, cost: str = "0.01") -> Record:
    calls = (make_call(f"c{number}", "generate", cost),)
    name, gold = f"q{number}", [f"d{number}"]
    if value == MISSING:
        answer = Answer(status=AnswerStatus.FAILED, reason="timeout", calls=calls)
        return make_record(name, {"grounding": not_scored("no_answer")}, gold, answer=answer)
    score = not_scored("abstained") if isinstance(value, str) else value
    return make_record(name, {"grounding": score}, gold, answer_calls=calls)


def run(name: str, values: Sequence[Value]) -> RunResult:
    return make_run(name, [record(number, value) for number, value in enumerate(values)])


PAIRED = st.lists(st.tuples(st.sampled_from([1.0, 5.0]), st.sampled_from([1.0, 5.0]), st.booleans()), max_size=40)


@settings(max_examples=200, deadline=None)
@given(PAIRED)
def test_replacing_answers_by_nothing_never_makes_a_run_better(rows: list[tuple[float, float, bool]]) -> None:
    rows = [*rows, (5.0, 1.0, False), (1.0, 5.0, False)]
    b = run("b", [other for _, other, _ in rows])
    whole = compare_runs(run("a", [own for own, _, _ in rows]), b, "grounding", measure="pass_rate")
    holes = run("a", [MISSING if gone else own for own, _, gone in rows])
    assert compare_runs(holes, b, "grounding", measure="pass_rate").verdict != Word.BETTER or (
        whole.verdict == Word.BETTER
    )
    assert compare_runs(b, holes, "grounding", measure="pass_rate").verdict != Word.WORSE or (
        whole.verdict == Word.BETTER
    )


LIKERT = st.integers(1, 5).map(float)


@settings(max_examples=200, deadline=None)
@given(st.lists(st.tuples(st.one_of(LIKERT, st.just(MISSING)), LIKERT), min_size=2, max_size=30))
def test_saying_nothing_is_never_better_than_saying_the_worst(rows: list[tuple[Value, float]]) -> None:
    b = run("b", [other for _, other in rows])
    found = compare_runs(run("a", [own for own, _ in rows]), b, "grounding")
    worst = compare_runs(run("a", [1.0 if own == MISSING else own for own, _ in rows]), b, "grounding")
    if found.verdict == Word.BETTER:
        assert worst.verdict == Word.BETTER


def test_a_discordant_answer_that_is_dropped_does_not_turn_mcnemar() -> None:
    """6 against 1 is p = 0.125; without the one question lost it would be 6 against 0, p = 0.031."""
    rows = [(5.0, 1.0)] * 6 + [(1.0, 5.0)] + [(5.0, 5.0)]
    b = run("b", [other for _, other in rows])
    holes = [MISSING if own < other else own for own, other in rows]
    found = compare_runs(run("a", holes), b, "grounding", measure="pass_rate")
    assert found.pass_rates is not None
    assert found.pass_rates.p == pytest.approx(0.03125)
    assert found.verdict == Word.UNDECIDED


def test_what_does_not_apply_is_left_out_and_said_and_opens_no_bounds() -> None:
    a, b = run("a", [5.0] * 8 + [ABSTAINED] * 2), run("b", [1.0] * 10)
    found = compare_runs(a, b, "grounding")
    assert (found.verdict, found.bounds, found.questions) == (Word.BETTER, None, 8)
    assert found.sentence.endswith("2 of 10 questions were left out: 2 to which grounding does not apply.")


def test_every_reason_for_leaving_out_is_counted_with_its_run() -> None:
    a = run("a", [5.0, MISSING, MISSING, 3.0, ABSTAINED, 4.0])
    b = run("b", [5.0, 4.0, 4.0, MISSING, 2.0, 4.0, 5.0])
    failed = make_record("q7", {"grounding": None}, ["d7"])
    a, b = (make_run(one.name, [*one.records, failed if one is a else record(7, 3.0)]) for one in (a, b))
    assert compare_runs(a, b, "grounding").sentence.endswith(
        "6 of 8 questions were left out: 2 without an answer in a, 1 without an answer in b, 1 without a verdict in a, "
        "1 to which grounding does not apply, 1 not asked in a."
    )


def test_all_answers_missing_is_no_comparison_and_no_best() -> None:
    sweep = compare_sweep([run("good", [5.0] * 12), run("silent", [MISSING] * 12)], "grounding")
    (pair,) = sweep.pairs
    assert pair.verdict == Word.UNDECIDED
    assert "12 of 12 questions were left out: 12 without an answer in silent." in pair.sentence
    assert sweep.best is None


def test_who_says_nothing_where_it_is_wrong_is_not_the_best_of_three() -> None:
    careful = [5.0 if number % 2 else MISSING for number in range(24)]
    good = [5.0] * 22 + [1.0] * 2
    poor = [1.0 if number % 2 else 5.0 for number in range(24)]
    sweep = compare_sweep(
        [run("careful", careful), run("good", good), run("poor", poor)], "grounding", confirm=0.5, measure="pass_rate"
    )
    assert sweep.best == "good"
    assert sweep.indistinguishable == ("good", "careful")
    assert sweep.complete_questions == 12
    assert any("failed scores and missing answers" in sentence for sentence in sweep.sentences)
    assert sweep.confirmation is not None
    assert (sweep.confirmation.picked, sweep.confirmation.word) == ("good", ConfirmationWord.OPEN)


def test_missing_answers_are_paid_for_and_count_as_not_correct() -> None:
    a, b = run("a", [5.0] * 10), run("b", [5.0] * 5 + [MISSING] * 5)
    first, second = compare_sweep([a, b], "grounding").standings
    assert first.cost_per_correct == pytest.approx(0.01)
    assert second.cost_per_correct == pytest.approx(0.02)
    assert (first.on_pareto_front, second.on_pareto_front) == (True, False)


def test_the_summary_counts_a_missing_answer_among_the_failed_with_bounds_of_mean_and_pass_rate() -> None:
    judge = summarise(run("a", [5.0, 5.0, MISSING, ABSTAINED])).judges["grounding"]
    assert (judge.asked, judge.scored, judge.not_applicable, judge.failed, judge.no_answer) == (4, 2, 1, 1, 1)
    assert judge.reasons == {"no_answer": 1, "abstained": 1}
    assert judge.worst_case == pytest.approx(11 / 3)
    assert judge.best_case == 5
    assert judge.pass_worst_case == pytest.approx(2 / 3)
    assert judge.pass_best_case == 1
    assert summarise(run("a", [5.0, ABSTAINED])).judges["grounding"].pass_worst_case is None
    assert Decimal("0.04") == summarise(run("a", [5.0, 5.0, MISSING, ABSTAINED])).total_cost
