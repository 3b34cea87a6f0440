"""What one record becomes: spans, feedback, money. Nothing of MLflow runs here."""

from __future__ import annotations

import json
from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runner.records import Usage
from runner.tracking import text, traces
from runner.tracking.traces import build, is_traced
from tests.fakes.records import failed_record, full_record

JUDGES = ("grounding", "topicality", "reference_match")


def spans(draft: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Attributes by span name, decoded."""
    return {
        span["name"]: {key: json.loads(value) for key, value in span["attributes"].items()} for span in draft["spans"]
    }


def test_a_record_is_a_root_a_retriever_a_chat_model_and_an_evaluator_a_judge() -> None:
    draft = build(full_record(1), "run", JUDGES)
    kinds = [(span["name"], json.loads(span["attributes"]["mlflow.spanType"])) for span in draft["spans"]]
    assert kinds == [
        ("question", "CHAIN"),
        ("retrieve", "RETRIEVER"),
        ("generate", "CHAT_MODEL"),
        *((name, "EVALUATOR") for name in JUDGES),
    ]
    root = draft["spans"][0]["span_id"]
    assert [span["parent"] for span in draft["spans"]] == ["", *[root] * 5]
    assert draft["request_preview"] == "[q1] What is rule number 1?"
    assert draft["state"] == "OK"


def test_retrieved_chunks_carry_score_rank_and_gold_mark() -> None:
    found = spans(build(full_record(1), "run", JUDGES))["retrieve"]["mlflow.spanOutputs"]
    assert [(chunk["metadata"]["rank"], chunk["metadata"]["score"], chunk["metadata"]["gold"]) for chunk in found] == [
        (1, 0.9, True),
        (2, 0.8, False),
        (3, 0.7, False),
    ]


def test_the_reference_is_an_expectation_and_every_judge_has_one_numeric_feedback() -> None:
    given_ = build(full_record(3), "run", JUDGES)["assessments"]
    assert [(one["kind"], one["name"], one["value"]) for one in given_] == [
        ("feedback", "grounding", 4),
        ("feedback", "topicality", 4),
        ("feedback", "reference_match", 0),
        ("expectation", "expected_response", "Rule 3 is the rule."),
    ]
    assert given_[2]["metadata"]["label"] == "bad"
    assert given_[0]["rationale"].startswith("grounding: claim by claim")


def test_a_failed_judge_leaves_an_error_with_its_reason_and_no_number() -> None:
    feedback = build(full_record(1, failing=("topicality",)), "run", JUDGES)["assessments"][1]
    assert feedback["value"] is None
    assert feedback["error"] == ("malformed", "failed: no JSON in the reply")


def test_a_judge_that_a_record_lacks_has_an_error_too_since_pages_take_columns_from_the_first_traces() -> None:
    draft = build(full_record(1, judges=("grounding",)), "run", JUDGES)
    assert [one["name"] for one in draft["assessments"] if one["kind"] == "feedback"] == list(JUDGES)
    assert draft["assessments"][1]["error"][0] == "not_asked"


def test_a_failed_answer_makes_the_trace_an_error_and_its_verdicts_not_applicable() -> None:
    draft = build(failed_record(4), "run", JUDGES)
    assert draft["state"] == "ERROR"
    assert draft["response_preview"] == "(no answer: timeout)"
    assert [one["error"][0] for one in draft["assessments"]] == ["no_answer"] * 3


def test_usage_and_price_lie_on_leaf_spans_and_add_up_to_the_last_digit() -> None:
    record = full_record(1, price="0.00012345")
    draft = build(record, "run", JUDGES)
    costs = [found["mlflow.llm.cost"]["total_cost"] for found in spans(draft).values() if "mlflow.llm.cost" in found]
    assert sum(Decimal(str(cost)) for cost in costs) == Decimal("0.0004938")
    assert json.loads(draft["metadata"]["mlflow.trace.cost"])["total_cost"] == 0.0004938
    assert json.loads(draft["metadata"]["mlflow.trace.tokenUsage"]) == {
        "input_tokens": 420 + 3 * 520,
        "output_tokens": 36 + 3 * 60,
        "total_tokens": 456 + 3 * 580,
    }


def test_an_unknown_price_is_left_out_and_leaves_nothing_that_mlflow_would_price_itself() -> None:
    draft = build(full_record(1, price=None), "run", JUDGES)
    for found in spans(draft).values():
        assert "mlflow.llm.cost" not in found
        assert "mlflow.llm.model" not in found
    assert spans(draft)["generate"]["runner.model"] == "model-a"
    assert "mlflow.trace.cost" not in draft["metadata"]
    assert all("mlflow.assessment.judgeCost" not in one["metadata"] for one in draft["assessments"])


def test_several_calls_of_one_judge_are_a_span_each_and_the_parent_has_no_usage() -> None:
    record = full_record(1, judges=("grounding",))
    score = record.scores["grounding"]
    verdict = score.verdicts[0]
    twice = replace(score, verdicts=(verdict, replace(verdict, repeat=1)), spread=0.5)
    draft = build(replace(record, scores={"grounding": twice}), "run", ("grounding",))
    names = [span["name"] for span in draft["spans"]]
    assert names[-2:] == ["call 1", "call 2"]
    assert "mlflow.chat.tokenUsage" not in spans(draft)["grounding"]
    assert len({span["span_id"] for span in draft["spans"]}) == len(names)


def test_times_are_the_true_ones_where_every_call_was_made_now() -> None:
    draft = build(full_record(0), "run", JUDGES)
    begun = draft["spans"][0]["start_ns"]
    at = {span["name"]: (span["start_ns"] - begun, span["end_ns"] - begun) for span in draft["spans"]}
    assert draft["start_ms"] * 1_000_000 == begun
    assert at["generate"] == (0, 200_000_000)
    assert at["grounding"][0] == pytest.approx(250_000_000, abs=1000)
    assert draft["duration_ms"] == 500


def test_calls_from_the_ledger_keep_their_duration_but_lie_where_the_record_was_finished() -> None:
    record = full_record(0, from_ledger=True)
    old = replace(record.answer.calls[0], started_at="2020-01-01T00:00:00+00:00")
    record = replace(record, answer=replace(record.answer, calls=(old,)))
    draft = build(record, "run", JUDGES)
    assert draft["duration_ms"] == 400
    assert draft["start_ms"] > 1_796_000_000_000
    assert spans(draft)["generate"]["runner.first_called_at"].startswith("2020")
    assert spans(draft)["generate"]["runner.from_ledger"] is True


def test_writing_twice_is_writing_once_because_all_ids_are_derived() -> None:
    first, second = (build(full_record(1), "run", JUDGES) for _ in range(2))
    assert first == second
    other = build(full_record(1), "another run", JUDGES)
    assert other["trace_id"] != first["trace_id"]


def test_which_questions_are_traced() -> None:
    good, bad, lost = full_record(1), full_record(2, failing=("grounding",)), failed_record(3)
    assert [is_traced(record, "failed", 3) for record in (good, bad, lost)] == [False, True, True]
    assert not any(is_traced(record, "none", 3) for record in (good, bad, lost))
    records = [full_record(number, chunks=0) for number in range(1000)]
    kept = [record.question.id for record in records if is_traced(record, "sample", 1000)]
    assert 150 < len(kept) < 250
    assert kept == [record.question.id for record in records if is_traced(record, "sample", 1000)]
    assert all(is_traced(record, "sample", 150) for record in records[:150])


@given(st.text(alphabet=st.characters(), max_size=200), st.text(max_size=200))
def test_any_text_becomes_valid_unicode_without_control_characters(said: str, asked: str) -> None:
    draft = build(full_record(1, answer=said or "x", text=asked or "y"), "run", JUDGES)
    whole = json.dumps(draft, ensure_ascii=False)
    whole.encode("utf-8")
    assert not any(ord(letter) < 32 and letter not in "\t\n\r" for letter in draft["response_preview"])
    assert len(draft["request_preview"]) <= text.PREVIEW_LIMIT
    assert len(draft["response_preview"]) <= text.PREVIEW_LIMIT


def test_long_questions_with_the_same_beginning_stay_apart_on_the_compare_page() -> None:
    long = "why " * 1000
    previews = {build(full_record(number, text=long), "run", JUDGES)["request_preview"] for number in range(5)}
    assert len(previews) == 5


def test_cached_and_reasoning_tokens_are_told() -> None:
    record = full_record(1)
    call = replace(record.answer.calls[0], usage=Usage(1000, 50, cached_input_tokens=900))
    draft = build(replace(record, answer=replace(record.answer, calls=(call,))), "run", JUDGES)
    assert spans(draft)["generate"]["mlflow.chat.tokenUsage"]["cache_read_input_tokens"] == 900


def test_the_id_of_a_trace_has_the_form_that_mlflow_wants() -> None:
    identifier = traces.trace_id("run", "q1")
    assert identifier.startswith("tr-")
    assert len(bytes.fromhex(identifier[3:])) == 16
