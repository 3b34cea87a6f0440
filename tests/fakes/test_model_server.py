"""The fake model server keeps what it promises, seen through the OpenAI SDK."""

from __future__ import annotations

import base64
import json
import math
import struct
import subprocess
import sys
import time
import urllib.request
from pathlib import Path
from typing import Any

import httpx
import openai
import pytest

from tests.fakes.answers import ABSTENTION, support
from tests.fakes.faults import KINDS
from tests.fakes.model_server import ModelServer, Tokens, fault
from tests.fakes.replies import Shape

CONTEXT = "First-year students must live on campus. Fall applications are due by January 15. Grades are final."
VERDICT = {
    "type": "object",
    "properties": {"reasoning": {"type": "string"}, "score": {"type": "integer", "enum": [1, 2, 3, 4, 5]}},
    "required": ["reasoning", "score"],
    "additionalProperties": False,
}


def client(server: ModelServer, **options: Any) -> openai.OpenAI:
    return openai.OpenAI(**{"base_url": server.base_url, "api_key": "sk-fake", "max_retries": 0} | options)


def ask(server: ModelServer, text: str = "hello there", model: str = "gpt-4o-mini", **more: Any) -> Any:
    messages: list[Any] = [{"role": "user", "content": text}]
    return client(server).chat.completions.create(model=model, messages=messages, **more)


def judge(server: ModelServer, answer: str, **more: Any) -> dict[str, Any]:
    prompt = f"Judge.\n<context>\n{CONTEXT}\n</context>\n<answer>\n{answer}\n</answer>"
    form = {"type": "json_schema", "json_schema": {"name": "verdict", "strict": True, "schema": VERDICT}}
    return json.loads(ask(server, prompt, response_format=form, **more).choices[0].message.content)


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("When are fall applications due?", "Fall applications are due by January 15."),
        ("Do first-year students live on campus?", "First-year students must live on campus."),
        ("Who sells parking permits?", ABSTENTION),
    ],
)
def test_generator_takes_the_sentence_that_shares_most_words(
    model_server: ModelServer, question: str, expected: str
) -> None:
    reply = ask(model_server, f"Context:\n{CONTEXT}\n\nQuestion: {question}")
    assert reply.choices[0].message.content == expected


def test_verdicts_follow_the_overlap_of_answer_and_context(model_server: ModelServer) -> None:
    good = judge(model_server, "Fall applications are due by January 15.")["score"]
    mixed = judge(model_server, "Fall applications cost ninety dollars by mail.")["score"]
    bad = judge(model_server, "Parking permits cost ninety dollars.")["score"]
    assert (good, bad) == (5, 1)
    assert 1 < mixed < 5


@pytest.mark.parametrize(
    "form",
    [
        "<context>\n{c}\n</context>\n<answer>{a}</answer>",
        "<<<CONTEXT 1a2b>>>\n{c}\n<<<END OF CONTEXT 1a2b>>>\n\n<<<ANSWER 1a2b>>>\n{a}\n<<<END OF ANSWER 1a2b>>>",
        "Passage:\n{c}\n\nStatement: {a}\n\nIs it true? Answer yes or no.",
        "Check.\n\nQuestion: When?\nCorrect answer: {c}\nStudent's answer: {a}\n\nIs it right? Answer yes or no.",
    ],
)
def test_judges_prompts_of_many_forms_are_understood(form: str) -> None:
    assert support(form.format(c="Grades are final.", a="Grades are final.")) == 1
    assert support(form.format(c="Grades are final.", a="Parking costs ninety dollars.")) == 0


def test_usage_is_characters_over_four(model_server: ModelServer) -> None:
    reply = ask(model_server, "x" * 41)
    said = reply.choices[0].message.content
    assert (reply.usage.prompt_tokens, reply.usage.completion_tokens) == (11, math.ceil(len(said) / 4))
    assert model_server.tokens() == Tokens(11, math.ceil(len(said) / 4))


