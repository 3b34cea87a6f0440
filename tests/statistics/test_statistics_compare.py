"""Two runs: the right test, the four words, honest denominators, and a sentence for every degenerate case."""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Sequence
from typing import Any

import numpy
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runner.errors import ConfigurationError
from runner.findings import Comparison, Interval, Word
from runner.records import VerdictStatus
from runner.statistics import compare_runs
from tests.fakes.runs import make_call, make_record, make_run, make_score, run_of


def holds_no_nan(result: object) -> bool:
    text = json.dumps(dataclasses.asdict(result), default=str)  # type: ignore[call-overload]
    return "NaN" not in text and "Infinity" not in text and "nan" not in str(result)


def clustered(values: Sequence[float | None], size: int) -> list[str]:
    return [f"d{k // size}" for k in range(len(values))]


def test_the_interval_is_that_of_statsmodels_clustered_regression() -> None:
    import statsmodels.api as sm

    generator = numpy.random.default_rng(3)
    a, b = generator.integers(1, 6, 60).astype(float), generator.integers(1, 6, 60).astype(float)
    clusters = clustered(a, 4)
    result = compare_runs(run_of("a", a, clusters), run_of("b", b, clusters), "grounding")
    groups = [int(cluster[1:]) for cluster in clusters]
    fitted = sm.OLS(a - b, numpy.ones(60)).fit(cov_type="cluster", cov_kwds={"groups": groups}, use_t=True)
    # statsmodels multiplies by (n-1)/(n-1) here, so the small-sample form C/(C-1) is all there is.
    assert result.standard_error == pytest.approx(fitted.bse[0], rel=1e-9)
    assert result.interval is not None
    assert (result.interval.low, result.interval.high) == pytest.approx(tuple(fitted.conf_int()[0]), rel=1e-6)
    assert result.p == pytest.approx(fitted.pvalues[0], rel=1e-6)
    assert result.clusters == 15


@pytest.mark.parametrize(("measure", "limit"), [("mean", 4), ("pass_rate", 1)])
def test_no_interval_leaves_what_the_scale_allows(measure: str, limit: float) -> None:
    clusters = clustered([0.0] * 4, 2)
    result = compare_runs(
        run_of("a", [5, 5, 1, 1], clusters), run_of("b", [1, 1, 1, 5], clusters), "grounding", measure=measure
    )
    assert result.interval == Interval(-limit, limit)


def test_single_questions_give_the_paired_t_test() -> None:
    from scipy.stats import ttest_rel

    a, b = [5, 3, 4, 2, 5, 4, 3, 5], [4, 3, 2, 2, 4, 5, 1, 4]
    result = compare_runs(run_of("a", a), run_of("b", b), "grounding")
    oracle = ttest_rel(a, b)
    assert result.p == pytest.approx(oracle.pvalue)
    assert result.interval is not None
    assert result.interval.low == pytest.approx(oracle.confidence_interval().low)


def test_a_run_against_itself_is_equivalent_with_d_0_and_p_1() -> None:
    run = run_of("same", [5, 4, 1, 2, 3])
    for measure in ("mean", "pass_rate"):
        result = compare_runs(run, run, "grounding", measure=measure)
        assert (result.difference, result.p, result.p_permutation) == (0, 1, 1)
        assert result.interval == Interval(0, 0)
        assert result.verdict == Word.EQUIVALENT
        assert holds_no_nan(result)


@pytest.mark.parametrize(
    ("a", "b", "clusters", "expected"),
    [
        ([5] * 8, [5] * 8, None, "every question got the same score from both"),
        ([5], [4], None, "needs at least two"),
        ([5, 4, None, None], [None, None, 3, 2], None, "no question was scored in both"),
        ([5, 4, 3, 5], [1, 2, 3, 1], ["x"] * 4, "4 questions scored in both are of 1 document"),
        ([None, None], [None, None], None, "no question was scored in both"),
        ([5] * 8, [4] * 8, None, "no variance"),
        ([5, 5], [4, 4], None, "no variance"),
    ],
)
@pytest.mark.parametrize("measure", ["mean", "pass_rate"])
def test_degenerate_data_give_a_sentence_and_no_nan(
    a: list[float | None], b: list[float | None], clusters: list[str] | None, expected: str, measure: str
) -> None:
    result = compare_runs(run_of("a", a, clusters), run_of("b", b, clusters), "grounding", measure=measure)
    assert holds_no_nan(result)
    assert result.sentence
    if measure == "mean":
        assert expected in result.sentence
    if result.clusters < 2:
        assert result.verdict == Word.UNDECIDED
        assert result.p is None
        assert result.interval is None


