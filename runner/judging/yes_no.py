"""The yes-or-no questions that are put to small judges, in the form they were measured in."""

from __future__ import annotations

import json
from collections.abc import Mapping

from runner.config.schema import Rubric
from runner.judging.prompts import neutral
from runner.text import content_words

LEAST_WORDS = 3
"""A statement with fewer words of substance cannot be understood without its question."""
MAX_TOKENS = 4
"""Only the first token is looked at. Room for "Yes." and the end of the reply, since a reply that ends at its limit
counts as cut off and is asked for again at twice the limit."""
ALTERNATIVES = 20
"""Log probabilities asked for at the one token; 20 is the most that llama.cpp and OpenAI give."""


_EXAMINER = "You check statements against a passage. Answer with one word: yes or no."
_GRADER = "You grade answers. Answer with one word: yes or no."
_LISTENER = "You check whether a reply answers a question. Answer with one word: yes or no."
_COMPARER = "You compare texts. Answer with one word: yes or no."
_ABOUT_THE_QUESTION = ("topicality", "relevance")
"""Ids of the rubrics whose question was measured; others are asked about by their description."""

Messages = tuple[Mapping[str, str], ...]


def one_line(text: str) -> str:
    """The text in quotes on one line, its own quotes escaped: it can neither end nor look like a part of the form."""
    return json.dumps(" ".join(neutral(text).split()), ensure_ascii=False)


def _messages(system: str, user: str) -> Messages:
    return ({"role": "system", "content": system}, {"role": "user", "content": user})


def statement(sentence: str, question: str, passage: str) -> Messages:
    """Whether one passage supports one statement of the answer.

    The question is left out (with it the order of statements gets worse) unless the statement cannot be understood
    without it: "Yes.", "January 15.". The passage comes first, so that statements about it share the server's cache.
    """
    said = " ".join(neutral(sentence).split())
    if len(content_words(sentence)) < LEAST_WORDS:
        said = f"The answer to the question {one_line(question)} is: {said}"
    return _messages(
        _EXAMINER,
        f"Passage:\n{neutral(passage)}\n\nStatement: {said}\n\n"
        "Does the passage say or clearly imply that the statement is true? Answer yes or no.",
    )


def match(question: str, reference: str, answer: str) -> Messages:
    """Whether the answer is right by the reference answer.

    Of three wordings on 24 cases this one told right from wrong best at 0.5 (21 right, and 24 with the evidence
    counted in). Asked whether two texts "give the same key information" the model says yes to nearly everything.
    """
    return _messages(
        _GRADER,
        f"Question: {one_line(question)}\nCorrect answer: {one_line(reference)}\n"
        f"Student's answer: {one_line(answer)}\n\nIs the student's answer correct? Answer yes or no.",
    )


def asks_by_statement(rubric: Rubric, texts: Mapping[str, str]) -> bool:
    """Whether the rubric is about question and answer alone, in which case each statement is asked about."""
    return set(texts) == {"question", "answer"} and rubric.id in _ABOUT_THE_QUESTION


def reply(question: str, sentence: str) -> Messages:
    """Whether one statement of the answer gives what the question asks for.

    Asked about the whole answer the model lets a lone ":" pass, and anything that is followed by an order to let it
    pass; asked about each statement, it does not.
    """
    return _messages(
        _LISTENER,
        f"Question: {neutral(question)}\nReply: {one_line(sentence)}\n\n"
        "Does the reply give what the question asks for? Answer yes or no.",
    )


def whole(rubric: Rubric, texts: Mapping[str, str]) -> Messages:
    """Whether the whole answer has the property that the rubric describes."""
    asked = f"Is the following true? {rubric.description.strip().rstrip('.').capitalize()}."
    shown = (f"{name.removeprefix('metadata.').capitalize()}: {one_line(text)}" for name, text in texts.items())
    return _messages(_COMPARER, "\n\n".join([*shown, f"{asked} Answer yes or no."]))
