"""A Python function of the user's as the generator, synchronous or not, with a client whose calls are in the ledger."""

from __future__ import annotations

import asyncio
import contextvars
import dataclasses
import inspect
import threading
import traceback
from collections.abc import Awaitable, Callable
from copy import deepcopy
from pathlib import Path
from typing import TYPE_CHECKING, Any

from runner.calls.wires import load_sdk
from runner.config.schema import Calls, Generator
from runner.errors import ConfigurationError, Problem, RunnerError
from runner.generation.application import Application, NoAnswer
from runner.generation.lanes import MOST_PATIENCE_S, lanes_of
from runner.generation.target import Target, find_target
from runner.records import Question, Reason, http_reason

if TYPE_CHECKING:
    from runner.calls import Door

_TIMEOUTS = frozenset({"APITimeoutError", "TimeoutException", "TimeoutError", "Timeout"})
_CONNECTIONS = frozenset(
    {"APIConnectionError", "TransportError", "ConnectionError", "ClientConnectionError", "NewConnectionError"}
)
"""Names of the exceptions of the usual HTTP clients, so that none has to be imported."""


class CallableApplication(Application):
    """Calls ``module:function``: in an event loop beside ours where it is asynchronous, else in a thread of its own."""

    def __init__(self, generator: Generator, door: Door, calls: Calls, *, retrieves: bool) -> None:
        """Imports the module and looks at the function, without calling it. Raises ConfigurationError."""
        super().__init__(generator.target, generator, door, calls)
        self._target: Target = find_target(generator.target)
        if retrieves and "contexts" not in self._target.wants:
            what = f"{generator.target} does not take contexts, so what is retrieved would never reach it"
            remedy = "choose retriever=none knowledge_base=none, or give it a parameter named contexts"
            raise ConfigurationError([Problem("generator.target", what, remedy)])
        self._endpoint = None
        if "client" in self._target.wants:
            if not generator.model.strip():
                what = f"is not set, and {generator.target} takes a client"
                remedy = "name the model that it asks, so that its price is known before: generator.model=NAME"
                raise ConfigurationError([Problem("generator.model", what, remedy)])
            self._endpoint = door.endpoint(generator.endpoint, generator.model)

    async def ask(self, question: Question, contexts: tuple[str, ...]) -> Any:
        """What the function returns. Its exceptions are NoAnswer, except those of the door that end a run."""
        if self._endpoint is not None:
            await load_sdk()
        given = self._given(question, contexts)
        function = self._target.function
        try:
            if self._target.asynchronous:
                return await self._beside(lambda: function(question.text, **given))
            returned = await _in_thread(lambda: function(question.text, **given))
            return await self._beside(lambda: returned) if inspect.isawaitable(returned) else returned
        except Exception as error:
            raise _as_reason(error, self._name) from error

    async def _beside(self, make: Callable[[], Awaitable[Any]]) -> Any:
        return await lanes_of(self._door).run(make, min(MOST_PATIENCE_S, self._limit_s / 4))

    def _given(self, question: Question, contexts: tuple[str, ...]) -> dict[str, Any]:
        """What it wants, each made anew: one question must not change what another is given."""
        wants, generator = self._target.wants, self._generator
        offered: dict[str, Callable[[], Any]] = {
            "client": self._client,
            "contexts": lambda: list(contexts),
            "model": lambda: generator.model,
            # What nobody knows who asks the question is taken out.
            "question": lambda: dataclasses.replace(question, reference=None, gold=(), answerable=None, recorded=None),
            "settings": lambda: deepcopy(generator.settings),
        }
        return {name: make() for name, make in offered.items() if name in wants}

    def _client(self) -> Any:
        # One a question: it remembers for whom it works, also in threads that the application starts itself.
        assert self._endpoint is not None
        make = self._door.async_openai_client if self._target.asynchronous else self._door.openai_client
        return make(self._endpoint)


async def _in_thread(work: Callable[[], Any]) -> Any:
    """Runs blocking code in a thread of its own, which is left behind where it does not end in time.

    The threads of ``asyncio.to_thread`` are few, and the process waits for them at its end: a function that hangs
    would hang all of it.
    """
    loop = asyncio.get_running_loop()
    future: asyncio.Future[Any] = loop.create_future()
    context = contextvars.copy_context()

    def settle(result: Any, error: BaseException | None) -> None:
        if future.done():
            return
        if error is None:
            future.set_result(result)
        else:
            future.set_exception(error)

    def run() -> None:
        result: Any = None
        failure: Exception | None = None
        try:
            result = context.run(work)
        except StopIteration as error:
            # A future refuses this one.
            failure = RuntimeError(f"StopIteration: {error}")
        except BaseException as error:
            failure = error if isinstance(error, Exception) else RuntimeError(f"{type(error).__name__}: {error}")
        try:
            loop.call_soon_threadsafe(settle, result, failure)
        except RuntimeError:
            # The run is over and nobody waits any more.
            return

    threading.Thread(target=run, name="own-application", daemon=True).start()
    return await future


def _as_reason(error: Exception, name: str) -> Exception:
    """What ends the run as it is, also where the application wrapped it; anything else as NoAnswer with its reason."""
    seen: list[BaseException] = []
    inner: BaseException | None = error
    while inner is not None and inner not in seen:
        if isinstance(inner, (RunnerError, NoAnswer)):
            return inner
        seen.append(inner)
        inner = inner.__cause__ or inner.__context__
    names = {kind.__name__ for kind in type(error).__mro__}
    status = getattr(getattr(error, "response", None), "status_code", None)
    reason: str = Reason.APPLICATION
    if isinstance(status, int):
        reason = http_reason(status)
    elif names & _TIMEOUTS:
        reason = Reason.TIMEOUT
    elif names & _CONNECTIONS:
        reason = Reason.CONNECTION
    frames = traceback.extract_tb(error.__traceback__)
    ours = str(Path(__file__).parent)
    own = [frame for frame in frames if "site-packages" not in frame.filename and not frame.filename.startswith(ours)]
    where = f" ({Path(own[-1].filename).name} line {own[-1].lineno})" if own else ""
    return NoAnswer(reason, f"{name} raised {type(error).__name__}: {_said(error)}{where}")


def _said(error: BaseException) -> str:
    try:
        return str(error)
    except Exception:
        return "its message cannot be written"