def test_equal_differences_are_tested_by_sign_flip_and_two_questions_decide_nothing() -> None:
    eight = compare_runs(run_of("a", [5] * 8), run_of("b", [4] * 8), "grounding")
    assert (eight.verdict, eight.p, eight.method) == (Word.BETTER, 2 / 256, "sign-flip permutation")
    two = compare_runs(run_of("a", [5] * 2), run_of("b", [4] * 2), "grounding")
    assert (two.verdict, two.p) == (Word.UNDECIDED, 0.5)


@pytest.mark.parametrize("measure", ["mean", "pass_rate"])
@pytest.mark.parametrize(("size", "documents"), [(1, 12), (3, 4)])
def test_all_pass_in_two_runs_is_no_interval_of_width_0(measure: str, size: int, documents: int) -> None:
    clusters = clustered([5.0] * 12, size)
    result = compare_runs(
        run_of("a", [5] * 12, clusters), run_of("b", [5] * 12, clusters), "grounding", measure=measure
    )
    assert (result.difference, result.p, result.clusters) == (0, 1, documents)
    assert result.interval is not None
    unseen = 1 - 0.05 ** (1 / documents)
    limit = unseen * (4 if measure == "mean" else 1)
    assert result.interval.high == pytest.approx(limit, rel=0.2)
    assert result.interval.low == pytest.approx(-result.interval.high)
    assert result.verdict == Word.UNDECIDED
    assert "do not rule out a difference" in result.sentence
    assert result.p_equivalence is not None
    assert result.p_equivalence > 0.05
    # As many as it asks for do decide.
    assert result.questions_needed is not None
    many = [5.0] * result.questions_needed
    groups = clustered(many, size)
    enough = compare_runs(run_of("a", many, groups), run_of("b", many, groups), "grounding", measure=measure)
    assert enough.verdict == Word.EQUIVALENT
    assert enough.p_equivalence is not None
    assert enough.p_equivalence < 0.05


@pytest.mark.parametrize("sign", [1, -1])
def test_all_pass_against_all_fail_in_few_documents_has_an_interval_and_a_number_that_decides(sign: int) -> None:
    passed, failed = [5.0] * 12, [1.0] * 12
    a, b = (passed, failed) if sign > 0 else (failed, passed)
    clusters = clustered(a, 3)
    result = compare_runs(run_of("a", a, clusters), run_of("b", b, clusters), "grounding", measure="pass_rate")
    assert (result.verdict, result.questions_needed) == (Word.UNDECIDED, 18)
    assert result.interval is not None
    assert result.interval.high - result.interval.low > 0.5
    a, b, clusters = [*a, *a[:6]], [*b, *b[:6]], clustered([*a, *a[:6]], 3)
    more = compare_runs(run_of("a", a, clusters), run_of("b", b, clusters), "grounding", measure="pass_rate")
    assert more.verdict == (Word.BETTER if sign > 0 else Word.WORSE)


def test_differences_that_cancel_within_each_document_are_not_called_the_same_scores() -> None:
    clusters = clustered([0.0] * 12, 2)
    result = compare_runs(run_of("a", [5, 1] * 6, clusters), run_of("b", [1, 5] * 6, clusters), "grounding")
    assert result.difference == 0
    assert result.verdict == Word.UNDECIDED
    assert "the differences within every document cancel out" in result.sentence
    assert "Every document shows the same difference" in result.notes[0]


def test_equal_scores_on_a_scale_of_unknown_ends_give_a_sentence_and_no_interval() -> None:
    def run(name: str) -> Any:
        records = [make_record(f"q{k}", {"g": make_score("g", 2.0, lowest=None, highest=None)}) for k in range(5)]
        return make_run(name, records)

    result = compare_runs(run("a"), run("b"), "g")
    assert (result.interval, result.verdict) == (None, Word.UNDECIDED)
    assert "no variance to make an interval from" in result.sentence


