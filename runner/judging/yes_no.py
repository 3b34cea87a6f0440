"""The yes-or-no questions that are put to small judges, in the form they were measured in."""

from __future__ import annotations

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
_LISTENER = (
    "You check whether an answer is about its question. Whether it is true does not matter. "
    "Answer with one word: yes or no."
)
_GRADER = "You grade answers. Answer with one word: yes or no."
_COMPARER = "You compare texts. Answer with one word: yes or no."

Messages = tuple[Mapping[str, str], ...]


def _messages(system: str, user: str) -> Messages:
    return ({"role": "system", "content": system}, {"role": "user", "content": user})


def statement(sentence: str, question: str, passage: str) -> Messages:
    """Whether one passage supports one statement of the answer.

    The question is left out (with it the order of statements gets worse) unless the statement cannot be understood
    without it: "Yes.", "January 15.". The passage comes first, so that statements about it share the server's cache.
    """
    said = neutral(sentence)
    if len(content_words(sentence)) < LEAST_WORDS:
        said = f'The answer to the question "{neutral(question)}" is: {said}'
    return _messages(
        _EXAMINER,
        f"Passage:\n{neutral(passage)}\n\nStatement: {said}\n\n"
        "Does the passage say or clearly imply that the statement is true? Answer yes or no.",
    )


def match(question: str, reference: str, answer: str) -> Messages:
    """Whether the answer is right by the reference answer.

    Of three wordings on 24 cases this one told right from wrong best at 0.5 (21 right; AUC 0.97). Asked whether two
    texts "give the same key information" the model says yes to nearly everything.
    """
    return _messages(
        _GRADER,
        f"Question: {neutral(question)}\nCorrect answer: {neutral(reference)}\n"
        f"Student's answer: {neutral(answer)}\n\nIs the student's answer correct? Answer yes or no.",
    )


def whole(rubric: Rubric, texts: Mapping[str, str]) -> Messages:
    """Whether the whole answer deals with the question, or, for a rubric with other inputs, has the property.

    Of the wordings tried on 34 cases this one told answers to the question from all others (AUC 1.00, all right at
    0.5). Without the words about truth, wrong answers about the right document pass.
    """
    shown = "\n\n".join(
        f"{name.removeprefix('metadata.').capitalize()}: {neutral(text)}" for name, text in texts.items()
    )
    if set(texts) == {"question", "answer"} and rubric.id in ("topicality", "relevance"):
        asked = "Does the answer respond directly to what the question asks? Answer yes or no."
        return _messages(_LISTENER, f"{shown}\n\n{asked}")
    asked = f"Is the following true? {rubric.description.strip().rstrip('.').capitalize()}. Answer yes or no."
    return _messages(_COMPARER, f"{shown}\n\n{asked}")
