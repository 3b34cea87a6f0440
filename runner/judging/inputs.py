"""What a rubric may see of a question, or the reason why there is nothing to judge."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from runner.config.schema import Rubric
from runner.records import Answer, AnswerStatus, Question, Reason, Retrieved

KNOWN = ("question", "context", "answer", "reference")
METADATA = "metadata."


@dataclass(frozen=True, slots=True)
class Missing:
    """Why the rubric does not apply to this answer."""

    reason: Reason
    detail: str


@dataclass(frozen=True, slots=True)
class Inputs:
    """Exactly the inputs that the rubric lists, each as text, in the rubric's order."""

    texts: Mapping[str, str]
    passages: tuple[str, ...] = ()
    """The context passage by passage; empty where the rubric does not list it."""


def passages_of(retrieved: tuple[Retrieved, ...], answer: Answer) -> tuple[str, ...]:
    """The passages that the answer was made from: those the generator was given, else the retrieved ones."""
    given = answer.contexts or tuple(item.chunk.text for item in retrieved)
    return tuple(passage for passage in given if passage.strip())


def gather(rubric: Rubric, question: Question, retrieved: tuple[Retrieved, ...], answer: Answer) -> Inputs | Missing:
    """The inputs of a rubric for one answer.

    An answer that failed, or is empty, gives ``no_answer`` whatever the rubric lists: there is nothing to judge.
    """
    if answer.status is AnswerStatus.FAILED:
        return Missing(Reason.NO_ANSWER, f"there is no answer ({answer.reason})")
    if not answer.text.strip():
        return Missing(Reason.NO_ANSWER, "the answer is empty")
    texts: dict[str, str] = {}
    passages: tuple[str, ...] = ()
    for name in rubric.inputs:
        if name == "question":
            texts[name] = question.text
        elif name == "answer":
            texts[name] = answer.text
        elif name == "context":
            passages = passages_of(retrieved, answer)
            if not passages:
                return Missing(Reason.NO_CONTEXT, "no passage was retrieved")
            texts[name] = "\n\n".join(f"[{number}] {text.strip()}" for number, text in enumerate(passages, 1))
        elif name == "reference":
            if not (question.reference or "").strip():
                return Missing(Reason.NO_REFERENCE, f"question {question.id} has no reference answer")
            texts[name] = question.reference or ""
        else:
            value = question.metadata.get(name.removeprefix(METADATA))
            if value is None or not str(value).strip():
                return Missing(Reason.NO_METADATA, f"question {question.id} has no {name}")
            texts[name] = str(value)
    return Inputs(texts, passages)
