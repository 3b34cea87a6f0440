"""The yes-or-no questions that are put to small judges, in the form they were measured in."""

from __future__ import annotations

from collections.abc import Mapping

from runner.config.schema import Rubric
from runner.judging.prompts import neutral

ALTERNATIVES = 20
"""Log probabilities asked for at the one token; 20 is the most that llama.cpp and OpenAI give."""


def statement(sentence: str, question: str, passage: str) -> str:
    """Whether one passage supports one statement of the answer."""
    return (
        f"Passage:\n{neutral(passage)}\n\nQuestion: {neutral(question)}\n\nStatement: {neutral(sentence)}\n\n"
        "Is every fact in the statement supported by the passage? Answer yes or no."
    )


def match(question: str, reference: str, answer: str) -> str:
    """Whether the answer holds the same key information as the reference answer."""
    return (
        f"Question: {neutral(question)}\n\nReference answer: {neutral(reference)}\n\n"
        f"Other answer: {neutral(answer)}\n\n"
        "Does the other answer give the same key information as the reference answer? Answer yes or no."
    )


def whole(rubric: Rubric, texts: Mapping[str, str]) -> str:
    """Whether the whole answer addresses the question, or, for a rubric with other inputs, has the property."""
    if set(texts) == {"question", "answer"} and rubric.id == "topicality":
        asked = "Does the answer address what the question asks?"
    else:
        asked = f"Is the following true? {rubric.description.strip().rstrip('.').capitalize()}."
    shown = "\n\n".join(
        f"{name.removeprefix('metadata.').capitalize()}: {neutral(text)}" for name, text in texts.items()
    )
    return f"{shown}\n\n{asked} Answer yes or no."