def test_better_and_worse_are_seen_from_the_first_run() -> None:
    good, bad = run_of("good", [5, 5, 4, 5, 5, 4, 5, 5]), run_of("bad", [2, 3, 1, 2, 3, 3, 2, 1])
    assert compare_runs(good, bad, "grounding").verdict == Word.BETTER
    assert compare_runs(bad, good, "grounding").verdict == Word.WORSE
    assert "good is better than bad on grounding by" in compare_runs(good, bad, "grounding").sentence


def test_no_difference_is_equivalence_only_within_the_margin() -> None:
    generator = numpy.random.default_rng(5)
    a = generator.integers(3, 6, 400).astype(float)
    b = numpy.where(generator.random(400) < 0.1, a.clip(4) - 1, a)
    b[:20] = a[:20]
    near = numpy.where(numpy.arange(400) % 20 == 0, 4.0, a)
    equal = compare_runs(run_of("a", a), run_of("b", near), "grounding", margin=0.3)
    assert equal.verdict == Word.EQUIVALENT
    assert equal.interval is not None
    assert equal.interval.inside(0.3)
    assert equal.p_equivalence is not None
    assert equal.p_equivalence < 0.025
    tight = compare_runs(run_of("a", a), run_of("b", near), "grounding", margin=0.0001)
    assert tight.verdict == Word.UNDECIDED


def test_undecided_says_about_how_many_questions_would_decide_and_they_do() -> None:
    generator = numpy.random.default_rng(11)
    a = generator.integers(1, 6, 30).astype(float)
    b = (a + generator.integers(-2, 2, 30)).clip(1, 5)
    few = compare_runs(run_of("a", a), run_of("b", b), "grounding", margin=0.0)
    assert few.verdict == Word.UNDECIDED
    assert few.questions_needed is not None
    assert f"{few.questions_needed:,} questions would decide" in few.sentence
    copies = math.ceil(few.questions_needed / 30)
    more = compare_runs(run_of("a", numpy.tile(a, copies)), run_of("b", numpy.tile(b, copies)), "grounding", margin=0.0)
    assert more.verdict != Word.UNDECIDED


def test_the_default_margin_is_five_percent_of_the_scale() -> None:
    assert compare_runs(run_of("a", [5, 4]), run_of("b", [5, 3]), "grounding").margin == pytest.approx(0.2)


def test_failed_scores_that_could_turn_the_verdict_leave_it_undecided() -> None:
    a: list[float | None] = [5] * 20 + [4] * 4
    b: list[float | None] = [4] * 20 + [4] * 4
    sure = compare_runs(run_of("a", a), run_of("b", b), "grounding")
    assert sure.verdict == Word.BETTER
    a[-4:] = [None] * 4
    b[-2:] = [None] * 2
    result = compare_runs(run_of("a", a), run_of("b", b), "grounding")
    assert result.bounds is not None
    # Worst for A: 1 instead of each failed one; B's failed ones 5, its other two stay 4.
    assert result.bounds.lowest == pytest.approx((20 + 2 * (1 - 4) + 2 * (1 - 5)) / 24)
    assert result.bounds.highest == pytest.approx((20 + 2 * (5 - 4) + 2 * (5 - 1)) / 24)
    assert not result.bounds.agree
    assert result.verdict == Word.UNDECIDED
    assert "4 failed scores could turn the verdict" in result.notes[0]
    assert result.a.counts.failed == 4
    assert result.a.counts.reasons == {"malformed": 4}


def test_a_failed_score_that_cannot_turn_the_verdict_does_not() -> None:
    a: list[float | None] = [5] * 40 + [4, None]
    b: list[float | None] = [2] * 40 + [3, 3]
    result = compare_runs(run_of("a", a), run_of("b", b), "grounding")
    assert result.bounds is not None
    assert result.bounds.agree
    assert result.verdict == Word.BETTER


def test_not_applicable_is_no_failure_and_opens_no_bounds() -> None:
    lacking = make_score("grounding", None, "no_context", status=VerdictStatus.NOT_APPLICABLE)
    a = make_run("a", [make_record("0", {"grounding": lacking}), *run_of("x", [5, 4, 3]).records])
    b = make_run("b", [make_record("0", {"grounding": 5}), *run_of("x", [4, 4, 3]).records])
    result = compare_runs(a, b, "grounding")
    assert (result.questions, result.a.counts.not_applicable, result.bounds) == (3, 1, None)


