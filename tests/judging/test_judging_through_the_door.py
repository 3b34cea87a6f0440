"""Judges and generators behind the real door, against a model server on loopback: calls, money, ledger."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from runner.calls import open_door
from runner.config.schema import Budget, Calls, Endpoint, Generator, Judge, Price, Prompt
from runner.errors import ConfigurationError
from runner.generation import open_generator
from runner.judging import check_versions, open_judge
from runner.records import Question, RecordedAnswer, Score
from tests.fakes.judged import CONTEXT, judge, shipped
from tests.fakes.model_server import ModelServer, fault

QUESTIONS = tuple(
    Question(f"q{n}", text, reference=reference, recorded=RecordedAnswer(reference))
    for n, (text, reference) in enumerate(
        [
            ("When are fall applications due?", "Applications for the fall semester are due by January 15."),
            ("When do transfer students apply?", "Transfer students apply by March 1."),
            ("Where do first-year students live?", "First-year students live on campus."),
        ]
    )
)
PRICES = [Price("judge-model", input=2.0, output=8.0), Price("answer-model", input=1.0, output=4.0)]


def at(server: ModelServer) -> Endpoint:
    return Endpoint(provider="openai_compatible", base_url=server.base_url, api_key_env=None)


def judged(server: ModelServer, rubric: Any, **choices: Any) -> Judge:
    return judge(rubric, model="judge-model", endpoint=at(server), **choices)


async def _evaluate(
    home: Path, judges: Mapping[str, Judge], generator: Generator, *, allow_edit: bool, calls: Calls
) -> tuple[list[dict[str, Score]], Decimal]:
    async with open_door(calls, Budget(), PRICES, home=home) as door:
        check_versions([(name, each.rubric) for name, each in judges.items()], door, allow_edit=allow_edit)
        opened = {name: open_judge(name, each, door) for name, each in judges.items()}
        answering = open_generator(generator, Prompt(id="p"), door)
        assert answering is not None
        found = []
        for question in QUESTIONS:
            answer = await answering.answer(question, CONTEXT)
            found.append({name: await each.score(question, CONTEXT, answer) for name, each in opened.items()})
        return found, door.new_spend


def evaluate(
    home: Path,
    judges: Mapping[str, Judge],
    generator: Generator | None = None,
    *,
    allow_edit: bool = False,
    calls: Calls | None = None,
) -> tuple[list[dict[str, Score]], Decimal]:
    answering = generator or Generator(kind="recorded")
    return asyncio.run(_evaluate(home, judges, answering, allow_edit=allow_edit, calls=calls or Calls()))


def test_two_rubrics_over_stored_answers_pay_only_their_own_calls(tmp_path: Path, model_server: ModelServer) -> None:
    one = {"a": judged(model_server, "topicality_v1")}
    two = {**one, "b": judged(model_server, "topicality_v2")}
    evaluate(tmp_path, one)
    assert model_server.count() == 3
    scores, spent = evaluate(tmp_path, two)
    assert model_server.count() == 6
    assert spent > 0
    assert all(score.status == "scored" for each in scores for score in each.values())
    again, spent = evaluate(tmp_path, two)
    assert model_server.count() == 6
    assert spent == 0
    assert [{n: s.value for n, s in each.items()} for each in again] == [
        {n: s.value for n, s in each.items()} for each in scores
    ]


def test_one_changed_word_in_one_rubric_pays_only_that_judge(tmp_path: Path, model_server: ModelServer) -> None:
    generator = Generator(model="answer-model", endpoint=at(model_server))
    judges = {name: judged(model_server, name) for name in ("grounding_v1", "topicality_v2", "reference_match_v1")}
    evaluate(tmp_path, judges, generator)
    assert model_server.by_model() == {"answer-model": 3, "judge-model": 9}
    edited = shipped("topicality_v2")
    edited.instructions = edited.instructions.replace("First list", "First write down")
    judges["topicality_v2"] = judged(model_server, edited)
    with pytest.raises(ConfigurationError, match="topicality@2"):
        evaluate(tmp_path, judges, generator)
    assert model_server.count() == 12
    scores, _ = evaluate(tmp_path, judges, generator, allow_edit=True)
    assert model_server.by_model() == {"answer-model": 3, "judge-model": 12}
    new = [call for each in scores for score in each.values() for call in score.calls if not call.from_ledger]
    assert len(new) == 3


def test_money_adds_up_to_the_last_digit(tmp_path: Path, model_server: ModelServer) -> None:
    _, spent = evaluate(tmp_path, {"g": judged(model_server, "grounding_v1")})
    billed = model_server.tokens("judge-model")
    assert spent == (Decimal(billed.input) * 2 + Decimal(billed.output) * 8) / 1_000_000


@pytest.mark.parametrize(("kind", "calls"), [("prose", 3), ("fenced", 3), ("off_scale", 6), ("malformed", 6)])
def test_replies_out_of_form(tmp_path: Path, model_server: ModelServer, kind: str, calls: int) -> None:
    model_server.when(kind, first_attempts=1)
    scores, _ = evaluate(tmp_path, {"g": judged(model_server, "grounding_v1")})
    assert model_server.count() == calls
    expected = "scored" if calls == 3 else "failed"  # a re-ask is another request, and gets the fault as well
    assert {each["g"].status for each in scores} == {expected}


def test_repeats_are_calls_of_their_own(tmp_path: Path, model_server: ModelServer) -> None:
    scores, _ = evaluate(tmp_path, {"g": judged(model_server, "grounding_v1", repeats=3)})
    assert model_server.count() == 9
    assert all(score["g"].spread is not None for score in scores)
    assert all(len(score["g"].verdicts) == 3 for score in scores)


@pytest.mark.parametrize("rubric", ["grounding_v1", "topicality_v2", "reference_match_v1"])
def test_a_yes_or_no_is_paid_once(tmp_path: Path, model_server: ModelServer, rubric: str) -> None:
    scores, _ = evaluate(tmp_path, {"g": judged(model_server, rubric, scoring="sentences")})
    assert {each["g"].status for each in scores} == {"scored"}
    assert model_server.count() == 3
    assert {call.status for each in scores for call in each["g"].calls} == {"ok"}


def test_probabilities_come_through_the_door(tmp_path: Path, model_server: ModelServer) -> None:
    scores, _ = evaluate(tmp_path, {"g": judged(model_server, "grounding_v1", scoring="probability")})
    assert model_server.count() == 3
    values = [each["g"].value for each in scores]
    assert all(value is not None and 1 <= value <= 5 for value in values), [each["g"].detail for each in scores]


def test_a_model_that_refuses_log_probabilities_ends_the_job_with_the_remedy(tmp_path: Path) -> None:
    from runner.errors import JobStopped

    with (
        ModelServer(refuses={"judge-model": ["logprobs", "top_logprobs"]}) as server,
        pytest.raises(JobStopped, match="scoring=verdict"),
    ):
        evaluate(tmp_path, {"g": judged(server, "grounding_v1", scoring="probability")})


def test_a_reply_without_yes_or_no_is_asked_again_only_on_request(tmp_path: Path, model_server: ModelServer) -> None:
    model_server.when(fault("text", text="Perhaps"), first_attempts=1)
    judges = {"g": judged(model_server, "topicality_v2", scoring="sentences")}
    for _ in range(2):
        scores, _ = evaluate(tmp_path, judges)
        assert {(each["g"].status, each["g"].reason) for each in scores} == {("failed", "malformed")}
        assert model_server.count() == 3
    scores, spent = evaluate(tmp_path, judges, calls=Calls(retry_failed=True))
    assert {each["g"].status for each in scores} == {"scored"}
    assert model_server.count() == 6
    assert spent > 0
