"""The columns of the runs page: no column of zeros, none that one run alone fills, the means first."""

from __future__ import annotations

from runner.tracking.columns import columns

RUN = {
    "answers/answered": 10.0,
    "answers/failed": 0.0,
    "answers/abstained": 2.0,
    "grounding/mean": 0.0,
    "grounding/pass_rate": 0.0,
    "grounding/scored": 8.0,
    "grounding/failed": 0.0,
    "topicality/mean": 4.1,
    "topicality/pass_rate": 0.6,
    "topicality/scored": 8.0,
    "blame/fine": 6.0,
    "blame/judges_disagree": 0.0,
    "cost/new_usd": 0.0,
    "cost/total_usd": 0.0,
    "cost/judge_usd": 0.0,
    "tokens/input": 0.0,
    "calls/made": 0.0,
    "calls/from_ledger": 0.0,
}


def test_runs_of_a_sweep_over_top_k_share_their_retrieval_columns() -> None:
    one = columns({**RUN, "retrieval/hit_rate_at_1": 0.5, "retrieval/mrr_at_1": 0.5})
    three = columns({**RUN, "retrieval/hit_rate_at_3": 0.9, "retrieval/mrr_at_3": 0.7})
    assert (one["retrieval/hit_rate"], three["retrieval/hit_rate"]) == (0.5, 0.9)
    assert (one["retrieval/mrr"], three["retrieval/mrr"]) == (0.5, 0.7)
    assert set(one) - set(three) == {"retrieval/hit_rate_at_1"}


def test_there_is_no_column_for_what_did_not_happen() -> None:
    shown = columns(RUN)
    assert [name for name, value in shown.items() if value == 0] == [
        "grounding/mean",
        "grounding/pass_rate",
        "cost/total_usd",
        "cost/new_usd",
        "grounding/failed",
    ]
    assert {"answers/abstained", "blame/fine"} <= set(shown)


def test_a_run_from_the_ledger_says_that_it_made_no_call() -> None:
    assert columns({**RUN, "calls/from_ledger": 20.0})["calls/made"] == 0


def test_what_is_read_first_stands_first() -> None:
    assert list(columns({**RUN, "retrieval/hit_rate_at_3": 0.9}))[:10] == [
        "grounding/mean",
        "topicality/mean",
        "grounding/pass_rate",
        "topicality/pass_rate",
        "grounding/scored",
        "topicality/scored",
        "retrieval/hit_rate",
        "cost/total_usd",
        "cost/new_usd",
        "answers/answered",
    ]
