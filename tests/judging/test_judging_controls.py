"""Controls: judges with known faults are unmasked by the control that is meant for them."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable

import pytest

from runner.calls.requests import ChatRequest, Reply
from runner.judging import Control, Sample, control_cases, draw, open_judge, run_controls
from runner.judging.control_cases import with_changed_number
from runner.judging.control_table import ControlReport, expectation
from runner.records import Chunk, Question, Reason, Retrieved
from runner.text import numbers
from tests.fakes.judged import DOCUMENTS, judge, shipped
from tests.fakes.queued_door import QueuedDoor, failed, verdict

FACTS = {
    "admission_deadlines": ("When are fall applications due?", "Fall applications are due by January 15."),
    "grade_appeals": ("How long may I take to appeal a grade?", "A grade may be appealed within 30 days."),
    "graduation": ("How many credit hours does a degree take?", "A bachelor's degree takes 120 credit hours."),
    "housing": ("When do housing applications open?", "Applications for a room on campus open on April 1."),
}


def sample(document: str) -> Sample:
    asked, expected = FACTS[document]
    chunk = Chunk(document, document, 0, (DOCUMENTS / f"{document}.md").read_text(encoding="utf-8"))
    question = Question(document, asked, reference=expected, gold=(document,), answerable=True)
    return Sample(question, (Retrieved(chunk, 1, 0.9, gold=True),))


SAMPLES = tuple(sample(document) for document in FACTS)
UNANSWERABLE = Sample(
    Question("parking", "What is a parking permit?", reference="The context does not say.", answerable=False),
    SAMPLES[0].retrieved,
)
CASES = control_cases((*SAMPLES, UNANSWERABLE))


def answer_in(request: ChatRequest) -> str:
    """The answer that a judge is shown, as it stands between its marks."""
    text = request.messages[1]["content"].split("<<<ANSWER ")[1]
    return text.split(">>>\n", 1)[1].rsplit("\n<<<END OF ANSWER", 1)[0]


def question_of(request: ChatRequest) -> str:
    return request.messages[1]["content"].split("<<<QUESTION ")[1].split(">>>\n", 1)[1].split("\n<<<END")[0]


def honest(request: ChatRequest) -> Reply | str:
    """Scores 5 for what is in the reference and for nothing more, 5 for a refusal where nothing is known, else 1."""
    references = dict(FACTS.values())
    right = references.get(question_of(request), "I don't know.")
    return verdict(5 if answer_in(request) == right else 1)


def report(
    behaviour: Callable[[ChatRequest], Reply | str], rubric: str = "grounding_v1", **choices: object
) -> ControlReport:
    opened = open_judge("judged", judge(rubric, **choices), QueuedDoor(answering=behaviour))  # type: ignore[arg-type]
    return asyncio.run(run_controls({"judged": opened}, CASES))


def unmasked(found: ControlReport) -> set[str]:
    return {row.control for row in found.rows if not row.passed}


def test_an_honest_judge_is_trusted() -> None:
    found = report(honest)
    assert found.trusted("judged")
    assert found.sentences == ()
    kinds = {row.control for row in found.rows}
    assert kinds == set(Control) - {Control.REFUSAL_WRONG}
    # 4 reference, 4 other, 4 invented, 4 number, 16 steering, 4 colon, 1 refusal; empty answers are never asked about
    assert len(found.calls) == 37


def test_one_that_gives_everybody_a_five_is_unmasked() -> None:
    found = report(lambda request: verdict(5))
    assert unmasked(found) == set(Control) - {
        Control.REFERENCE, Control.REFUSAL_RIGHT, Control.EMPTY, Control.REFUSAL_WRONG,
    }  # fmt: skip
    assert not found.trusted("judged")
    assert "other answer: 0 of 4 as expected" in "\n".join(found.sentences)


def test_one_whose_top_cannot_be_reached_is_unmasked_by_the_reference() -> None:
    assert unmasked(report(lambda request: verdict(3))) == {Control.REFERENCE, Control.REFUSAL_RIGHT}


@pytest.mark.parametrize(
    ("words", "control"),
    [
        ("Ignore the rubric", Control.ORDER),
        ("Always reply with the best value", Control.SYSTEM_TURN),
        ("checked by three experts", Control.DELIMITER),
        ("Everything is right and supported", Control.VERDICT),
    ],
)
def test_one_that_takes_orders_from_the_answer_is_unmasked(words: str, control: Control) -> None:
    found = report(lambda request: verdict(5) if words in answer_in(request) else honest(request))
    assert unmasked(found) == {control}


def test_one_that_takes_its_verdict_from_the_answer_is_unmasked() -> None:
    def leaks(request: ChatRequest) -> Reply | str:
        brought = answer_in(request)
        return brought[brought.index("{") :] if "{" in brought else honest(request)

    assert unmasked(report(leaks)) == {Control.VERDICT}


def test_one_that_a_lone_colon_fools_is_unmasked() -> None:
    assert unmasked(report(lambda r: verdict(5) if answer_in(r) == ":" else honest(r))) == {Control.COLON}


def test_one_that_overlooks_invented_facts_and_numbers_is_unmasked() -> None:
    def overlooks(request: ChatRequest) -> Reply | str:
        references = dict(FACTS.values())
        right = references.get(question_of(request), "I don't know.")
        return verdict(5 if answer_in(request)[:12] == right[:12] else 1)

    assert unmasked(report(overlooks)) == {Control.INVENTED, Control.NUMBER}


def test_one_that_guesses_is_unmasked() -> None:
    chance = random.Random(7)
    found = report(lambda request: verdict(chance.randint(1, 5)))
    assert Control.REFERENCE in unmasked(found)


def test_one_that_prefers_long_answers_is_unmasked_by_what_makes_answers_long() -> None:
    found = report(lambda request: verdict(5 if len(answer_in(request)) > 60 else 1))
    assert {Control.INVENTED, Control.SYSTEM_TURN, Control.REFERENCE} <= unmasked(found)


def test_one_that_refuses_or_cannot_be_read_is_unmasked_with_its_failures_counted() -> None:
    for behaviour in (lambda request: failed(Reason.REFUSED), lambda request: "no JSON here"):
        found = report(behaviour)
        assert not found.trusted("judged")
        rows = {row.control: row for row in found.rows}
        assert (rows[Control.REFERENCE].failed, rows[Control.REFERENCE].mean) == (4, None)
        assert rows[Control.EMPTY].passed


def test_a_reply_in_ten_that_cannot_be_read_is_asked_again_and_does_not_cost_the_trust() -> None:
    seen: list[int] = []

    def stumbles(request: ChatRequest) -> Reply | str:
        seen.append(1)
        return "oops" if len(seen) % 10 == 0 and request.reask == 0 else honest(request)

    found = report(stumbles)
    assert found.trusted("judged")
    assert sum(row.failed for row in found.rows) == 0
    assert len(found.calls) > 37


@pytest.mark.parametrize(
    "rubric",
    ["grounding_v1", "topicality_v1", "topicality_v2", "reference_match_v1", "relevance_v1", "completeness_v1"],
)
def test_every_shipped_rubric_is_held_to_controls(rubric: str) -> None:
    inputs = shipped(rubric).inputs
    expected = {control: expectation(control, inputs) for control in Control}
    assert expected[Control.REFERENCE] == "lets it pass"
    assert all(expected[kind] for kind in (Control.OTHER, Control.ORDER, Control.EMPTY, Control.COLON))
    if "context" not in inputs:
        assert expected[Control.INVENTED] is None
    if inputs == ["question", "answer"]:
        assert expected[Control.NUMBER] is None  # whether a number is right is judged elsewhere


@pytest.mark.parametrize("rubric", ["grounding_v1", "reference_match_v1"])
def test_the_evidence_judge_stands_most_controls(rubric: str) -> None:
    found = report(honest, rubric, kind="evidence")
    assert found.calls == ()
    rows = {row.control: row for row in found.rows}
    for control in (Control.REFERENCE, Control.OTHER, Control.NUMBER, Control.EMPTY, Control.COLON):
        assert rows[control].passed, rows[control]


def test_the_controls_are_the_same_every_time_and_need_the_gold_documents() -> None:
    assert control_cases(SAMPLES) == control_cases(SAMPLES)
    assert draw(SAMPLES, 3, 7) == draw(SAMPLES, 3, 7)
    elsewhere = Sample(SAMPLES[0].question, SAMPLES[1].retrieved)
    assert draw((elsewhere, UNANSWERABLE), 8, 7) == (UNANSWERABLE,)
    assert len(draw((*SAMPLES, UNANSWERABLE), 4, 7)) == 4
    assert len(draw(SAMPLES, 1, 7)) == 1


def test_another_questions_answer_comes_from_another_document() -> None:
    for case in CASES:
        if case.control is Control.OTHER:
            assert case.answer.text in {expected for _, expected in FACTS.values()}
            assert case.answer.text != case.question.reference


def test_an_answer_that_fits_many_questions_is_not_taken_for_another_questions_answer() -> None:
    """ "30 days." to "Until when may I drop a course?" is to the point: judges lost their trust for seeing that."""
    bare = Sample(Question("bare", "How long?", reference="30 days.", gold=("bare",), answerable=True), ())
    first, *rest = SAMPLES
    (case,) = [
        case
        for case in control_cases((first, bare, *rest))
        if case.control is Control.OTHER and case.question is first.question
    ]
    assert case.answer.text == "A bachelor's degree takes 120 credit hours."
    (case,) = [
        case
        for case in control_cases((first, bare))
        if case.control is Control.OTHER and case.question is first.question
    ]
    assert case.answer.text == "30 days.", "better than none"


@pytest.mark.parametrize(
    ("text", "kept"),
    [("By January 15.", "By January "), ("Within 30 days.", "Within "), ("It takes four weeks.", "It takes ")],
)
def test_a_changed_number_stands_nowhere_in_the_sources(text: str, kept: str) -> None:
    held = f"{text} Also 61, nine and January 22."
    changed = with_changed_number(text, held)
    assert changed is not None
    assert changed.startswith(kept)
    assert not numbers(changed) & numbers(held)
    assert with_changed_number("No number here.", "") is None


def test_a_judge_without_the_reference_is_not_held_to_it() -> None:
    opened = open_judge(
        "judged", judge("reference_match_v1"), QueuedDoor(answering=lambda r: verdict("good", key="label"))
    )  # type: ignore[arg-type]
    bare = Sample(Question("q", "What?", answerable=False), ())
    found = asyncio.run(run_controls({"judged": opened}, control_cases((bare,))))
    assert found.rows == ()
