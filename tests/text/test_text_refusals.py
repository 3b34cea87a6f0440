"""Abstention by rule: what refuses, what only holds the words, and what the rule must leave alone."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from runner.generation import abstains
from runner.text import SentenceKind, kind_of, stating_sentences

REFUSALS = [
    "I don't know.",
    "I don’t know.",
    "I do not know",
    "**I don't know.**",
    "The context does not say.",
    "The provided context does not mention parking permits.",
    "I'm sorry, but the provided context does not contain information about parking permits. Please contact the "
    "parking office.",
    "There is no information about the cost of parking permits in the context.",
    "The cost of a parking permit is not mentioned in the provided context.",
    "Based on the context, I cannot determine the fee.",
    "The context does not mention the fee, so I cannot answer.",
    "Unfortunately, this is not specified.",
    "Not specified in the context.",
    "I don't have enough information to answer this question.",
    "No information is provided about that.",
    "It is unclear from the context.",
    "None of the passages mention pets.",
    "As an AI language model, I don't have access to that information.",
    "I was unable to find any information about parking.",
    "It is not possible to determine the fee from the given context.",
    "There's no mention of pets in the documents.",
    "Unable to answer based on the context.",
    "Insufficient information.",
    "The cost is not mentioned in the context, so I cannot answer.",
    "The documents do not say. Unfortunately, this cannot be determined.",
    "The context doesn't say whether pets are allowed. For details, you should contact the housing office.",
]
STATEMENTS = [
    "I don't know the exact fee, but it is about $20.",
    "The deadline is January 15. I don't know about transfers.",
    "Embeddings place similar texts near each other.\n\nI don't know.",
    "No, you cannot drop a course.",
    "No.",
    "There is no penalty for dropping a course in the first two weeks.",
    "There is no fee for dropping.",
    "Students who don't know their advisor should ask the registrar.",
    "You should contact the department chair in writing within 30 days.",
    "The policy does not give credit for courses of the major.",
    'If the answer is not found in the context, reply "I don\'t know".',
    "The context says January 15.",
    "You do not have to live on campus.",
    "The documents do not mention a fee; the deadline is January 15.",
    "The context does not mention grants, it only says that loans are possible.",
    "There is no rule about overnight guests for first-year students.",
    "No reference letters are required for admission.",
    "No evidence is needed for an appeal.",
    "No details are needed for the application.",
    "Students whose name is not listed in the documents must apply again.",
    "It is impossible to appeal after 30 days.",
    "",
]


@pytest.mark.parametrize("text", REFUSALS)
def test_a_refusal_is_an_abstention(text: str) -> None:
    assert abstains(text)


@pytest.mark.parametrize("text", STATEMENTS)
def test_an_answer_that_states_something_is_none(text: str) -> None:
    assert not abstains(text)


def test_the_clause_after_but_is_looked_at_for_itself() -> None:
    assert kind_of("The context does not name a fee, but I'd suggest checking the website.") is SentenceKind.REFUSAL
    assert kind_of("I don't know the fee, but it is small.") is SentenceKind.CONTENT
    assert kind_of("Please ask the registrar.") is SentenceKind.COURTESY


def test_only_the_stating_sentences_are_left() -> None:
    answer = "Sorry, the context does not name a fee. Applications are due on January 15. Please ask the office."
    assert stating_sentences(answer) == ("Applications are due on January 15.",)


def test_real_answers_ten_plain_refusals_and_eight_that_only_hold_the_words() -> None:
    path = Path("../shared/data/course_faq/rag-answers-new.csv")
    if not path.is_file():
        pytest.skip("the course FAQ is not on this machine")
    with path.open(encoding="utf-8", newline="") as file:
        answers = [row["answer_llm"] for row in csv.DictReader(file)]
    holding = [text for text in answers if "i don't know" in text.replace("’", "'").casefold()]
    abstaining = [text for text in answers if abstains(text)]
    assert len(holding) >= 17
    assert len(abstaining) == 10
    assert {text.replace("’", "'") for text in abstaining} == {"I don't know."}


@pytest.mark.parametrize(
    "piece",
    [
        "sorry, ",
        "the provided ",
        "so and because ",
        "a is not ",
        "no information ",
        "i ",
        "please ",
        "but ",
        "*",
        "«",
        "\n- ",
    ],
)
def test_no_answer_keeps_the_rule_busy_for_ever(piece: str) -> None:
    # Patterns that try every way to split such a text would take hours; the test's own time limit would end them.
    assert abstains(piece * 5000 + "x") in (True, False)
