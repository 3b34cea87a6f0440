"""Single flight: equal requests are one call while it is under way, whoever asks, in this process or another."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace

from runner.calls.asks import Ask, Landed
from runner.calls.deadlines import clock
from runner.calls.ledger import Attempt, ClaimState, Found, Ledger, final_attempt
from runner.errors import RunnerError, StorageError
from runner.records import Reason

_POLL_S = 0.05
"""How often the ledger is asked for a reply that another process is waiting for."""

_RECLAIM_EVERY = 10
"""After so many polls the claim is asked for again: its owner may have failed or died."""


class Flight:
    """One call under way, and those who wait for it."""

    def __init__(self, ask: Ask, found: Found, *, again: bool) -> None:
        self.ask = ask
        self.found = found
        """What the ledger had before."""
        self.again = again
        self.new: list[Attempt] = []
        """What this flight has made, landed on disk or about to."""
        self.on_wire = False
        self.cancelled_for = Reason.INTERRUPTED
        """Why, should it be cancelled."""
        self.waiting = 0
        self.landed: asyncio.Future[Landed] = asyncio.get_running_loop().create_future()
        self.task: asyncio.Task[None] | None = None

    @property
    def abandoned(self) -> bool:
        """Nobody waits for it any more."""
        return self.waiting == 0

    def end(self, result: Landed | RunnerError) -> None:
        """Tell those who wait, once."""
        if self.landed.done():
            return
        if isinstance(result, Landed):
            self.landed.set_result(result)
        else:
            self.landed.set_exception(result)
            self.landed.exception()  # those who have left already will not ask

    def so_far(self, reason: str, detail: str, body: bytes | None = None) -> Landed:
        new = tuple(self.new)
        # A reply that is not kept is asked for anew each time: what was paid before belongs to other calls.
        attempts = (*self.found, *new) if self.ask.replayable else new
        return Landed(attempts, new, reason, detail, body)


class Flights:
    """All calls under way of one door."""

    def __init__(self, ledger: Ledger, sweep: str, attempt: Callable[[Flight], Awaitable[Landed]]) -> None:
        """``attempt`` makes the attempts of a flight whose key is ours to ask."""
        self._ledger = ledger
        self._sweep = sweep
        self._attempt = attempt
        self._flights: dict[str, Flight] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self.stopped: RunnerError | None = None

    def under_way(self, key: str) -> Flight | None:
        return self._flights.get(key)

    def start(self, ask: Ask, found: Found, *, again: bool) -> Flight:
        flight = Flight(ask, found, again=again)
        self._flights[ask.key] = flight
        flight.task = asyncio.get_running_loop().create_task(self._fly(flight))
        self._tasks.add(flight.task)
        flight.task.add_done_callback(self._tasks.discard)
        return flight

    async def join(self, flight: Flight, deadline: float | None, *, leader: bool) -> Landed:
        """Wait for a flight, until ``deadline`` (on the clock of ``deadlines``) at most.

        When nobody waits any more, the flight is cancelled. Raises what ended it.
        """
        flight.waiting += 1
        try:
            if deadline is None:
                landed = await asyncio.shield(flight.landed)
            else:
                while not flight.landed.done():
                    left = deadline - clock.now()
                    if left <= 0:
                        return await self._late(flight, leader=leader)
                    # Looked at again at its end: the clock may have stood still meanwhile.
                    await asyncio.wait({flight.landed}, timeout=left)
                landed = flight.landed.result()
        except asyncio.CancelledError:
            # What is on the wire is paid for already: it may still land, and is ended with the door at the latest.
            if flight.waiting == 1 and not flight.on_wire:
                self._cancel(flight, Reason.INTERRUPTED)
            raise
        finally:
            flight.waiting -= 1
        # Only one of those who waited has paid for it.
        return landed if leader else replace(landed, new=())

    async def _late(self, flight: Flight, *, leader: bool) -> Landed:
        if flight.waiting == 1 and flight.task is not None:
            self._cancel(flight, Reason.TIMEOUT)
            await asyncio.wait({flight.task})
        left = flight.so_far(Reason.TIMEOUT, "the question's deadline (calls.question_deadline_s) passed")
        return left if leader else replace(left, new=())

    def _cancel(self, flight: Flight, reason: Reason) -> None:
        if flight.task is not None and not flight.task.done():
            flight.cancelled_for = reason
            # Whoever asks from now on starts a flight of his own.
            if self._flights.get(flight.ask.key) is flight:
                del self._flights[flight.ask.key]
            flight.task.cancel()

    def stop(self, reason: RunnerError) -> None:
        """Nothing goes out any more: all who wait hear of it now. What is on the wire may still land in the ledger."""
        if self.stopped is None:
            self.stopped = reason
        for flight in list(self._flights.values()):
            flight.end(fresh(reason))
            if not flight.on_wire:
                self._cancel(flight, Reason.INTERRUPTED)

    async def finish(self, grace_s: float) -> None:
        """Give what is on the wire a moment to land, then cancel it."""
        on_wire = {flight.task for flight in self._flights.values() if flight.task is not None and flight.on_wire}
        if on_wire:
            await asyncio.wait(on_wire, timeout=grace_s)
        for flight in list(self._flights.values()):
            self._cancel(flight, Reason.INTERRUPTED)
        if self._tasks:
            await asyncio.wait(set(self._tasks))

    async def _fly(self, flight: Flight) -> None:
        key = flight.ask.key
        try:
            flight.end(await self._fly_once_ours(flight))
        except asyncio.CancelledError:
            flight.end(flight.so_far(flight.cancelled_for, "the call was given up"))
            raise
        except StorageError as error:
            self.stop(error)
            flight.end(error)
        except RunnerError as error:
            flight.end(error)
        except Exception as error:
            # A fault of ours: whoever waits shall see it as it is.
            if flight.landed.done():
                raise
            flight.landed.set_exception(error)
        finally:
            if self._flights.get(key) is flight:
                del self._flights[key]

    async def _fly_once_ours(self, flight: Flight) -> Landed:
        ask = flight.ask
        polls, lost = 0, self._ledger.lost
        while True:
            state = await self._claim(flight)
            if state is ClaimState.GRANTED:
                break
            while True:
                if state is ClaimState.HELD:
                    await asyncio.sleep(_POLL_S)
                found = await self._ledger.find(ask.key)
                if len(found) > len(flight.found) and final_attempt(found) is not None:
                    return Landed(found)
                polls += 1
                if state is ClaimState.LANDED or polls % _RECLAIM_EVERY == 0:
                    break
        if polls or self._ledger.lost != lost:
            # The one who held it may have tried and failed meanwhile, or died.
            flight.found = await self._ledger.find(ask.key)
        return await self._attempt(flight)

    async def _claim(self, flight: Flight) -> ClaimState:
        key = flight.ask.key
        claiming = asyncio.ensure_future(self._ledger.claim(key, sweep=self._sweep, again=flight.again))
        try:
            return await asyncio.shield(claiming)
        except asyncio.CancelledError:
            # The claim is on its way and must be given back.
            self._ledger.land_soon(None, None, release=key)
            claiming.cancel()
            raise


def fresh(error: RunnerError) -> RunnerError:
    """The same error once more: one that many raise would gather the tracebacks of all of them."""
    return type(error)(*error.args)
