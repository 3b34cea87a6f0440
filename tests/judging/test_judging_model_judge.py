"""Judges that are models: calls made, re-asks, failures with reasons, repeats, probabilities, statements."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from runner.calls.requests import ChatRequest, Reply
from runner.config.schema import Judge
from runner.errors import BudgetReached, ConfigurationError, JobStopped
from runner.judging import open_judge
from runner.records import Answer, AnswerStatus, Question, Reason, Retrieved, Score, VerdictStatus
from tests.fakes.judged import CONTEXT, DEADLINE, judge, passages, said, shipped
from tests.fakes.queued_door import QueuedDoor, a_call, failed, ok, token, verdict


def scored(
    configured: Judge, door: QueuedDoor, answer: Answer, question: Question = DEADLINE,
    retrieved: tuple[Retrieved, ...] = CONTEXT,
) -> Score:  # fmt: skip
    opened = open_judge("judged", configured, door)  # type: ignore[arg-type]
    return asyncio.run(opened.score(question, retrieved, answer))


def test_one_verdict_is_one_call_and_carries_everything() -> None:
    door = QueuedDoor(verdict(4, "All but one inference is there."))
    score = scored(judge("grounding_v1"), door, said("By January 15."))
    assert len(door.requests) == 1
    assert (score.status, score.value, score.passed, score.label, score.spread) == ("scored", 4.0, True, None, None)
    assert score.rationale == "All but one inference is there."
    assert (score.rubric, score.model, score.lowest, score.highest, score.pass_at) == (
        "grounding@1", "fake-2026", 1.0, 5.0, 4.0,
    )  # fmt: skip
    assert len(score.rubric_hash) == 64
    assert len(score.calls) == 1
    request = door.requests[0]
    assert request.schema is not None
    assert list(request.schema["properties"]) == ["reasoning", "score"]
    assert (request.max_tokens, request.temperature, request.top_logprobs) == (600, 0.0, None)


def test_what_would_be_asked_is_what_is_asked() -> None:
    door = QueuedDoor(verdict(4), verdict(5))
    opened = open_judge("g", judge("grounding_v1", repeats=2), door)  # type: ignore[arg-type]
    planned = opened.requests(DEADLINE, CONTEXT, said("By January 15."))
    assert door.requests == []
    asyncio.run(opened.score(DEADLINE, CONTEXT, said("By January 15.")))
    assert tuple(door.requests) == planned
    assert [request.repeat for request in planned] == [0, 1]


def test_a_judge_sees_no_more_than_its_rubric_lists() -> None:
    question = Question("q", "ASKED", reference="EXPECTED", metadata={"lang": "GERMAN"})
    door = QueuedDoor(verdict(5))
    scored(judge("topicality_v2"), door, said("REPLIED"), question, passages("PASSAGE"))
    text = str(door.requests[0].messages)
    assert "ASKED" in text
    assert "REPLIED" in text
    assert not any(word in text for word in ("EXPECTED", "GERMAN", "PASSAGE"))
    rubric = shipped("topicality_v2")
    rubric.inputs = ["metadata.lang", "answer"]
    door = QueuedDoor(verdict(5))
    scored(judge(rubric), door, said("REPLIED"), question)
    assert "GERMAN" in str(door.requests[0].messages)
    assert "ASKED" not in str(door.requests[0].messages)


def test_the_context_judged_is_the_one_the_answer_was_made_from() -> None:
    door = QueuedDoor(verdict(5))
    scored(judge("grounding_v1"), door, said("x", "OWN CONTEXT"))
    assert "[1] OWN CONTEXT" in door.requests[0].messages[1]["content"]
    assert "January" not in door.requests[0].messages[1]["content"]


@pytest.mark.parametrize(
    ("rubric", "question", "retrieved", "answer", "reason"),
    [
        ("grounding_v1", DEADLINE, (), said("x"), Reason.NO_CONTEXT),
        ("grounding_v1", DEADLINE, passages("  "), said("x"), Reason.NO_CONTEXT),
        ("reference_match_v1", Question("q", "Q"), CONTEXT, said("x"), Reason.NO_REFERENCE),
        ("topicality_v2", DEADLINE, CONTEXT, said(" \n"), Reason.NO_ANSWER),
        ("topicality_v2", DEADLINE, CONTEXT, Answer(AnswerStatus.FAILED, reason="timeout"), Reason.NO_ANSWER),
    ],
)
@pytest.mark.parametrize("choices", [{}, {"scoring": "sentences"}, {"kind": "evidence"}])
def test_a_missing_input_is_not_applicable_and_costs_nothing(
    rubric: str, question: Question, retrieved: Any, answer: Answer, reason: Reason, choices: dict[str, str]
) -> None:
    door = QueuedDoor()
    configured = judge(rubric, **choices)
    score = scored(configured, door, answer, question, retrieved)
    assert (score.status, score.reason, score.value, score.passed) == ("not_applicable", reason, None, None)
    assert score.lowest is not None
    assert door.requests == []
    opened = open_judge("judged", configured, door)  # type: ignore[arg-type]
    assert opened.requests(question, retrieved, answer) == ()


def test_missing_metadata_is_not_applicable() -> None:
    rubric = shipped("topicality_v2")
    rubric.inputs = ["answer", "metadata.tone"]
    assert scored(judge(rubric), QueuedDoor(), said("x")).reason == Reason.NO_METADATA


@pytest.mark.parametrize("bad", ["I give it a 5.", verdict(7), verdict("four"), '{"reasoning": "cut'])
def test_an_unreadable_reply_is_asked_about_once_more(bad: str) -> None:
    door = QueuedDoor(bad, verdict(3))
    score = scored(judge("grounding_v1"), door, said("x"))
    assert (score.status, score.value) == ("scored", 3.0)
    assert [request.reask for request in door.requests] == [0, 1]
    assert len(score.calls) == 2
    again = door.requests[1].messages
    assert again[:2] == door.requests[0].messages
    assert again[2] == {"role": "assistant", "content": bad}
    assert "cannot be used" in again[3]["content"]


@pytest.mark.parametrize(("second", "reason"), [("still no", Reason.MALFORMED), (verdict(9), Reason.OFF_SCALE)])
def test_then_it_has_failed_and_both_calls_are_kept(second: str, reason: Reason) -> None:
    door = QueuedDoor("no", second)
    score = scored(judge("grounding_v1"), door, said("x"))
    assert (score.status, score.reason, score.value) == ("failed", reason, None)
    assert score.verdicts[0].raw == second
    assert len(score.calls) == 2


@pytest.mark.parametrize(
    "reason", [Reason.REFUSED, Reason.TRUNCATED, Reason.CONTENT_FILTER, Reason.TIMEOUT, "http_500"]
)
def test_a_failed_call_is_not_asked_again_by_the_judge(reason: str) -> None:
    door = QueuedDoor(failed(reason))
    score = scored(judge("grounding_v1"), door, said("x"))
    assert (score.status, score.reason) == ("failed", reason)
    assert len(door.requests) == 1


def test_the_pass_follows_from_score_and_mark_and_not_from_the_judge() -> None:
    door = QueuedDoor('{"reasoning": "fine", "score": 3, "pass": true}')
    assert scored(judge("grounding_v1"), door, said("x")).passed is False


def test_errors_that_end_the_run_are_raised() -> None:
    def no_money(request: ChatRequest) -> Reply:
        raise BudgetReached("no")

    with pytest.raises(BudgetReached):
        scored(judge("grounding_v1", repeats=3), QueuedDoor(answering=no_money), said("x"))


@pytest.mark.parametrize(("combine", "value"), [("mean", 3.5), ("median", 4.0), ("majority", 4.0)])
def test_repeats_come_down_to_one_score_with_a_spread(combine: str, value: float) -> None:
    door = QueuedDoor(verdict(4, "a"), verdict(4, "b"), verdict(1, "c"), verdict(5, "d"))
    score = scored(judge("grounding_v1", repeats=4, combine=combine), door, said("x"))
    assert score.value == value
    assert score.spread == pytest.approx(1.7320508)
    assert [each.repeat for each in score.verdicts] == [0, 1, 2, 3]
    assert [each.score for each in score.verdicts] == [4, 4, 1, 5]


def test_a_failed_repeat_is_left_out_and_said() -> None:
    door = QueuedDoor(verdict(4), failed(), verdict(2))
    score = scored(judge("grounding_v1", repeats=3), door, said("x"))
    assert (score.status, score.value) == ("scored", 3.0)
    assert "1 of 3" in score.detail


def test_label_scores_have_a_number_beside_the_text() -> None:
    door = QueuedDoor(verdict("good", key="label"))
    score = scored(judge("reference_match_v1"), door, said("x"))
    assert (score.value, score.label, score.passed) == (1.0, "good", True)
    door = QueuedDoor(*(verdict(label, key="label") for label in ("good", "good", "bad")))
    score = scored(judge("reference_match_v1", repeats=3), door, said("x"))
    assert (round(score.value or 0, 3), score.label, score.passed) == (0.667, "good", True)


def value_reply(key: str, value: str, **shares: float) -> Reply:
    written = f'"{value}"' if key == "label" else value
    quote = '"' if key == "label" else ""
    tokens = (
        token('{"'), token(key), token(f'": {quote}' if quote else '":'),
        token(value, **shares), token(f"{quote}}}"),
    )  # fmt: skip
    return ok(f'{{"{key}": {written}}}', tokens)


def test_probabilities_weigh_the_values() -> None:
    door = QueuedDoor(value_reply("score", "4", **{"4": 0.6, "5": 0.3, " 2": 0.05, "x": 0.05}))
    score = scored(judge("grounding_v1", scoring="probability"), door, said("x"))
    assert score.value == pytest.approx((4 * 0.6 + 5 * 0.3 + 2 * 0.05) / 0.95)
    assert "4 0.63" in score.rationale
    request = door.requests[0]
    assert request.top_logprobs == 20
    assert request.schema is not None
    assert list(request.schema["properties"]) == ["score"]
    assert "reasoning" not in request.messages[0]["content"]


def test_labels_of_several_tokens_are_told_apart_by_their_beginning() -> None:
    door = QueuedDoor(value_reply("label", "PARTLY_RELEVANT", PART=0.5, RELE=0.3, NON=0.2))
    score = scored(judge("relevance_v1", scoring="probability"), door, said("x"))
    assert score.value == pytest.approx(0.5 * 0.5 + 0.3)
    assert score.label == "PARTLY_RELEVANT"
    door = QueuedDoor(value_reply("label", "good", good=0.9, bad=0.1))
    score = scored(judge("reference_match_v1", scoring="probability"), door, said("x"))
    assert (score.value, score.label, score.passed) == (pytest.approx(0.9), "good", True)


def test_a_model_without_log_probabilities_is_named_with_the_remedy() -> None:
    door = QueuedDoor('{"score": 4}', '{"score": 4}')
    score = scored(judge("grounding_v1", scoring="probability"), door, said("x"))
    assert (score.status, score.reason) == ("failed", "malformed")
    assert "scoring=verdict" in score.detail
    refused = Reply("ok", '{"score": 4}', "", "", a_call(requested={"top_logprobs": "refused"}))
    with pytest.raises(JobStopped, match=r"judges\.judged\.scoring=verdict"):
        scored(judge("grounding_v1", scoring="probability"), QueuedDoor(refused), said("x"))
    with pytest.raises(JobStopped, match=r"judges\.judged\.scoring=verdict"):
        scored(judge("topicality_v2", scoring="sentences"), QueuedDoor(refused), said("x"))


def yes(share: float) -> Reply:
    return ok("yes", (token("yes", **{"Yes": share * 0.7, " yes": share * 0.3, "No": 1 - share}),))


def test_statements_are_asked_one_by_one_and_the_weakest_decides() -> None:
    def answering(request: ChatRequest) -> Reply:
        return yes(0.1 if "laptop" in request.messages[1]["content"].split("Statement:")[1] else 0.9)

    door = QueuedDoor(answering=answering)
    answer = said("Applications for the fall semester must reach the office by January 15. A laptop is included.")
    score = scored(judge("grounding_v1", scoring="sentences"), door, answer)
    assert len(door.requests) == 2
    assert all((r.max_tokens, r.top_logprobs, r.schema) == (4, 20, None) for r in door.requests)
    assert "January 15" in door.requests[0].messages[1]["content"].split("Statement:")[0]
    assert score.value is not None
    assert score.value < 2
    assert score.passed is False
    assert 'Weakest statement: "A laptop is included."' in score.rationale
    assert "P(yes) 0.10" in score.rationale
    assert len(score.calls) == 2


def test_what_is_missing_is_named_and_weighs_although_the_model_says_yes() -> None:
    door = QueuedDoor(yes(0.9))
    score = scored(judge("grounding_v1", scoring="sentences"), door, said("Fall applications are due by March 15."))
    assert score.passed is False
    assert "March 15" in score.rationale


def test_a_supported_answer_passes() -> None:
    door = QueuedDoor(yes(0.9))
    answer = said("Applications for the fall semester must reach the admissions office by January 15.")
    score = scored(judge("grounding_v1", scoring="sentences"), door, answer)
    assert score.passed is True
    assert score.value is not None
    assert score.value > 4.5


@pytest.mark.parametrize("rubric", ["grounding_v1", "topicality_v2"])
def test_an_answer_that_only_refuses_is_not_applicable_to_statement_judges(rubric: str) -> None:
    for choices in ({"scoring": "sentences"}, {"kind": "evidence"}):
        door = QueuedDoor()
        score = scored(judge(rubric, **choices), door, said("The context does not say. Please ask the office."))
        assert (score.status, score.reason) == ("not_applicable", "abstained")
        assert door.requests == []


def test_a_bare_answer_is_put_to_the_judge_with_its_question() -> None:
    door = QueuedDoor(yes(0.9))
    scored(judge("grounding_v1", scoring="sentences"), door, said("January 15."))
    assert DEADLINE.text in door.requests[0].messages[1]["content"]


def test_whole_answers_are_asked_about_once_where_there_is_no_context() -> None:
    for rubric, label in (("topicality_v2", None), ("reference_match_v1", "good")):
        door = QueuedDoor(yes(0.8))
        score = scored(judge(rubric, scoring="sentences"), door, said("By January 15, I think. Yes."))
        assert len(door.requests) == 1
        assert (score.passed, score.label) == (True, label)
    assert scored(judge("topicality_v2", scoring="sentences"), QueuedDoor(yes(0.2)), said("x y z")).passed is False


def test_a_reply_without_yes_or_no_has_failed() -> None:
    door = QueuedDoor(ok("maybe", (token("maybe", maybe=0.97, yes=0.03),)))
    score = scored(judge("topicality_v2", scoring="sentences"), door, said("January 15."))
    assert (score.status, score.reason) == (VerdictStatus.FAILED, "malformed")


def test_one_failed_statement_fails_the_score() -> None:
    door = QueuedDoor(yes(0.9), failed("http_500"))
    score = scored(judge("grounding_v1", scoring="sentences"), door, said("The office opens. The laptop is included."))
    assert (score.status, score.reason) == ("failed", "http_500")
    assert len(score.calls) == 2


def test_a_reply_cut_off_after_its_first_token_is_good_enough() -> None:
    reply = Reply("failed", "Yes", Reason.TRUNCATED, "cut", a_call(), yes(0.8).logprobs)
    assert scored(judge("topicality_v2", scoring="sentences"), QueuedDoor(reply), said("January 15.")).passed


def test_a_judge_that_cannot_work_is_refused_with_every_problem() -> None:
    rubric = shipped("grounding_v1")
    rubric.inputs = ["question", "contxt"]
    rubric.scale.pass_at = 9
    with pytest.raises(ConfigurationError) as raised:
        open_judge("strict", judge(rubric, scoring="sentences"), QueuedDoor())  # type: ignore[arg-type]
    message = str(raised.value)
    for part in ("judges.strict.rubric.inputs", "contxt", "pass_at", "judges.strict.scoring"):
        assert part in message


@pytest.mark.parametrize(
    ("reference", "answer", "label"),
    [
        ("The documents do not say.", "I don't know.", "good"),
        ("The documents do not say.", "It costs 5 dollars.", "bad"),
        ("By January 15.", "I don't know.", "bad"),
    ],
)
def test_refusals_are_compared_with_the_reference_without_a_call(reference: str, answer: str, label: str) -> None:
    question = Question("q", "When?", reference=reference)
    for choices in ({"scoring": "sentences"}, {"kind": "evidence"}):
        door = QueuedDoor()
        score = scored(judge("reference_match_v1", **choices), door, said(answer), question)
        assert (score.status, score.label, door.requests) == ("scored", label, [])


def test_statements_can_be_repeated_too() -> None:
    door = QueuedDoor(yes(0.9), yes(0.5), yes(0.7))
    configured = judge("topicality_v2", scoring="sentences", repeats=3, combine="median")
    score = scored(configured, door, said("January 15."))
    assert [request.repeat for request in door.requests] == [0, 1, 2]
    assert [verdict.repeat for verdict in score.verdicts] == [0, 1, 2]
    assert score.spread is not None
    assert score.value == sorted(verdict.score or 0 for verdict in score.verdicts)[1]
    opened = open_judge("j", configured, QueuedDoor())  # type: ignore[arg-type]
    assert opened.requests(DEADLINE, CONTEXT, said("January 15.")) == tuple(door.requests)