def test_questions_are_joined_by_id_whatever_their_order_and_the_rest_is_counted() -> None:
    a = make_run("a", [make_record(key, {"grounding": value}) for key, value in [("x", 5), ("y", 4), ("z", 3)]])
    b = make_run("b", [make_record(key, {"grounding": value}) for key, value in [("w", 1), ("z", 3), ("x", 4)]])
    result = compare_runs(a, b, "grounding")
    assert (result.questions, result.only_in_a, result.only_in_b, result.difference) == (2, 1, 1, 0.5)
    assert result.sentence.endswith("2 of 4 questions were left out: 1 not asked in b, 1 not asked in a.")


def test_a_question_id_twice_is_refused_by_name() -> None:
    twice = make_run("a", [make_record("x", {"grounding": 5}), make_record("x", {"grounding": 5})])
    with pytest.raises(ConfigurationError, match="question 'x' occurs twice"):
        compare_runs(twice, run_of("b", [5]), "grounding")


def test_an_unknown_metric_names_those_there_are() -> None:
    with pytest.raises(ConfigurationError, match=r"no run has it; the runs have: grounding"):
        compare_runs(run_of("a", [5]), run_of("b", [5]), "fluency")


def test_questions_that_changed_under_one_id_are_told() -> None:
    a, b = run_of("a", [5, 4]), run_of("b", [5, 4])
    changed = dataclasses.replace(b.records[0].question, text="something else")
    b = make_run("b", [dataclasses.replace(b.records[0], question=changed), b.records[1]])
    assert "another text" in compare_runs(a, b, "grounding").notes[0]


def test_clusters_may_come_from_metadata() -> None:
    def run(name: str, values: list[int]) -> Any:
        records = [make_record(f"q{k}", {"g": v}, metadata={"topic": k % 3}) for k, v in enumerate(values)]
        return make_run(name, records)

    a, b = run("a", [5, 4, 3, 5, 4, 3]), run("b", [4, 4, 4, 3, 3, 3])
    assert compare_runs(a, b, "g", cluster_by="topic").clusters == 3
    assert compare_runs(a, b, "g", cluster_by="question").clusters == 6


def test_a_field_to_cluster_by_that_no_question_has_is_refused_and_not_taken_for_no_clusters() -> None:
    runs = [make_run(name, [make_record("q", {"g": 5.0}, metadata={"topic": 1})]) for name in "ab"]
    with pytest.raises(ConfigurationError, match="no question has this field; there are: gold, question, topic"):
        compare_runs(runs[0], runs[1], "g", cluster_by="topics")


def test_pass_rates_are_tested_by_mcnemar_for_single_questions_and_clustered_otherwise() -> None:
    a = [5] * 12 + [1] * 8
    b = [5] * 4 + [1] * 16
    single = compare_runs(run_of("a", a), run_of("b", b), "grounding", measure="pass_rate")
    assert single.method == "McNemar exact"
    assert single.p == pytest.approx(2 * 0.5**8)
    assert single.pass_rates is not None
    assert single.interval == single.pass_rates.interval
    groups = clustered(a, 2)
    grouped = compare_runs(run_of("a", a, groups), run_of("b", b, groups), "grounding", measure="pass_rate")
    assert grouped.method == "paired t, clustered"
    assert grouped.pass_rates is not None
    assert grouped.interval == grouped.pass_rates.clustered


def test_equal_passes_on_few_questions_are_undecided_and_on_many_equivalent() -> None:
    few = compare_runs(run_of("a", [5] * 20), run_of("b", [4] * 20), "grounding", measure="pass_rate")
    assert few.verdict == Word.UNDECIDED
    assert few.questions_needed is not None
    many = [5] * few.questions_needed
    assert (
        compare_runs(run_of("a", many), run_of("b", many), "grounding", measure="pass_rate").verdict == Word.EQUIVALENT
    )


def test_recall_of_a_longer_list_is_not_called_better() -> None:
    def run(name: str, k: int, hit: float) -> Any:
        records = [
            make_record(f"q{j}", gold=[f"d{j}"], retrieval_metrics={"hit_rate_at_10": hit, "mrr_at_10": hit})
            for j in range(12)
        ]
        return make_run(name, records, choices={"retriever.top_k": k})

    result = compare_runs(run("k=10", 10, 1.0), run("k=3", 3, 0.0), "retrieval/hit_rate_at_10")
    assert result.verdict == Word.UNDECIDED
    assert "compare at k = 3" in result.notes[0]
    same = compare_runs(run("a", 10, 1.0), run("b", 10, 0.0), "retrieval/hit_rate_at_10")
    assert same.verdict == Word.BETTER


