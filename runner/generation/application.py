"""What the three ways to a user's own application share: places, time limits, retries, and reading what it returned."""

from __future__ import annotations

import asyncio
import random
from abc import ABC, abstractmethod
from collections.abc import Coroutine
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from runner.calls import calling, collect_calls
from runner.calls.context import current
from runner.calls.deadlines import clock
from runner.calls.requests import ChatRequest
from runner.calls.retries import Kind, Outcome, backoff
from runner.config.schema import Calls, Generator
from runner.generation.abstention import abstains
from runner.generation.returned import Returned, Unusable, read, reported_call
from runner.records import Answer, AnswerStatus, Call, Question, Reason, Retrieved, Stage
from runner.text.surrogates import without_surrogates

if TYPE_CHECKING:
    from runner.calls import Door

GRACE_S = 0.5
"""The door ends calls at the limit; an application has this long to make something of it before it is given up."""
_ENDING_S = 2.0

_places: WeakKeyDictionary[Door, dict[str, asyncio.Semaphore]] = WeakKeyDictionary()
"""By door and application: jobs of one sweep share the places of the application that they share."""


class NoAnswer(Exception):
    """The application gave none; ``again``: another attempt may do better."""

    def __init__(self, reason: str, detail: str, *, again: bool = False, wait_s: float | None = None) -> None:
        super().__init__(detail)
        self.reason, self.detail, self.again, self.wait_s = reason, without_surrogates(detail), again, wait_s


class Application(ABC):
    """A generator that is somebody else's code. Its failures are the answer's status, never raised."""

    own_application = True
    """The plan must not ask it: nobody knows what that costs."""
    timeouts_again = False
    """Whether a timeout is worth another attempt, as it is on a network."""

    def __init__(self, name: str, generator: Generator, door: Door, calls: Calls) -> None:
        """``name``: what it is called in messages, and by what its places are counted."""
        self._name = name
        self._generator = generator
        self._door = door
        self._calls = calls
        self._limit_s = generator.timeout_s or calls.attempt_timeout_s
        self._random = random.Random(0)

    @abstractmethod
    async def ask(self, question: Question, contexts: tuple[str, ...]) -> Any:
        """What the application returns for one question, as it is. Raises NoAnswer, and what ends a run."""

    def requests(self, question: Question, retrieved: tuple[Retrieved, ...]) -> tuple[ChatRequest, ...]:
        """Nothing: what it asks of models is known only when it asks."""
        return ()

    async def answer(self, question: Question, retrieved: tuple[Retrieved, ...]) -> Answer:
        """The application's answer with its own contexts, or the retrieved ones where it returns none."""
        contexts = tuple(item.chunk.text for item in retrieved)
        made: list[Call] = []
        async with self._place():
            for attempt in range(self._calls.retries + 1):
                try:
                    returned = await self._once(question, contexts, made)
                except NoAnswer as error:
                    wait = backoff(attempt, Outcome(Kind.RETRY, error.reason, retry_after_s=error.wait_s), self._random)
                    if not error.again or attempt == self._calls.retries or not _time_for(wait):
                        detail = self._door.redacted(error.detail)
                        return Answer(
                            AnswerStatus.FAILED, "", error.reason, detail, contexts=contexts, calls=tuple(made)
                        )
                    await asyncio.sleep(wait)
                else:
                    break
        reported = reported_call(returned.usage, self._generator.model, self._door, returned.seconds)
        return Answer(
            status=AnswerStatus.ANSWERED,
            text=returned.text,
            abstained=abstains(returned.text),
            contexts=contexts if returned.contexts is None else returned.contexts,
            calls=(*made, *reported),
        )

    async def _once(self, question: Question, contexts: tuple[str, ...], made: list[Call]) -> Returned:
        began = clock.now()
        with calling(stage=Stage.GENERATE, deadline=self._limit_s) as context, collect_calls() as calls:
            assert context.deadline is not None
            try:
                told = await _within(self.ask(question, contexts), context.deadline + GRACE_S)
                return read(told, clock.now() - began)
            except TimeoutError:
                detail = f"{self._name} gave no answer within {clock.now() - began:.1f} s"
                raise NoAnswer(Reason.TIMEOUT, detail, again=self.timeouts_again) from None
            except Unusable as error:
                raise NoAnswer(error.reason, f"{self._name} {error}") from None
            finally:
                made.extend(calls)

    def _place(self) -> asyncio.Semaphore:
        places = _places.setdefault(self._door, {})
        return places.setdefault(self._name, asyncio.Semaphore(self._calls.concurrency))


def _time_for(wait_s: float) -> bool:
    """Whether the question's deadline leaves time for another attempt after this wait."""
    ends = current().deadline
    return ends is None or clock.now() + wait_s < ends


async def _within(work: Coroutine[Any, Any, Any], ends: float) -> Any:
    """The result of ``work``; raises TimeoutError when ``ends`` (on the clock of deadlines) has passed."""
    task = asyncio.ensure_future(work)
    try:
        while not task.done():
            left = ends - clock.now()
            if left <= 0:
                raise TimeoutError
            # The clock may stand still meanwhile, so that more than one wait is needed.
            await asyncio.wait({task}, timeout=max(left, 0.01))
        return task.result()
    finally:
        if not task.done():
            task.cancel()
            # Code that catches its cancellation is not waited for any longer.
            await asyncio.wait({task}, timeout=_ENDING_S)
