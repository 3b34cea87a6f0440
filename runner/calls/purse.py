"""The sweep's money: reserves the worst case before the wire and settles after, alone or with other processes."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Sequence
from datetime import datetime
from decimal import Decimal

from sqlalchemy import Connection, delete, insert, select

from runner.calls import prices
from runner.calls.budget import Reservation, SpendingCap
from runner.calls.ledger.ledger import Ledger, add_spending
from runner.calls.ledger.tables import reservations, spending
from runner.config.schema import Budget, Price
from runner.errors import BudgetReached

DEFAULT_OUTPUT_LIMIT = 16_384
"""Taken as the worst case of a request that names no output limit (a user's own): the largest of the common models."""

_NOTHING = Decimal(0)
_ASK_AGAIN_S = 0.1
"""How often to look whether other processes have given money back."""


class Hold:
    """Money set aside for one attempt."""

    __slots__ = ("_reservation", "name", "settled", "worst")

    def __init__(self, reservation: Reservation, worst: Decimal | None, name: str | None) -> None:
        self._reservation = reservation
        self.settled = False
        self.worst = worst
        """US dollars at most; ``None``: price unknown."""
        self.name = name
        """Its name among the reservations in the ledger; ``None`` where no other process needs to know."""

    def settle(self, actual: Decimal | None) -> None:
        self._reservation.settle(actual)


class Purse:
    """One for a door."""

    def __init__(self, budget: Budget, overrides: Sequence[Price], ledger: Ledger, sweep: str, *, shared: bool) -> None:
        cap = None if budget.max_usd is None else Decimal(str(budget.max_usd))
        self.cap = SpendingCap(cap)
        self._overrides = tuple(overrides)
        self._ledger = ledger
        self._sweep = sweep
        self._shared = shared and cap is not None
        self._mine_in_ledger = _NOTHING
        self._all_spent = _NOTHING
        self._others_hold = _NOTHING

    async def hold(self, provider: str, model: str, *, input_bytes: int, limit: int | None, at: datetime) -> Hold:
        """Set the worst case of one attempt aside, waiting where calls under way may give back what it needs.

        Raises BudgetReached, and ConfigurationError for an unknown price under a cap.
        """
        worst = prices.worst_case(
            provider,
            model,
            input_tokens=input_bytes,
            output_tokens=DEFAULT_OUTPUT_LIMIT if limit is None else limit,
            at=at,
            overrides=self._overrides,
        )
        while True:
            try:
                if not self._shared or not worst:
                    return Hold(self.cap.reserve(worst, model), worst, None)
                return await self._hold_among_processes(worst, model)
            except BudgetReached:
                if worst is None:
                    raise
                if self.cap.may_fit_later(worst):
                    await self.cap.settled()
                elif self._others_hold and self._all_spent + worst <= (self.cap.max_usd or _NOTHING):
                    await asyncio.sleep(_ASK_AGAIN_S)
                else:
                    raise

    async def _hold_among_processes(self, worst: Decimal, model: str) -> Hold:
        name = uuid.uuid4().hex

        def reserve(connection: Connection) -> Reservation:
            # Inside the write transaction nobody else reserves, so that all processes together keep the cap.
            rows = connection.execute(
                select(reservations.c.owner, reservations.c.amount).where(reservations.c.sweep == self._sweep)
            ).all()
            spent = connection.execute(
                select(spending.c.amount).where(spending.c.sweep == self._sweep)
            ).scalar_one_or_none()
            self._all_spent = _NOTHING if spent is None else Decimal(spent)
            mine = self._ledger.owner
            self._others_hold = sum((Decimal(row.amount) for row in rows if row.owner != mine), _NOTHING)
            self.cap.note_elsewhere(max(_NOTHING, self._all_spent - self._mine_in_ledger) + self._others_hold)
            reservation = self.cap.reserve(worst, model)
            row = {"id": name, "owner": mine, "sweep": self._sweep, "amount": str(worst)}
            connection.execute(insert(reservations).values(row))
            return reservation

        reserving = asyncio.ensure_future(self._ledger.work(reserve))
        try:
            return Hold(await asyncio.shield(reserving), worst, name)
        except asyncio.CancelledError:
            # The reservation is on its way all the same and must be given back.
            reserving.add_done_callback(lambda done: self._never_mind(done, worst, name))
            raise

    def _never_mind(self, done: asyncio.Future[Reservation], worst: Decimal, name: str) -> None:
        if not done.cancelled() and done.exception() is None and self._ledger.failed is None:
            self.settle(Hold(done.result(), worst, name), _NOTHING)

    def settle(self, hold: Hold, actual: Decimal | None) -> None:
        """The attempt cost ``actual``; ``None``: nobody knows, so it counts at its worst case. Does not wait.

        Only the first word counts, so that a last one can be said in every case.
        """
        if hold.settled:
            return
        hold.settled = True
        hold.settle(actual)
        if hold.name is None or self._ledger.failed is not None:
            return
        cost = hold.worst if actual is None else actual
        name, amount = hold.name, cost or _NOTHING

        def settle(connection: Connection) -> None:
            connection.execute(delete(reservations).where(reservations.c.id == name))
            add_spending(connection, self._sweep, amount)
            self._mine_in_ledger += amount

        self._ledger.work_soon(settle)