def test_one_ranking_cut_at_different_k_is_the_same_at_equal_k_and_that_is_certain() -> None:
    def run(name: str, **choices: Any) -> Any:
        records = [
            make_record(f"q{j}", gold=[f"d{j}"], retrieval_metrics={"recall_at_1": float(j % 2)}) for j in range(6)
        ]
        return make_run(name, records, choices={"retriever.kind": "bm25", **choices})

    short, long = run("k=1", **{"retriever.top_k": 1}), run("k=3", **{"retriever.top_k": 3})
    same = compare_runs(short, long, "retrieval/recall_at_1")
    assert (same.verdict, same.interval, same.questions_needed) == (Word.EQUIVALENT, Interval(0, 0), None)
    assert same.notes == ()
    other = compare_runs(short, run("dense", **{"retriever.kind": "dense"}), "retrieval/recall_at_1")
    assert other.verdict == Word.UNDECIDED, "another retriever may differ on other questions"


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_swapping_the_runs_mirrors_everything(data: st.DataObject) -> None:
    score = st.one_of(st.none(), st.integers(1, 5).map(float))
    a = data.draw(st.lists(score, min_size=1, max_size=25))
    b = data.draw(st.lists(score, min_size=len(a), max_size=len(a)))
    clusters = [f"d{data.draw(st.integers(0, 6))}" for _ in a]
    measure = data.draw(st.sampled_from(["mean", "pass_rate"]))
    forth: Comparison = compare_runs(run_of("a", a, clusters), run_of("b", b, clusters), "grounding", measure=measure)
    back: Comparison = compare_runs(run_of("b", b, clusters), run_of("a", a, clusters), "grounding", measure=measure)
    assert holds_no_nan(forth)
    mirrored = {Word.BETTER: Word.WORSE, Word.WORSE: Word.BETTER}
    assert back.verdict == mirrored.get(forth.verdict, forth.verdict)
    assert forth.p == pytest.approx(back.p)
    assert forth.difference == pytest.approx(None if back.difference is None else -back.difference)
    if forth.interval is not None and back.interval is not None:
        assert forth.interval.low == pytest.approx(-back.interval.high, abs=1e-9)
        assert forth.difference is not None
        assert forth.interval.low - 1e-9 <= forth.difference <= forth.interval.high + 1e-9


@pytest.mark.parametrize("margin", [float("nan"), float("inf"), -1.0])
def test_a_margin_that_no_difference_can_be_held_to_is_refused(margin: float) -> None:
    a = run_of("a", numpy.array([1.0, 2.0, 3.0]))
    with pytest.raises(ConfigurationError, match="margin: must be a number from 0 on"):
        compare_runs(a, a, "grounding", margin=margin)


def test_the_same_replies_of_a_judge_are_certain_and_equal_scores_from_others_are_not() -> None:
    """Ten equal scores read from the same ten calls were "undecided; about 59 questions would decide"."""

    def judged(name: str, prefix: str, failed: int = 0) -> Any:
        scores = [
            make_score("grounding", None if k < failed else 5.0 - k % 2, calls=[make_call(f"{prefix}{k}")])
            for k in range(10)
        ]
        return make_run(name, [make_record(f"q{k}", {"grounding": one}, [f"d{k}"]) for k, one in enumerate(scores)])

    same = compare_runs(judged("a", "call"), judged("b", "call"), "grounding")
    assert (same.verdict, same.questions_needed, same.interval) == (Word.EQUIVALENT, None, Interval(0.0, 0.0))
    assert same.sentence == (
        "a and b are equivalent on grounding (the same verdicts: identical answers and rubric), 10 questions."
    )
    for other in (judged("b", "another"), judged("b", "call", failed=1)):
        found = compare_runs(judged("a", "call"), other, "grounding")
        assert not found.certain
        assert found.verdict == Word.UNDECIDED
    unkeyed = [run_of(name, [5.0, 4.0] * 5) for name in "ab"]
    assert compare_runs(*unkeyed, "grounding").verdict == Word.UNDECIDED, "no call is known, so nothing is certain"
