"""Blame and abstention: every row of the table, and what is left open where nothing is known."""

from __future__ import annotations

import pytest

from runner.judging import Abstention, Blame, abstention_of, blame_of, diagnosed, diagnosis_metrics, open_judge
from runner.records import Answer, AnswerStatus, Question, Record, Score, VerdictStatus
from tests.fakes.judged import judge, passages
from tests.fakes.queued_door import QueuedDoor


def score(passed: bool | None) -> Score:
    status = VerdictStatus.FAILED if passed is None else VerdictStatus.SCORED
    return Score("j", "r@1", "h", status, value=None if passed is None else float(passed), passed=passed)


def record(
    *, answerable: bool | None = True, hit: bool = True, abstained: bool = False, status: str = "answered",
    gold: bool = True, **scores: bool | None,
) -> Record:  # fmt: skip
    question = Question("q", "Q", gold=("d1",) if gold and answerable else (), answerable=answerable)
    retrieved = passages("text") if hit else ()
    answer = Answer(AnswerStatus(status), text="text", abstained=abstained)
    return Record(question, retrieved, answer, {name: score(passed) for name, passed in scores.items()})


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (record(hit=False, abstained=True), Blame.RETRIEVER_MISS),
        (record(hit=False, g=True, c=False), Blame.RETRIEVER_MISS),
        (record(hit=False, g=False, c=None), Blame.RETRIEVER_MISS),
        (record(hit=False, g=False, c=True), Blame.FINE),
        (record(abstained=True), Blame.WRONG_REFUSAL),
        (record(g=False, c=False), Blame.HALLUCINATED),
        (record(g=False, c=None), Blame.HALLUCINATED),
        (record(g=True, c=False), Blame.CONTEXT_IGNORED),
        (record(g=None, c=False), Blame.CONTEXT_IGNORED),
        (record(g=False, c=True), Blame.JUDGES_DISAGREE),
        (record(g=True, g2=False, c=True), Blame.JUDGES_DISAGREE),
        (record(g=True, c=True), Blame.FINE),
        (record(g=True), Blame.FINE),
        (record(c=True), Blame.FINE),
        (record(answerable=False, abstained=True), Blame.FINE),
        (record(answerable=False, g=False, c=True), Blame.HALLUCINATED),
        (record(answerable=False, g=True), Blame.JUDGES_DISAGREE),
        (record(answerable=False, g=None), None),
        (record(answerable=None, gold=False, abstained=True), None),
        (record(answerable=None, gold=False, g=False), Blame.HALLUCINATED),
        (record(g=None, c=None), None),
        (record(status="failed"), None),
    ],
)
def test_the_table(given: Record, expected: Blame | None) -> None:
    assert blame_of(given, ["g", "g2"], ["c"]) == expected


@pytest.mark.parametrize(
    ("question", "abstained", "expected"),
    [
        (Question("q", "Q", answerable=True), False, Abstention.ANSWERED),
        (Question("q", "Q", answerable=True), True, Abstention.WRONG_REFUSAL),
        (Question("q", "Q", answerable=False), False, Abstention.ANSWERED_UNANSWERABLE),
        (Question("q", "Q", answerable=False), True, Abstention.RIGHT_REFUSAL),
        (Question("q", "Q", gold=("d",)), True, Abstention.WRONG_REFUSAL),
        (Question("q", "Q", reference="The documents do not say."), True, Abstention.RIGHT_REFUSAL),
        (Question("q", "Q", reference="By May 1."), True, None),
    ],
)
def test_the_cross_table(question: Question, abstained: bool, expected: Abstention | None) -> None:
    assert abstention_of(question, Answer(AnswerStatus.ANSWERED, text="x", abstained=abstained)) == expected
    assert abstention_of(question, Answer(AnswerStatus.FAILED, reason="timeout")) is None


def test_a_record_is_diagnosed_by_the_judges_inputs_and_counted() -> None:
    judges = {
        "mine": open_judge("mine", judge("grounding_v1"), QueuedDoor()),  # type: ignore[arg-type]
        "yours": open_judge("yours", judge("reference_match_v1"), QueuedDoor()),  # type: ignore[arg-type]
    }
    records = [
        diagnosed(record(mine=True, yours=True), judges),
        diagnosed(record(mine=False, yours=False), judges),
        diagnosed(record(abstained=True), judges),
        diagnosed(record(status="failed"), judges),
    ]
    assert [(each.blame, each.abstention) for each in records] == [
        ("fine", "answered"), ("hallucinated", "answered"), ("wrong_refusal", "wrong_refusal"), ("", ""),
    ]  # fmt: skip
    metrics = diagnosis_metrics(records)
    assert metrics["blame/fine"] == metrics["blame/hallucinated"] == metrics["abstention/wrong_refusal"] == 1
    assert metrics["abstention/answered"] == 2
    assert metrics["blame/retriever_miss"] == 0
    assert diagnosis_metrics([]) == {}
