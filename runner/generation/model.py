"""Answers from a chat model: one call a question, through the door."""

from __future__ import annotations

from typing import TYPE_CHECKING

from runner.calls import calling
from runner.calls.requests import ChatRequest
from runner.config.schema import Generator, Prompt
from runner.generation.abstention import abstains
from runner.generation.prompts import messages
from runner.records import Answer, AnswerStatus, Question, Reason, Retrieved, Stage

if TYPE_CHECKING:
    from runner.calls import Door


class ModelGenerator:
    """Asks a chat model with the prompt."""

    def __init__(self, generator: Generator, prompt: Prompt, door: Door) -> None:
        self._generator = generator
        self._prompt = prompt
        self._door = door
        self._endpoint = door.endpoint(generator.endpoint, generator.model)

    def requests(self, question: Question, retrieved: tuple[Retrieved, ...]) -> tuple[ChatRequest, ...]:
        """What the model would be asked; nothing is sent."""
        return (
            ChatRequest(
                endpoint=self._endpoint,
                model=self._generator.model,
                messages=messages(self._prompt, question, retrieved),
                max_tokens=self._generator.max_tokens,
                temperature=self._generator.temperature,
            ),
        )

    async def answer(self, question: Question, retrieved: tuple[Retrieved, ...]) -> Answer:
        """The model's answer, or a failed one with its reason; only errors that end the run are raised."""
        (request,) = self.requests(question, retrieved)
        with calling(stage=Stage.GENERATE):
            reply = await self._door.chat(request)
        contexts = tuple(item.chunk.text for item in retrieved)
        if reply.ok and reply.text.strip():
            text = reply.text.strip()
            return Answer(
                status=AnswerStatus.ANSWERED,
                text=text,
                abstained=abstains(text),
                messages=request.messages,
                contexts=contexts,
                calls=(reply.call,),
            )
        return Answer(
            status=AnswerStatus.FAILED,
            text=reply.text,
            reason=reply.reason or Reason.EMPTY,
            detail=reply.detail or f"{self._generator.model} returned no text",
            messages=request.messages,
            contexts=contexts,
            calls=(reply.call,),
        )
