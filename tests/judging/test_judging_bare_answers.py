"""The judge without a model on the shortest answers: yes, no, one word, one letter, one number."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runner.judging.evidence import PASS_SHARE, REFERENCE_PASS_SHARE, grounding, reference
from runner.text import words

CAN = "Can I drop a course?"


@pytest.mark.parametrize(
    ("question", "expected", "answer", "good"),
    [
        ("A?", "Yes.", "No.", False),
        ("B?", "yes", "Yes", True),
        ("C?", "No.", "No.", True),
        (CAN, "No", "Yes, you can.", False),
        (CAN, "Yes.", "No, you can't.", False),
        (CAN, "Yes, you can.", "No, you cannot.", False),
        (CAN, "No, you cannot.", "You can't.", True),
        (CAN, "Yes.", "Yes, within the first two weeks.", True),
        (CAN, "Yes, within the first two weeks.", "No.", False),
        (CAN, "A course can be dropped.", "Yes.", True),
        (CAN, "A course can be dropped.", "No.", False),
        (CAN, "A course cannot be dropped.", "No.", True),
        (CAN, "A course cannot be dropped.", "Yes.", False),
        ("Which?", "A", "B", False),
        ("Which?", "A", "The answer is A.", True),
        ("Which?", "A", "a)", True),
        ("Which?", "B", "The answer is A.", False),
        ("Before or after?", "Before.", "After.", False),
        ("Before or after?", "Before.", "It must be before.", True),
        ("Which of them?", "Both.", "Neither.", False),
        ("Which of them?", "None", "all", False),
        ("How many?", "5", "7", False),
        ("How many?", "5", "five", True),
        ("How many?", "five", "5", True),
        ("How many?", "1", "one", True),
        ("How many?", "One.", "Two.", False),
        ("How much?", "5 dollars", "$5", True),
        ("How much?", "5 days", "5 weeks", False),
        ("What temperature?", "-5", "5", False),
        ("Which language?", "C++", "C", False),
        ("Which language?", "C", "C++", False),
        ("True or false?", "True", "False", False),
        ("True or false?", "TRUE", "true.", True),
        ("Who?", "Ada Lovelace", "ada lovelace!", True),
        ("Who?", "Ada Lovelace", "Grace Hopper", False),
        ("What?", "The registrar.", "**The registrar**", True),
    ],
)
def test_the_shortest_answers_are_told_apart(question: str, expected: str, answer: str, good: bool) -> None:
    found = reference(question, expected, answer)
    assert (found.share >= REFERENCE_PASS_SHARE) is good, found
    assert not (good and "opposite" in found.explanation), found


@given(st.text(max_size=30).filter(words))
def test_an_answer_that_is_the_reference_is_entirely_good(text: str) -> None:
    for answer in (text, text.upper() if text.upper().casefold() == text.casefold() else text, f" {text}. "):
        assert reference("Which?", text, answer).share == 1.0


def test_an_equal_answer_says_so_and_a_bare_no_against_a_bare_yes_is_nothing() -> None:
    assert reference("C?", "No.", "No.").explanation == "The answer is the reference, word for word."
    found = reference("A?", "Yes.", "No.")
    assert found.share == 0.0
    assert found.explanation == "The reference says yes, the answer no."


@pytest.mark.parametrize(
    ("context", "answer", "good"),
    [("No.", "No.", True), ("Yes.", "No.", False), ("yes", "Yes.", True), ("No", "Yes", False)],
)
def test_a_bare_answer_is_grounded_in_the_same_bare_context_alone(context: str, answer: str, good: bool) -> None:
    found = grounding("C?", answer, (context,))
    assert found is not None
    assert (found.share >= PASS_SHARE) is good, found
    assert found.share in (0.0, 1.0), found
