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

DEFAULT_OUTPUT_LIMIT = 16_384
"""Taken as the worst case of a request that names no output limit (a user's own): the largest of the common models."""


class Hold:
    """Money set aside for one attempt."""

    __slots__ = ("_reservation", "name", "worst")

    def __init__(self, reservation: Reservation, worst: Decimal | None, name: str | None) -> None:
        self._reservation = reservation
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
        self._mine_in_ledger = Decimal(0)

    async def hold(self, provider: str, model: str, *, input_bytes: int, limit: int | None, at: datetime) -> Hold:
        """Set the worst case of one attempt aside. Raises BudgetReached, ConfigurationError for an unknown price."""
        worst = prices.worst_case(
            provider,
            model,
            input_tokens=input_bytes,
            output_tokens=DEFAULT_OUTPUT_LIMIT if limit is None else limit,
            at=at,
            overrides=self._overrides,
        )
        if not self._shared or not worst:
            return Hold(self.cap.reserve(worst, model), worst, None)
        name = uuid.uuid4().hex
        reserved = worst

        def reserve(connection: Connection) -> Reservation:
            # Inside the write transaction nobody else reserves, so that all processes together keep the cap.
            held = connection.execute(
                select(reservations.c.owner, reservations.c.amount).where(reservations.c.sweep == self._sweep)
            ).all()
            spent = connection.execute(
                select(spending.c.amount).where(spending.c.sweep == self._sweep)
            ).scalar_one_or_none()
            all_spent = Decimal(0) if spent is None else Decimal(spent)
            others = sum((Decimal(row.amount) for row in held if row.owner != self._ledger.owner), Decimal(0))
            self.cap.note_elsewhere(max(Decimal(0), all_spent - self._mine_in_ledger) + others)
            reservation = self.cap.reserve(reserved, model)
            row = {"id": name, "owner": self._ledger.owner, "sweep": self._sweep, "amount": str(reserved)}
            connection.execute(insert(reservations).values(row))
            return reservation

        reserving = asyncio.ensure_future(self._ledger.work(reserve))
        try:
            return Hold(await asyncio.shield(reserving), worst, name)
        except asyncio.CancelledError:
            # The reservation is on its way all the same and must be given back.
            reserving.add_done_callback(lambda done: self._never_mind(done, reserved, name))
            raise

    def _never_mind(self, done: asyncio.Future[Reservation], worst: Decimal, name: str) -> None:
        if not done.cancelled() and done.exception() is None and self._ledger.failed is None:
            self.settle(Hold(done.result(), worst, name), Decimal(0))

    def settle(self, hold: Hold, actual: Decimal | None) -> None:
        """The attempt cost ``actual``; ``None``: nobody knows, so it counts at its worst case. Does not wait."""
        hold.settle(actual)
        if hold.name is None:
            return
        cost = hold.worst if actual is None else actual
        name, amount = hold.name, cost or Decimal(0)

        def settle(connection: Connection) -> None:
            connection.execute(delete(reservations).where(reservations.c.id == name))
            add_spending(connection, self._sweep, amount)
            self._mine_in_ledger += amount

        self._ledger.work_soon(settle)
