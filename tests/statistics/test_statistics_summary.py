"""The summary of a run: denominators, clustered errors, bounds, exact money, MLflow names."""

from __future__ import annotations

import math
import subprocess
import sys
from decimal import Decimal
from statistics import stdev

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runner.records import Answer, AnswerStatus, Usage, VerdictStatus
from runner.statistics import summarise
from tests.fakes.runs import make_call, make_record, make_run, make_score, run_of


def test_denominators_stand_beside_the_mean_and_failures_are_never_zero() -> None:
    not_applicable = make_score("grounding", None, "no_context", status=VerdictStatus.NOT_APPLICABLE)
    run = make_run(
        "a",
        [
            make_record("1", {"grounding": 5}),
            make_record("2", {"grounding": 2}),
            make_record("3", {"grounding": None}),
            make_record("4", {"grounding": not_applicable}),
        ],
    )
    judge = summarise(run).judges["grounding"]
    assert (judge.asked, judge.scored, judge.not_applicable, judge.failed) == (4, 2, 1, 1)
    assert judge.mean == 3.5
    assert judge.pass_rate == 0.5
    assert judge.reasons == {"malformed": 1, "no_context": 1}
    assert judge.distribution == {"2": 1, "5": 1}
    assert judge.worst_case == pytest.approx((5 + 2 + 1) / 3)
    assert judge.best_case == pytest.approx((5 + 2 + 5) / 3)


def test_a_record_without_a_score_of_a_judge_counts_as_interrupted() -> None:
    run = make_run("a", [make_record("1", {"grounding": 5}), make_record("2", {})])
    judge = summarise(run).judges["grounding"]
    assert (judge.asked, judge.scored, judge.failed, judge.reasons) == (2, 1, 1, {"interrupted": 1})


def test_nothing_scored_gives_no_mean_and_no_metric() -> None:
    summary = summarise(run_of("a", [None, None]))
    assert summary.judges["grounding"].mean is None
    assert "grounding/mean" not in summary.metrics
    assert summary.metrics["grounding/failed"] == 2


def test_no_bounds_where_nothing_failed_or_the_scale_is_unknown() -> None:
    assert summarise(run_of("a", [5, 4])).judges["grounding"].worst_case is None
    unknown = make_score("grounding", None, lowest=None, highest=None)
    run = make_run("a", [make_record("1", {"grounding": unknown})])
    assert summarise(run).judges["grounding"].worst_case is None


@given(st.lists(st.sampled_from([1.0, 2.0, 3.0, 4.0, 5.0]), min_size=2, max_size=30))
def test_standard_error_of_single_question_clusters_is_the_textbook_one(values: list[float]) -> None:
    error = summarise(run_of("a", values)).judges["grounding"].standard_error
    assert error == pytest.approx(stdev(values) / math.sqrt(len(values)), abs=1e-12)


def test_standard_error_counts_documents_not_rows() -> None:
    values = [5, 5, 5, 1, 1, 1]
    alone = summarise(run_of("a", values)).judges["grounding"].standard_error
    together = summarise(run_of("a", values, ["x", "x", "x", "y", "y", "y"])).judges["grounding"].standard_error
    assert together == pytest.approx(math.sqrt(2 / 1 * (6**2 + 6**2)) / 6)
    assert alone is not None
    assert together > alone
    assert summarise(run_of("a", values, ["x"] * 6)).judges["grounding"].standard_error is None


def test_a_call_is_counted_once_a_key_and_money_adds_up_to_the_last_digit() -> None:
    judge = make_call("k1", cost="0.0000001")
    again = make_call("k1", cost="0.0000001", from_ledger=True)
    stored = make_call("k2", cost="0.3", from_ledger=True)
    run = make_run(
        "a",
        [
            make_record("1", {"grounding": make_score("grounding", 5, calls=[again])}),
            make_record("2", {"grounding": make_score("grounding", 5, calls=[judge, stored])}),
        ],
    )
    summary = summarise(run)
    assert summary.total_cost == Decimal("0.3000001")
    assert summary.new_cost == Decimal("0.0000001")
    assert (summary.metrics["calls/made"], summary.metrics["calls/from_ledger"]) == (1, 1)
    assert (summary.metrics["tokens/input"], summary.metrics["tokens/judge_output"]) == (200, 20)


