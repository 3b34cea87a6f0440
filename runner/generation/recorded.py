"""Answers that exist already: taken from the question set, no model is asked."""

from __future__ import annotations

from runner.calls.requests import ChatRequest
from runner.generation.abstention import abstains
from runner.records import Answer, AnswerStatus, Question, Reason, Retrieved


class RecordedGenerator:
    """Hands out the answer that the question brings with it."""

    def requests(self, question: Question, retrieved: tuple[Retrieved, ...]) -> tuple[ChatRequest, ...]:
        """Nothing: no model is asked."""
        return ()

    async def answer(self, question: Question, retrieved: tuple[Retrieved, ...]) -> Answer:
        """The recorded answer with its own contexts, or with the retrieved ones where it brings none."""
        recorded = question.recorded
        contexts = tuple(item.chunk.text for item in retrieved)
        if recorded is None or not recorded.text.strip():
            return Answer(
                status=AnswerStatus.FAILED,
                reason=Reason.NO_ANSWER,
                detail=f"question {question.id} has no recorded answer; name its column in questions.fields.answer",
                contexts=contexts,
            )
        return Answer(
            status=AnswerStatus.ANSWERED,
            text=recorded.text,
            abstained=abstains(recorded.text),
            contexts=recorded.contexts or contexts,
        )