def test_cached_and_reasoning_tokens_are_parts_of_the_totals() -> None:
    with ModelServer(shape=Shape(cached_fraction=0.5, reasoning_tokens=7)) as server:
        usage = ask(server, "x" * 40).usage
    assert usage.prompt_tokens_details.cached_tokens == 5
    assert usage.completion_tokens_details.reasoning_tokens == 7
    assert usage.completion_tokens == 7 + math.ceil(len(ABSTENTION) / 4)


def test_output_limit_cuts_with_length(model_server: ModelServer) -> None:
    for name in ("max_tokens", "max_completion_tokens"):
        choice = ask(model_server, **{name: 2}).choices[0]
        assert (choice.finish_reason, choice.message.content) == ("length", ABSTENTION[:8])


def test_log_probabilities_of_a_yes_or_no(model_server: ModelServer) -> None:
    prompt = f"<context>{CONTEXT}</context>\n<answer>Grades are final.</answer>\nSupported? Answer yes or no."
    choice = ask(model_server, prompt, logprobs=True, top_logprobs=2, max_tokens=1).choices[0]
    first = choice.logprobs.content[0]
    assert choice.message.content == "Yes"
    assert [one.token for one in first.top_logprobs] == ["Yes", "No"]
    assert sum(math.exp(one.logprob) for one in first.top_logprobs) == pytest.approx(1)


def test_responses_and_models(model_server: ModelServer) -> None:
    form: Any = {"format": {"type": "json_schema", "name": "verdict", "strict": True, "schema": VERDICT}}
    prompt = f"<context>{CONTEXT}</context><answer>Grades are final.</answer>"
    reply = client(model_server).responses.create(model="gpt-4o", input=prompt, text=form)
    assert json.loads(reply.output_text)["score"] == 5
    assert reply.usage is not None
    assert reply.usage.input_tokens == math.ceil(len(prompt) / 4)
    assert "gpt-4o" in [model.id for model in client(model_server).models.list()]


def test_embeddings_as_floats_base64_and_tokens(model_server: ModelServer) -> None:
    raw = httpx.post(
        model_server.base_url + "/embeddings",
        json={"model": "e", "input": ["housing deadline", "housing deadline", "grades"], "encoding_format": "float"},
    ).json()
    one, same, other = (row["embedding"] for row in raw["data"])
    assert one == same != other
    coded = httpx.post(
        model_server.base_url + "/embeddings", json={"model": "e", "input": "grades", "encoding_format": "base64"}
    ).json()["data"][0]["embedding"]
    assert struct.unpack("<256f", base64.b64decode(coded)) == pytest.approx(other, abs=1e-6)
    lists = client(model_server).embeddings.create(model="e", input=[[1, 2, 3], [4]])
    assert lists.usage.prompt_tokens == 4
    assert len(lists.data) == 2


def test_streaming_adds_up(model_server: ModelServer) -> None:
    chunks = list(ask(model_server, stream=True, stream_options={"include_usage": True}))
    assert "".join(c.choices[0].delta.content or "" for c in chunks if c.choices) == ABSTENTION
    assert chunks[-1].usage.completion_tokens == 7


ERRORS = {
    "rate_limited": openai.RateLimitError,
    "insufficient_quota": openai.RateLimitError,
    "server_error": openai.InternalServerError,
    "unauthorized": openai.AuthenticationError,
    "forbidden": openai.PermissionDeniedError,
    "model_not_found": openai.NotFoundError,
    "content_filter_400": openai.BadRequestError,
    "context_length": openai.BadRequestError,
    "bad_request": openai.BadRequestError,
    "cut": openai.APIConnectionError,
    "refuse_connection": openai.APIConnectionError,
}


@pytest.mark.parametrize("kind", sorted(ERRORS))
def test_a_queued_error_comes_once(model_server: ModelServer, kind: str) -> None:
    model_server.queue(kind)
    with pytest.raises(ERRORS[kind]):
        ask(model_server)
    assert ask(model_server).choices[0].message.content == ABSTENTION
    assert (model_server.count(), model_server.count(fault=kind)) == (2, 1)
    assert model_server.tokens() == Tokens(3, 7)