def test_every_share_of_an_embedding_call_adds_up_and_the_call_counts_once() -> None:
    shares = [make_call("batch", "embed", "0.0001", usage=Usage(7, 0)) for _ in range(3)]
    run = make_run("a", [make_record(str(k), retrieval_calls=(share,)) for k, share in enumerate(shares)])
    summary = summarise(run)
    assert summary.total_cost == Decimal("0.0003")
    assert summary.metrics["calls/made"] == 1
    assert summary.metrics["tokens/embed_input"] == 21


def test_one_unknown_price_makes_the_sum_unknown_and_names_the_model() -> None:
    calls = (make_call("k1"), make_call("k2", cost=None, model="mystery"))
    summary = summarise(make_run("a", [make_record("1", answer_calls=calls)]))
    assert summary.total_cost is None
    assert summary.unknown_prices == ("mystery",)
    assert "cost/total_usd" not in summary.metrics


def test_spend_is_split_by_stage_and_model() -> None:
    calls = (make_call("g", "generate", "1"),)
    judged = make_score("grounding", 4, calls=[make_call("j", "judge", "2"), make_call("i", "judge", "4", model="b")])
    run = make_run("a", [make_record("1", {"grounding": judged}, answer_calls=calls)])
    spend = [(part.stage, part.model, part.total_cost) for part in summarise(run).spend]
    assert spend == [("generate", "model-a", 1), ("judge", "b", 4), ("judge", "model-a", 2)]
    assert summarise(run).metrics["cost/judge_usd"] == 6


def test_metric_names_have_exactly_one_slash_and_survive_odd_judge_names() -> None:
    run = make_run("a", [make_record("1", {"my/judge@5,x": 5}, ["d"], retrieval_metrics={"hit_rate_at_3": 1.0})])
    metrics = summarise(run).metrics
    assert all(name.count("/") == 1 for name in metrics)
    assert metrics["my_judge_5_x/mean"] == 5
    assert metrics["retrieval/hit_rate_at_3"] == 1.0
    assert all(math.isfinite(value) for value in metrics.values())


def test_retrieval_means_leave_questions_without_gold_out_and_count_them() -> None:
    run = make_run(
        "a",
        [
            make_record("1", gold=["d"], retrieval_metrics={"hit_rate_at_3": 1.0}),
            make_record("2", gold=["e"], retrieval_metrics={"hit_rate_at_3": 0.0}),
            make_record("3"),
        ],
    )
    summary = summarise(run)
    assert (summary.retrieval, summary.retrieval_questions) == ({"hit_rate_at_3": 0.5}, 2)


def test_answers_are_counted_by_status() -> None:
    run = make_run(
        "a",
        [
            make_record("1", answer=Answer(AnswerStatus.ANSWERED, "?", abstained=True)),
            make_record("2", answer=Answer(AnswerStatus.FAILED, reason="timeout")),
            make_record("3", answer_calls=(make_call("a", "generate", latency_s=2.5),)),
        ],
    )
    summary = summarise(run)
    assert (summary.asked, summary.answered, summary.failed_answers, summary.abstained) == (3, 2, 1, 1)
    assert summary.answer_latency_p50_s == 2.5


def test_an_empty_run_has_a_summary() -> None:
    summary = summarise(make_run("a", []))
    assert summary.asked == 0
    assert summary.total_cost == 0


def test_labels_are_shown_lowest_first_and_continuous_scores_in_ranges() -> None:
    labelled = [
        make_record(str(k), {"m": make_score("m", float(good), label="good" if good else "bad")})
        for k, good in enumerate([True, False, True])
    ]
    assert list(summarise(make_run("a", labelled)).judges["m"].distribution.items()) == [("bad", 1), ("good", 2)]
    spread = summarise(run_of("a", [k / 100 for k in range(100)])).judges["grounding"].distribution
    assert len(spread) == 10
    assert sum(spread.values()) == 100


def test_the_summary_imports_nothing_heavy() -> None:
    heavy = "('numpy', 'scipy', 'pandas', 'mlflow')"
    code = f"import sys, runner.statistics; print([m for m in {heavy} if m in sys.modules])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"
