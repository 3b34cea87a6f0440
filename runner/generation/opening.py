"""The registry of generator kinds. A new kind is one file with ``answer`` and ``requests``, and one line here."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Protocol

from runner.calls.requests import ChatRequest
from runner.config.schema import Generator, Prompt
from runner.errors import ConfigurationError, Problem
from runner.generation.extractive import ExtractiveGenerator
from runner.generation.model import ModelGenerator
from runner.generation.recorded import RecordedGenerator
from runner.records import Answer, Question, Retrieved

if TYPE_CHECKING:
    from runner.calls import Door


class AnswerGenerator(Protocol):
    """What every kind offers."""

    async def answer(self, question: Question, retrieved: tuple[Retrieved, ...]) -> Answer:
        """The answer to one question; failures are in its status, never raised."""

    def requests(self, question: Question, retrieved: tuple[Retrieved, ...]) -> tuple[ChatRequest, ...]:
        """What a model would be asked for this question, for the plan; nothing is sent."""


KINDS: Mapping[str, Callable[[Generator, Prompt, Door], AnswerGenerator | None]] = {
    "model": ModelGenerator,
    "extractive": lambda generator, prompt, door: ExtractiveGenerator(),
    "recorded": lambda generator, prompt, door: RecordedGenerator(),
    "none": lambda generator, prompt, door: None,
}


def open_generator(generator: Generator, prompt: Prompt, door: Door) -> AnswerGenerator | None:
    """The generator of this kind; ``None`` for kind ``none``, where only retrieval is evaluated.

    Raises ConfigurationError for an unknown kind.
    """
    opened = KINDS.get(generator.kind)
    if opened is None:
        known = ", ".join(KINDS)
        raise ConfigurationError([Problem("generator.kind", f"there is no kind {generator.kind!r}", f"known: {known}")])
    return opened(generator, prompt, door)