def test_a_hang_ends_with_the_client_and_leaves_nothing_in_flight(model_server: ModelServer) -> None:
    model_server.queue("hang")
    with pytest.raises(openai.APITimeoutError):
        ask(model_server, timeout=0.2)
    for _ in range(100):
        if not model_server.in_flight:
            break
        time.sleep(0.02)
    assert (model_server.in_flight, model_server.in_flight_max) == (0, 1)


def test_spoilt_verdicts(model_server: ModelServer) -> None:
    model_server.queue("malformed", "prose")
    for _ in range(2):
        with pytest.raises(json.JSONDecodeError):
            judge(model_server, "Grades are final.")
    model_server.queue("off_scale", "wrong_type")
    assert judge(model_server, "Grades are final.")["score"] == 99
    assert judge(model_server, "Grades are final.")["score"] == [5]


@pytest.mark.parametrize(("kind", "finish"), [("truncated", "length"), ("content_filter", "content_filter")])
def test_finish_reasons(model_server: ModelServer, kind: str, finish: str) -> None:
    model_server.queue(kind, "refusal")
    assert ask(model_server).choices[0].finish_reason == finish
    assert ask(model_server).choices[0].message.refusal


def test_rules_by_model_prompt_and_number_of_times(model_server: ModelServer) -> None:
    model_server.when("bad_request", model="gpt-4o", contains="hello", times=1)
    ask(model_server)
    with pytest.raises(openai.BadRequestError):
        ask(model_server, model="gpt-4o")
    ask(model_server, model="gpt-4o")


def test_chance_depends_on_body_and_attempt_alone() -> None:
    drawn = []
    for order in (1, -1):
        with ModelServer(seed=3) as server:
            server.when("text" if order == 0 else fault("text", text="spoilt"), probability=0.3)
            said = {n: ask(server, f"question {n}").choices[0].message.content for n in list(range(30))[::order]}
            drawn.append({n for n, text in said.items() if text == "spoilt"})
    assert drawn[0] == drawn[1]
    assert 3 <= len(drawn[0]) <= 16


def test_refused_parameters_unknown_models_and_keys() -> None:
    with ModelServer(models=["gpt-5"], refuses={"gpt-5": ["temperature", "max_tokens"]}, api_key="sk-fake") as server:
        with pytest.raises(openai.BadRequestError) as caught:
            ask(server, model="gpt-5", max_tokens=3)
        assert (caught.value.code, caught.value.param) == ("unsupported_parameter", "max_tokens")
        ask(server, model="gpt-5", max_completion_tokens=3, temperature=1)
        with pytest.raises(openai.NotFoundError):
            ask(server, model="gpt-9")
        with pytest.raises(openai.AuthenticationError):
            client(server, api_key="other").models.list() and client(server, api_key="other").embeddings.create(
                model="gpt-5", input="x"
            )


def test_every_kind_answers_something(model_server: ModelServer) -> None:
    for kind in KINDS:
        values = {"parameter": "seed", "text": "x", "seconds": 0.0}
        model_server.queue(fault(kind, **values))
        try:
            answer = httpx.post(model_server.base_url + "/chat/completions", json={"model": "m", "messages": []})
            assert answer.status_code
        except httpx.HTTPError:
            assert kind in ("cut", "refuse_connection")
    with pytest.raises(ValueError, match="unknown fault"):
        fault("nonsense")


def test_as_a_process(tmp_path: Path) -> None:
    port_file = tmp_path / "port"
    command = [sys.executable, "-m", "tests.fakes.model_server", "--port-file", str(port_file)]
    process = subprocess.Popen(command, cwd=Path(__file__).parents[2], stdout=subprocess.DEVNULL)
    try:
        for _ in range(400):
            if port_file.exists():
                break
            time.sleep(0.05)
        with urllib.request.urlopen(f"http://127.0.0.1:{port_file.read_text()}/_stats") as answer:
            assert json.load(answer)["requests"] == 0
    finally:
        process.terminate()
        process.wait(10)
