"""The registry of generator kinds. A new kind is one file with ``answer`` and ``requests``, and one line here."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from runner.calls.requests import ChatRequest
from runner.config.schema import Calls, Generator, Prompt
from runner.errors import ConfigurationError, Problem
from runner.generation.callable_application import CallableApplication
from runner.generation.command_application import CommandApplication
from runner.generation.extractive import ExtractiveGenerator
from runner.generation.http_application import HttpApplication
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


@dataclass(frozen=True, slots=True)
class Opening:
    """What a kind may need to be opened."""

    generator: Generator
    prompt: Prompt
    door: Door
    calls: Calls
    retrieves: bool
    """Whether passages are retrieved, which the generator then ought to see."""


KINDS: Mapping[str, Callable[[Opening], AnswerGenerator | None]] = {
    "model": lambda given: ModelGenerator(given.generator, given.prompt, given.door),
    "extractive": lambda given: ExtractiveGenerator(),
    "recorded": lambda given: RecordedGenerator(),
    "callable": lambda given: CallableApplication(given.generator, given.door, given.calls, retrieves=given.retrieves),
    "http": lambda given: HttpApplication(given.generator, given.door, given.calls),
    "command": lambda given: CommandApplication(given.generator, given.door, given.calls),
    "none": lambda given: None,
}


def open_generator(
    generator: Generator, prompt: Prompt, door: Door, calls: Calls | None = None, *, retrieves: bool = False
) -> AnswerGenerator | None:
    """The generator of this kind; ``None`` for kind ``none``, where only retrieval is evaluated.

    ``calls``: time limits, places and retries of a user's own application. ``retrieves``: passages are retrieved.
    Raises ConfigurationError for an unknown kind, and for an application that cannot be used; nothing is called.
    """
    opened = KINDS.get(generator.kind)
    if opened is None:
        known = ", ".join(KINDS)
        raise ConfigurationError([Problem("generator.kind", f"there is no kind {generator.kind!r}", f"known: {known}")])
    return opened(Opening(generator, prompt, door, calls or Calls(), retrieves))
