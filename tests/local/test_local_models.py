"""The real local models: they answer, are repeatable, keep to a schema, tell right from wrong, and find passages."""

from __future__ import annotations

import asyncio
import json
import math
import os
import time
from collections.abc import Iterator
from typing import Any

import openai
import pytest

from runner.calls.embedded import EmbeddedServers, pull
from runner.config.paths import shipped_experiments

pytestmark = [pytest.mark.local_models, pytest.mark.timeout(900)]

GENERATOR = "qwen2.5-coder-0.5b-instruct"
JUDGE = "qwen2.5-coder-1.5b-instruct"
FAQ = shipped_experiments() / "academic_faq"
ADMISSION = "Fall applications must be submitted by January 15. Transfer students apply by March 1."
STATEMENTS = [
    # passage, what it supports, what it does not
    (ADMISSION, "The deadline for fall admission is January 15.", "The application fee is $75."),
    (ADMISSION, "Transfer students have to apply by March 1.", "Applications are accepted all year round."),
    (
        "Returning students are placed first. First-year students must live on campus.",
        "First-year students are required to live on campus.",
        "First-year students may live wherever they want.",
    ),
    (
        "Internship credit counts as elective credit only. Students find the placement themselves.",
        "Students have to find the placement on their own.",
        "The career office finds a placement for you.",
    ),
    (
        "Courses can be dropped without penalty during the first two weeks.",
        "You can drop a course without penalty in the first two weeks.",
        "Dropping a course costs $50.",
    ),
]


@pytest.fixture(scope="module")
def servers() -> Iterator[EmbeddedServers]:
    started = time.monotonic()
    for model in (GENERATOR, JUDGE):
        pull(model)
    print(f"\nweights here and verified after {time.monotonic() - started:.1f} s")
    servers = EmbeddedServers(api_key="for-this-test")
    yield servers
    servers.close()


def client(servers: EmbeddedServers, model: str, key: str | None = None) -> openai.OpenAI:
    base_url = asyncio.run(servers.base_url(model))
    return openai.OpenAI(base_url=base_url, api_key=key or servers.api_key, max_retries=0, timeout=600)


def ask(servers: EmbeddedServers, model: str, user: str, **settings: Any) -> Any:
    messages: Any = [{"role": "user", "content": user}]
    settings = {"temperature": 0, "max_tokens": 60, **settings}
    started = time.monotonic()
    completion = client(servers, model).chat.completions.create(model=model, messages=messages, **settings)
    usage = completion.usage
    assert usage is not None
    took = time.monotonic() - started
    print(f"{model}: {usage.prompt_tokens} tokens in, {usage.completion_tokens} out, {took:.1f} s")
    return completion


def test_the_generator_answers_from_the_context(servers: EmbeddedServers) -> None:
    completion = ask(servers, GENERATOR, f"Context:\n{ADMISSION}\n\nQuestion: When are fall applications due?")
    assert "January 15" in completion.choices[0].message.content
    assert completion.choices[0].finish_reason == "stop"
    assert completion.model == GENERATOR
    usage = completion.usage
    assert usage.prompt_tokens > 20
    assert usage.total_tokens == usage.prompt_tokens + usage.completion_tokens


def test_the_same_question_gets_the_same_answer(servers: EmbeddedServers) -> None:
    question = "Write one sentence about universities."
    first = ask(servers, GENERATOR, question).choices[0].message.content
    ask(servers, GENERATOR, "Something else, so that the cache of the server holds another text.", max_tokens=1)
    assert ask(servers, GENERATOR, question).choices[0].message.content == first


def test_a_schema_is_kept(servers: EmbeddedServers) -> None:
    schema = {
        "type": "object",
        "properties": {
            "reasoning": {"type": "string", "maxLength": 80},
            "score": {"type": "integer", "enum": [1, 2, 3]},
        },
        "required": ["reasoning", "score"],
        "additionalProperties": False,
    }
    reply_format = {"type": "json_schema", "json_schema": {"name": "verdict", "strict": True, "schema": schema}}
    question = "How good is the answer 'January 15' to 'When is it due?'"
    completion = ask(servers, GENERATOR, question, response_format=reply_format, max_tokens=120)
    reply = json.loads(completion.choices[0].message.content)
    assert list(reply) == ["reasoning", "score"]
    assert reply["score"] in {1, 2, 3}


