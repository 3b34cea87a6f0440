"""The core of the door: a request in, what has landed out. The ledger first, then the flight that asks."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Coroutine
from pathlib import Path
from typing import Any, TypeVar

from runner.calls import prices
from runner.calls.account import call_of
from runner.calls.asks import Ask, Landed
from runner.calls.attempts import Attempts
from runner.calls.capabilities import Capabilities
from runner.calls.context import collectors
from runner.calls.flights import fresh
from runner.calls.ledger import Ledger, Lost, final_attempt
from runner.calls.lessons import Lessons
from runner.calls.purse import Purse
from runner.calls.redaction import Redactor
from runner.calls.totals import Totals
from runner.calls.tries import Rules
from runner.config.schema import Budget
from runner.errors import NotInLedger, RunnerError
from runner.records import Call

logger = logging.getLogger(__name__)

T = TypeVar("T")

CLOSING_GRACE_S = 2.0
"""At the end, what is on the wire gets this long to land: it is paid for already."""


class Core:
    """One for a door. Bound to the event loop that made it; ``anywhere`` and ``blocking`` are for all others."""

    def __init__(self, rules: Rules, budget: Budget, home: Path, *, shared: bool) -> None:
        self.loop = asyncio.get_running_loop()
        self._thread = threading.get_ident()
        self.rules = rules
        self.ledger = Ledger(rules.settings.ledger, home)
        self.redactor = Redactor()
        self.purse = Purse(budget, rules.overrides, self.ledger, rules.sweep, shared=shared)
        self.totals = Totals()
        capabilities = Capabilities(rules.settings.capabilities, Lessons(home))
        self.attempts = Attempts(rules, self.ledger, self.purse, self.redactor, self.totals, capabilities=capabilities)
        self._flights = self.attempts.flights
        if self.ledger.lost.requests:
            logger.warning(_lost_sentence(self.ledger.lost))
        self._asked_again: set[str] = set()

    async def call(
        self, ask: Ask, *, again: bool = False, listeners: tuple[list[Call], ...] | None = None
    ) -> tuple[Landed, Call]:
        """What became of a call, made now or before. Raises what ends the job or the sweep.

        ``again``: ask although the ledger has a reply, once for each key and door. ``listeners``: who hears of the
        call; ``None``: the collectors around the caller.
        """
        landed = await self._land(ask, again)
        call = call_of(
            landed.attempts,
            landed.new,
            key=ask.key,
            stage=ask.context.stage,
            status=landed.status,
            provider=ask.endpoint.provider,
            model=ask.model,
        )
        self.totals.add_call(call, landed.attempts)
        for listener in collectors() if listeners is None else listeners:
            listener.append(call)
        return landed, call

    async def _land(self, ask: Ask, again: bool) -> Landed:
        key = ask.key
        self._check()
        flight = self._flights.under_way(key)
        if flight is not None:
            return await self._flights.join(flight, ask.context.deadline, leader=False)
        found = await self.ledger.find(key)
        final = final_attempt(found)
        fresh = key not in self._asked_again
        again = fresh and (again or (self.rules.settings.retry_failed and final is not None and final.status != "ok"))
        flight = self._flights.under_way(key)
        if flight is None:
            if final is not None and not again and ask.replayable:
                return Landed(found)
            self._check()
            if self.rules.offline:
                raise NotInLedger(f"{ask.model}: the ledger does not hold this call, and none may be made now")
            if again:
                self._asked_again.add(key)
            flight = self._flights.start(ask, found, again=again or not ask.replayable)
            return await self._flights.join(flight, ask.context.deadline, leader=True)
        return await self._flights.join(flight, ask.context.deadline, leader=False)

    def _check(self) -> None:
        if self._flights.stopped is not None:
            raise fresh(self._flights.stopped)

    async def anywhere(self, work: Coroutine[Any, Any, T]) -> T:
        """Run this in the door's event loop, from any event loop."""
        if asyncio.get_running_loop() is self.loop:
            return await work
        return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(work, self.loop))

    def blocking(self, work: Coroutine[Any, Any, T]) -> T:
        """Run this in the door's event loop, from a thread without one."""
        if threading.get_ident() == self._thread:
            work.close()
            raise RunnerError(
                "A synchronous client of the door was used inside the event loop, which would wait for itself. Use the "
                " asynchronous client there, or call your code in a thread (asyncio.to_thread)."
            )
        return asyncio.run_coroutine_threadsafe(work, self.loop).result()

    async def close(self) -> None:
        """Let what is on the wire land, end the rest, close the ledger; also when hurried by a second Ctrl-C."""
        try:
            await self._flights.finish(CLOSING_GRACE_S)
        finally:
            self.ledger.close()


def _lost_sentence(lost: Lost) -> str:
    were = "one request was" if lost.requests == 1 else f"{lost.requests} requests were"
    return (
        f"{were} under way when an earlier process was killed: the ledger holds them as possibly paid, "
        f"{prices.show(lost.worst_case)} at most. What has no reply is asked again."
    )
