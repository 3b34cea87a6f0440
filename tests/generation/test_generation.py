"""From a question and its passages to an answer."""

from __future__ import annotations

import asyncio

import pytest

from runner.config.schema import Generator, Prompt
from runner.errors import ConfigurationError
from runner.generation import REFUSAL, abstains, open_generator
from runner.records import Answer, AnswerStatus, Chunk, Question, Reason, RecordedAnswer, Retrieved
from tests.fakes.queued_door import QueuedDoor, failed

PROMPT = Prompt(id="p", version=1, system="Be brief. {context}", user="C:\n{context}\nQ: {question} {other}")


def retrieved(*texts: str) -> tuple[Retrieved, ...]:
    return tuple(Retrieved(Chunk(f"c{n}", f"d{n}", 0, text), n, 1 / n) for n, text in enumerate(texts, 1))


def answer(generator: Generator, question: Question, passages: tuple[Retrieved, ...], *replies: object) -> Answer:
    door = QueuedDoor(*replies)  # type: ignore[arg-type]
    opened = open_generator(generator, PROMPT, door)  # type: ignore[arg-type]
    assert opened is not None
    return asyncio.run(opened.answer(question, passages))


def test_the_prompt_is_filled_in_one_pass_and_braces_survive() -> None:
    door = QueuedDoor("Fine.")
    opened = open_generator(Generator(kind="model", model="m", max_tokens=7), PROMPT, door)  # type: ignore[arg-type]
    assert opened is not None
    question = Question("q", "What is {context}? {0} %s 🎓")
    given = asyncio.run(opened.answer(question, retrieved("a {question} {x}", 'b "q"')))
    (request,) = door.requests
    assert request == opened.requests(question, retrieved("a {question} {x}", 'b "q"'))[0]
    assert request.messages == given.messages
    assert request.messages[0] == {"role": "system", "content": "Be brief. {context}"}
    assert request.messages[1]["content"] == (
        'C:\n[1] a {question} {x}\n\n[2] b "q"\nQ: What is {context}? {0} %s 🎓 {other}'
    )
    assert request.max_tokens == 7
    assert given.contexts == ("a {question} {x}", 'b "q"')
    assert len(given.calls) == 1


def test_a_prompt_without_system_text_sends_one_message() -> None:
    door = QueuedDoor("x")
    opened = open_generator(Generator(), Prompt(id="p"), door)  # type: ignore[arg-type]
    assert opened is not None
    (request,) = opened.requests(Question("q", "Q"), ())
    assert [message["role"] for message in request.messages] == ["user"]
    assert "(no passages were found)" in request.messages[0]["content"]


@pytest.mark.parametrize(("reply", "abstained"), [("I don't know.", True), ("January 15. I don't know more.", False)])
def test_abstention_follows_the_rule(reply: str, abstained: bool) -> None:
    given = answer(Generator(), Question("q", "When?"), retrieved("x"), reply)
    assert (given.status, given.abstained) == (AnswerStatus.ANSWERED, abstained)


def test_a_failed_call_is_a_failed_answer_with_its_reason_and_its_cost() -> None:
    given = answer(Generator(), Question("q", "When?"), retrieved("x"), failed(Reason.TIMEOUT))
    assert given.status is AnswerStatus.FAILED
    assert given.reason == "timeout"
    assert len(given.calls) == 1
    assert given.messages


def test_an_empty_reply_is_no_answer() -> None:
    given = answer(Generator(), Question("q", "When?"), retrieved("x"), "  \n")
    assert (given.status, given.reason) == (AnswerStatus.FAILED, "empty")


HOUSING = "# Campus housing\n\nApplications for a room on campus open on April 1. Returning students choose first."
GRADES = "# Grade appeals\n\nA student may appeal a final grade within 30 days. Ask the chair of the department."


def test_extraction_takes_the_sentence_that_fits_word_for_word() -> None:
    extractive = Generator(kind="extractive")
    given = answer(extractive, Question("q", "When do housing applications open?"), retrieved(GRADES, HOUSING))
    assert given.text == "Applications for a room on campus open on April 1."
    assert given.calls == ()
    assert not given.abstained
    given = answer(extractive, Question("q", "How long may a student appeal a grade?"), retrieved(GRADES, HOUSING))
    assert given.text == "A student may appeal a final grade within 30 days."


@pytest.mark.parametrize("passages", [(), (HOUSING, GRADES)])
def test_extraction_refuses_where_too_little_is_shared(passages: tuple[str, ...]) -> None:
    given = answer(Generator(kind="extractive"), Question("q", "What does the gym cost?"), retrieved(*passages))
    assert given.text == REFUSAL
    assert given.abstained
    assert abstains(REFUSAL)


def test_recorded_answers_are_handed_out_with_their_contexts() -> None:
    recorded = Generator(kind="recorded")
    question = Question("q", "When?", recorded=RecordedAnswer("On May 1.", ("ctx",)))
    given = answer(recorded, question, retrieved("other"))
    assert (given.text, given.contexts, given.calls) == ("On May 1.", ("ctx",), ())
    missing = answer(recorded, Question("q7", "When?"), retrieved("other"))
    assert (missing.status, missing.reason) == (AnswerStatus.FAILED, "no_answer")
    assert "q7" in missing.detail


def test_none_opens_nothing_and_an_unknown_kind_names_the_known_ones() -> None:
    assert open_generator(Generator(kind="none"), PROMPT, QueuedDoor()) is None  # type: ignore[arg-type]
    with pytest.raises(ConfigurationError, match="extractive"):
        open_generator(Generator(kind="magic"), PROMPT, QueuedDoor())  # type: ignore[arg-type]
