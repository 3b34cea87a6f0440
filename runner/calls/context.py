"""For whom a call is made: stage, run, question and deadline travel in context variables, never in the request."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace

from runner.calls.deadlines import clock
from runner.records import Call, Stage


class Occurrences:
    """Counts how often one question's own code made an equal request; safe to use from many threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._seen: dict[str, int] = {}

    def next(self, key: str) -> int:
        """0 for the first equal request, 1 for the second, and so on."""
        with self._lock:
            index = self._seen.get(key, 0)
            self._seen[key] = index + 1
            return index


@dataclass(frozen=True, slots=True)
class CallContext:
    """For whom a call is made. Written beside the call in the ledger; no part of its key."""

    stage: str = Stage.OTHER
    run: str = ""
    """The job's key."""
    question: str = ""
    """The question's id."""
    deadline: float | None = None
    """On the clock of ``deadlines``; ``None``: no deadline."""
    occurrences: Occurrences | None = field(default=None, compare=False)
    """Set inside a question."""


_NOBODY = CallContext()
_context: ContextVar[CallContext] = ContextVar("runner_call_context", default=_NOBODY)
_collectors: ContextVar[tuple[list[Call], ...]] = ContextVar("runner_call_collectors", default=())


@contextmanager
def calling(
    *,
    stage: str | None = None,
    run: str | None = None,
    question: str | None = None,
    deadline: float | None = None,
) -> Iterator[CallContext]:
    """Say for whom the calls inside this block are made; what is not said is taken from the block around it.

    ``deadline`` is in seconds from now and holds for all calls inside together: when it passes, what is still
    waiting ends with the reason ``timeout``. A nearer deadline of a block around this one stays in force.
    """
    around = _context.get()
    ends = around.deadline
    if deadline is not None:
        mine = clock.now() + deadline
        ends = mine if ends is None else min(mine, ends)
    occurrences = around.occurrences
    if question is not None and (question, run or around.run) != (around.question, around.run):
        occurrences = Occurrences()
    context = replace(
        around,
        stage=around.stage if stage is None else stage,
        run=around.run if run is None else run,
        question=around.question if question is None else question,
        deadline=ends,
        occurrences=occurrences,
    )
    token = _context.set(context)
    try:
        yield context
    finally:
        _context.reset(token)


@contextmanager
def collect_calls() -> Iterator[list[Call]]:
    """Gather every call made inside this block, in the order in which they ended, also through SDK clients."""
    calls: list[Call] = []
    token = _collectors.set((*_collectors.get(), calls))
    try:
        yield calls
    finally:
        _collectors.reset(token)


def current() -> CallContext:
    """For whom the calling code works."""
    return _context.get()


def collectors() -> tuple[list[Call], ...]:
    """The lists that want to hear of calls made by the calling code."""
    return _collectors.get()