def test_a_reply_does_not_depend_on_what_was_asked_before(servers: EmbeddedServers) -> None:
    """The prefix cache saves time and must not move a probability by one bit."""
    form = f"Passage:\n{ADMISSION}\n\nStatement: {{}}\n\nIs that so? Answer yes or no."
    settings: dict[str, Any] = {"max_tokens": 1, "logprobs": True, "top_logprobs": 20}

    def asked(**more: Any) -> tuple[list[float], int]:
        completion = ask(servers, GENERATOR, form.format("Transfer students apply in March."), **settings, **more)
        cached = completion.usage.prompt_tokens_details.cached_tokens
        return [each.logprob for each in completion.choices[0].logprobs.content[0].top_logprobs], cached

    fresh, cached = asked(extra_body={"cache_prompt": False})
    assert cached == 0
    for other in ("Nobody ever applies.", "Transfer students are welcome."):
        ask(servers, GENERATOR, form.format(other), **settings)
        again, cached = asked()
        assert cached > 20
        assert again == fresh


def probability_of_yes(servers: EmbeddedServers, passage: str, statement: str) -> float:
    user = (
        f"Passage:\n{passage}\n\nStatement: {statement}\n\n"
        "Does the passage say or clearly imply that the statement is true? Answer yes or no."
    )
    completion = ask(servers, JUDGE, user, max_tokens=1, logprobs=True, top_logprobs=20)
    alternatives = completion.choices[0].logprobs.content[0].top_logprobs
    mass = {
        word: sum(math.exp(each.logprob) for each in alternatives if each.token.strip().lower() == word)
        for word in ("yes", "no")
    }
    assert mass["yes"] + mass["no"] > 0.9
    return mass["yes"] / (mass["yes"] + mass["no"])


def test_the_judge_tells_right_from_invented(servers: EmbeddedServers) -> None:
    pairs = [
        (probability_of_yes(servers, passage, right), probability_of_yes(servers, passage, wrong))
        for passage, right, wrong in STATEMENTS
    ]
    print("P(yes) of right and invented statements:", [f"{right:.2f} {wrong:.2f}" for right, wrong in pairs])
    assert min(right for right, _ in pairs) > max(wrong for _, wrong in pairs)


def test_a_prompt_that_does_not_fit_is_a_plain_refusal(servers: EmbeddedServers) -> None:
    with pytest.raises(openai.BadRequestError, match="context"):
        ask(servers, GENERATOR, "word " * 9000)
    assert ask(servers, GENERATOR, "Say yes.", max_tokens=2).choices[0].message.content


def test_strangers_are_refused(servers: EmbeddedServers) -> None:
    messages: Any = [{"role": "user", "content": "hello"}]
    with pytest.raises(openai.AuthenticationError):
        client(servers, GENERATOR, "guessed").chat.completions.create(model=GENERATOR, messages=messages, max_tokens=1)


@pytest.mark.skipif(os.name != "posix", reason="looks for the process by its number")
def test_nothing_stays_behind(servers: EmbeddedServers) -> None:
    asyncio.run(servers.base_url(GENERATOR))
    numbers = [child.pid for child in servers._children.values()]
    assert numbers
    servers.close()
    for number in numbers:
        with pytest.raises(ProcessLookupError):
            os.kill(number, 0)


def test_minilm_finds_the_right_document() -> None:
    from runner.knowledge.minilm import MiniLM

    documents = sorted((FAQ / "documents").glob("*.md"))
    names = [document.stem for document in documents]
    rows = [json.loads(line) for line in (FAQ / "questions.jsonl").read_text(encoding="utf-8").splitlines()]
    rows = [row for row in rows if row["gold"]]
    minilm = MiniLM()
    started = time.monotonic()
    passages = minilm.embed([document.read_text(encoding="utf-8") for document in documents])
    questions = minilm.embed([row["question"] for row in rows])
    took = time.monotonic() - started
    best = (-(questions @ passages.T)).argsort(axis=1)
    hits = {
        top_k: sum(
            bool({names[place] for place in places[:top_k]} & set(row["gold"]))
            for row, places in zip(rows, best, strict=True)
        )
        / len(rows)
        for top_k in (1, 3)
    }
    print(f"MiniLM: hit@1 {hits[1]:.2f}, hit@3 {hits[3]:.2f} of {len(rows)} questions, {took:.1f} s")
    assert hits[1] >= 0.75
    assert hits[3] >= 0.9
    assert minilm.truncated_count == 0
