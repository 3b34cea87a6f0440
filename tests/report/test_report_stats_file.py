"""``stats.json``: the exact keys, sums that agree with the entries, money rounded only here."""

from __future__ import annotations

import json
from decimal import Decimal

import pytest

from runner.records import Chunk, Retrieved, Usage
from runner.report import stats_json
from runner.statistics import summarise
from tests.fakes.runs import make_call, make_record, make_run, make_score


def example() -> dict[str, object]:
    shared = make_call("same", "judge", "0.000000123456789", model="judge-model")
    chunk = Retrieved(Chunk("c", "d", 0, "chunk text", source="faq.md"), 1, 0.9)
    share = make_call("batch", "embed", "0.00002", model="embedder", usage=Usage(5, 0))
    records = [
        make_record(
            f"q{k}",
            {"grounding": make_score("grounding", 5, calls=[shared], rationale="because"), "topicality": None},
            answer_calls=(make_call(f"g{k}", "generate", "0.01", model="generator-model"),),
            retrieval_calls=(share,),
            retrieved=(chunk,),
        )
        for k in range(2)
    ]
    run = make_run("a", records, started_at="2026-11-30T01:00:00+00:00", choices={"generator.model": "asked"})
    return stats_json(run, summarise(run))


def test_the_keys_are_those_of_the_design() -> None:
    stats = json.loads(json.dumps(example()))
    assert list(stats) == ["run_info", "assessments", "calls"]
    info = stats["run_info"]
    assert list(info) == [
        "generator_model", "judge_model", "embed_model", "timestamp", "total_questions", "total_api_calls", "usage",
    ]  # fmt: skip
    assert (info["generator_model"], info["judge_model"], info["embed_model"]) == (
        "generator-model", "judge-model", "embedder",
    )  # fmt: skip
    totals = {"total_input_tokens", "total_output_tokens", "total_tokens", "total_cost"}
    assert set(info["usage"]) == {"embed", "generate", "judge"} | totals
    assert set(info["usage"]["judge"]) == totals | {"model"}
    assert stats["assessments"][0] == {
        "question": "question q0?",
        "answer": "an answer",
        "chunks": [{"source": "faq.md", "text": "chunk text"}],
        "grounding_score": 5,
        "grounding_reason": "because",
        "topicality_score": None,
        "topicality_reason": "failed (malformed)",
    }
    call = stats["calls"][1]
    assert list(call) == ["timestamp", "stage", "model", "text", "result", "time_taken_seconds"]
    assert set(call["result"]) == {
        "result", "prompt_tokens", "completion_tokens", "total_tokens", "input_cost", "output_cost", "total_cost",
    }  # fmt: skip
    assert (call["stage"], call["text"], call["result"]["result"]) == ("generate", "question q0?", "an answer")


def test_the_entries_add_up_to_the_totals_and_an_equal_call_is_listed_once() -> None:
    stats = json.loads(json.dumps(example()), parse_float=Decimal)
    usage = stats["run_info"]["usage"]
    assert stats["run_info"]["total_api_calls"] == 4  # one embedding batch, two answers, one shared verdict
    assert sum(call["result"]["total_cost"] for call in stats["calls"]) == usage["total_cost"]
    assert usage["total_cost"] == Decimal("0.020040123457")  # 2 answers, 2 embedding shares, 1 verdict
    assert sum(call["result"]["total_tokens"] for call in stats["calls"]) == usage["total_tokens"] == 10 + 2 * 110 + 110


def test_money_is_rounded_to_twelve_digits_and_an_unknown_price_is_null() -> None:
    run = make_run("a", [make_record("q", answer_calls=(make_call("k", "generate", "0.1234567890123456"),))])
    assert stats_json(run, summarise(run))["run_info"]["usage"]["total_cost"] == pytest.approx(0.123456789012, abs=0)
    run = make_run("a", [make_record("q", answer_calls=(make_call("k", "generate", None),))])
    assert stats_json(run, summarise(run))["run_info"]["usage"]["total_cost"] is None


def test_without_calls_the_configuration_names_the_models() -> None:
    run = make_run(
        "a",
        [make_record("q", {"grounding": 5})],
        choices={"generator.kind": "extractive", "generator.model": "x", "judges.grounding.model": "m"},
    )
    info = stats_json(run, summarise(run))["run_info"]
    assert (info["generator_model"], info["judge_model"]) == ("extractive", "m")


def test_absurd_money_is_written_and_does_not_end_the_run() -> None:
    costly = make_call("g", "generate", "25000000000000000000.123456789012", model="m")
    run = make_run("a", [make_record("q", {}, answer_calls=(costly,))])
    stats = json.loads(json.dumps(stats_json(run, summarise(run)), allow_nan=False))
    assert stats["calls"][0]["result"]["total_cost"] == pytest.approx(2.5e19)
