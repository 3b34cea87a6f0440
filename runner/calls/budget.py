"""The cap on a whole sweep's spending: the worst case is reserved before the wire, the real price settled after it.

Because a call goes out only when everything spent, everything reserved and its own worst case fit together under the
cap, the cap holds at any number of calls in flight.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections import deque
from collections.abc import Iterable, Sequence
from decimal import Decimal

from runner.calls import prices
from runner.config.schema import Price
from runner.errors import BudgetReached, ConfigurationError, Problem

__all__ = ["Reservation", "SpendingCap"]


class Reservation:
    """Money set aside for one attempt; ended once, by ``settle`` or ``release`` (further calls do nothing)."""

    __slots__ = ("_cap", "_open", "worst")

    def __init__(self, cap: SpendingCap, worst: Decimal) -> None:
        self._cap = cap
        self._open = True
        self.worst = worst
        """US dollars set aside."""

    def settle(self, actual: Decimal | None) -> None:
        """The attempt cost ``actual``; ``None``: nobody knows (cut or timed out), so it counts at its worst case."""
        self._cap._end(self, self.worst if actual is None else actual)

    def release(self) -> None:
        """The attempt never left, or the provider did not take it: it costs nothing."""
        self._cap._end(self, Decimal(0))


class SpendingCap:
    """One for all runs of a sweep; safe from any thread."""

    def __init__(self, max_usd: Decimal | None, already_spent: Decimal = Decimal(0)) -> None:
        """``max_usd``: ``None`` no cap, 0 no paid call. ``already_spent``: by earlier launches under the same cap."""
        self.max_usd = max_usd
        self._lock = threading.Lock()
        self._spent = already_spent
        self._reserved = Decimal(0)
        self._elsewhere = Decimal(0)
        self._watchers: deque[tuple[asyncio.AbstractEventLoop, asyncio.Future[None]]] = deque()

    @property
    def spent(self) -> Decimal:
        """US dollars settled by this process, and what was spent before."""
        return self._spent

    @property
    def reserved(self) -> Decimal:
        """US dollars set aside for attempts in flight."""
        return self._reserved

    @property
    def remaining(self) -> Decimal | None:
        """US dollars that may still be reserved, never negative; ``None`` without a cap."""
        with self._lock:
            return None if self.max_usd is None else max(Decimal(0), self.max_usd - self._committed())

    def check_models(self, models: Iterable[tuple[str, str]], overrides: Sequence[Price] = ()) -> None:
        """Refuse to start with a cap and a (provider, model) whose price nobody knows; names all of them.

        Raises ``ConfigurationError``.
        """
        if self.max_usd is None:
            return
        unknown = sorted({model for provider, model in models if not prices.known(provider, model, overrides)})
        if unknown:
            raise ConfigurationError([_unknown(model) for model in unknown])

    def reserve(self, worst: Decimal | None, model: str) -> Reservation:
        """Set ``worst`` aside for one attempt.

        Raises ``BudgetReached`` where it does not fit any more, and ``ConfigurationError`` for an unknown price
        (``None``) under a cap. A price of 0 always fits.
        """
        if worst is None:
            if self.max_usd is not None:
                raise ConfigurationError([_unknown(model)])
            return Reservation(self, Decimal(0))
        with self._lock:
            if self.max_usd is not None and worst > 0 and self._committed() + worst > self.max_usd:
                raise BudgetReached(self._sentence(worst, model))
            self._reserved += worst
            self._wake(1)  # there may be room for one more
        return Reservation(self, worst)

    def may_fit_later(self, worst: Decimal) -> bool:
        """Whether there is room, now or once calls in flight are settled for less than their worst case.

        Only then is it worth trying again after ``BudgetReached``, after waiting for ``settled``.
        """
        with self._lock:
            return self.max_usd is None or self._spent + self._elsewhere + worst <= self.max_usd

    async def settled(self) -> None:
        """Wait until a reservation ends and there may be room; returns at once where none is open.

        Those who wait are woken one by one, first come first served, so that a thousand of them cost no more than one;
        all of them when nothing is reserved any more, so that nobody waits for what cannot come.
        """
        loop = asyncio.get_running_loop()
        future: asyncio.Future[None] = loop.create_future()
        with self._lock:
            if self._reserved <= 0:
                return
            self._watchers.append((loop, future))
        try:
            await future
        finally:
            with self._lock, contextlib.suppress(ValueError):
                self._watchers.remove((loop, future))

    def note_elsewhere(self, amount: Decimal) -> None:
        """What other processes under the same cap have spent and reserved in all (replaces what was noted before)."""
        with self._lock:
            self._elsewhere = amount

    def _committed(self) -> Decimal:
        return self._spent + self._reserved + self._elsewhere

    def _wake(self, number: int) -> None:
        for _ in range(min(number, len(self._watchers))):
            loop, future = self._watchers.popleft()
            # A closed loop has nobody waiting in it any more.
            with contextlib.suppress(RuntimeError):
                loop.call_soon_threadsafe(_tell, future)

    def _end(self, reservation: Reservation, cost: Decimal) -> None:
        with self._lock:
            if reservation._open:
                reservation._open = False
                self._reserved -= reservation.worst
                self._spent += cost
                self._wake(len(self._watchers) if self._reserved <= 0 else 1)

    def _sentence(self, worst: Decimal, model: str) -> str:
        if self.max_usd == 0:
            return f"budget.max_usd is 0, so no paid call is made, and {model} costs money; raise the cap to go on"
        in_flight = f" and {prices.show(self._reserved)} for calls in flight" if self._reserved else ""
        return (
            f"the budget is reached: {prices.show(self._spent + self._elsewhere)} of {prices.show(self.max_usd)} is "
            f"spent{in_flight}, and the next call to {model} may cost up to {prices.show(worst)}; "
            "raise budget.max_usd and give the same command again: it pays only for the rest"
        )


def _tell(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)


def _unknown(model: str) -> Problem:
    line = f"{{model: {model}, input: ..., output: ...}}"
    remedy = (
        f"write `prices: [{line}]` (US dollars per million tokens) to conf/prices/NAME.yaml, under a first line "
        "`# @package _global_`, and add prices=NAME; or set budget.max_usd=null"
    )
    return Problem("budget.max_usd", f"there is a cap, but the price of {model} is unknown", remedy)
