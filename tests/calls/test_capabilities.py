"""What a model refuses is left out or renamed, said so, and remembered; nothing else of the request changes."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runner.calls.capabilities import Capabilities
from runner.calls.retries import Kind, classify
from tests.fakes.model_server import ModelServer

BODY: dict[str, Any] = {
    "messages": [{"role": "user", "content": "x"}],
    "temperature": 0.0,
    "top_p": 0.5,
    "logprobs": True,
    "top_logprobs": 5,
    "max_tokens": 100,
}


def adapted(model: str, provider: str = "openai", **body: Any) -> tuple[dict[str, Any], dict[str, str]]:
    return Capabilities().adapt(provider, model, body or BODY)


@pytest.mark.parametrize("model", ["gpt-4o", "gpt-4o-mini-2024-07-18", "gpt-4.1-nano", "llama3"])
def test_models_that_take_everything_get_everything(model: str) -> None:
    sent, left_out = adapted(model)
    assert (sent, left_out) == (BODY, {})
    assert sent is not BODY


@pytest.mark.parametrize(
    "model", ["gpt-5", "gpt-5-mini", "gpt-5-nano-2025-08-07", "o1", "o3-mini", "o4-mini-2025-04-16"]
)
def test_reasoning_models_take_no_sampling_parameters(model: str) -> None:
    sent, left_out = adapted(model)
    assert sent == {"messages": BODY["messages"], "max_completion_tokens": 100}
    assert set(left_out) == {"temperature", "top_p", "logprobs", "top_logprobs"}
    assert set(left_out.values()) == {"refused"}


@pytest.mark.parametrize("model", ["gpt-5.1", "gpt-5.2", "gpt-5.4-mini", "gpt-5.5", "gpt-5-chat-latest"])
def test_models_that_may_take_them_are_asked_first(model: str) -> None:
    sent, left_out = adapted(model)
    assert sent == {name: value for name, value in BODY.items() if name != "max_tokens"} | {
        "max_completion_tokens": 100
    }
    assert left_out == {}


def test_temperature_of_56_is_refused_and_the_rest_is_not() -> None:
    sent, left_out = adapted("gpt-5.6-luna")
    assert left_out == {"temperature": "refused"}
    assert sent["logprobs"] is True


def test_the_default_value_is_never_called_refused() -> None:
    assert adapted("gpt-5", temperature=1, top_p=1) == ({}, {})
    assert adapted("gpt-5", temperature=1.0) == ({}, {})


def test_a_compatible_server_may_call_its_model_anything() -> None:
    assert adapted("gpt-5", provider="openai_compatible") == (BODY, {})


def test_log_probabilities_of_the_responses_api_go_altogether() -> None:
    body = {"top_logprobs": 3, "include": ["message.output_text.logprobs", "file_search_call.results"]}
    assert adapted("gpt-5", **body) == ({"include": ["file_search_call.results"]}, {"top_logprobs": "refused"})
    assert adapted("gpt-5", top_logprobs=3, include=["message.output_text.logprobs"])[0] == {}


def test_a_lesson_is_remembered_for_that_model_and_server_alone() -> None:
    told = Capabilities()
    told.refuse("openai_compatible", "m", "response_format", server="http://a/v1")
    body = {"response_format": {"type": "json_schema"}, "temperature": 0}
    assert told.adapt("openai_compatible", "m", body, server="http://a/v1") == (
        {"temperature": 0},
        {"response_format": "refused"},
    )
    assert told.adapt("openai_compatible", "m", body, server="http://b/v1") == (body, {})
    assert told.adapt("openai_compatible", "other", body, server="http://a/v1") == (body, {})
    assert Capabilities().adapt("openai_compatible", "m", body, server="http://a/v1") == (body, {})


def test_an_output_limit_is_renamed_both_ways_and_never_lost() -> None:
    told = Capabilities()
    told.refuse("openai", "gpt-4o", "max_tokens")
    assert told.adapt("openai", "gpt-4o", {"max_tokens": 7}) == ({"max_completion_tokens": 7}, {})
    told.refuse("openai", "gpt-4o", "max_completion_tokens")
    assert told.adapt("openai", "gpt-4o", {"max_tokens": 7}) == ({"max_tokens": 7}, {})
    assert told.adapt("openai", "gpt-4o", {"max_completion_tokens": 7}) == ({"max_tokens": 7}, {})
    # The table is certain, but the server has the last word.
    told.refuse("openai", "gpt-5", "max_completion_tokens")
    assert told.adapt("openai", "gpt-5", {"max_completion_tokens": 7}) == ({"max_tokens": 7}, {})


@given(
    st.sampled_from(["gpt-4o", "gpt-5", "gpt-5.6", "o3", "x"]),
    st.lists(st.sampled_from([*BODY, "seed", "max_completion_tokens"]), max_size=5),
)
def test_adapting_twice_changes_nothing_more(model: str, lessons: list[str]) -> None:
    told = Capabilities()
    for name in lessons:
        told.refuse("openai", model, name)
    once, left_out = told.adapt("openai", model, BODY)
    twice, again = told.adapt("openai", model, once)
    assert (twice, again) == (once, {})
    assert set(once) <= {*BODY, "max_completion_tokens"}
    assert once.get("max_tokens", once.get("max_completion_tokens")) == 100
    assert not set(left_out) & set(once)


def test_lessons_from_a_real_server_end_in_a_reply() -> None:
    import httpx2

    refuses = ["temperature", "max_tokens", "logprobs", "top_logprobs"]
    told = Capabilities()
    with ModelServer(refuses={"m": refuses}) as server:
        for _ in range(8):
            sent, left_out = told.adapt("openai_compatible", "m", BODY)
            answer = httpx2.post(server.base_url + "/chat/completions", json={"model": "m"} | sent)
            outcome = classify(answer.status_code, answer.headers, answer.content, model="m")
            if outcome.kind is Kind.OK:
                break
            assert outcome.kind is Kind.DROP_PARAMETER
            told.refuse("openai_compatible", "m", outcome.parameter)
        assert server.count() == 4
    assert outcome.kind is Kind.OK
    assert left_out == {"temperature": "refused", "logprobs": "refused", "top_logprobs": "refused"}
    assert sent == {"messages": BODY["messages"], "top_p": 0.5, "max_completion_tokens": 100}
