"""The sweep's money: reserves the worst case before the wire and settles after, alone or with other processes."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Any

from sqlalchemy import Connection, insert, select, update

from runner.calls import prices
from runner.calls.budget import Reservation, SpendingCap
from runner.calls.ledger.ledger import Ledger, add_spending
from runner.calls.ledger.tables import reservations, spending
from runner.config.schema import Budget, Price
from runner.errors import BudgetReached, RunnerError

DEFAULT_OUTPUT_LIMIT = 16_384
"""Taken as the worst case of a request that names no output limit (a user's own): the largest of the common models."""

_NOTHING = Decimal(0)
_ASK_AGAIN_S = 0.1
"""How often to look whether other processes have given money back."""


@dataclass(frozen=True, slots=True)
class _Reserve:
    worst: Decimal
    model: str


@dataclass(frozen=True, slots=True)
class _Settle:
    worst: Decimal
    cost: Decimal


class Hold:
    """Money set aside for one attempt."""

    __slots__ = ("_reservation", "settled", "worst")

    def __init__(self, reservation: Reservation, worst: Decimal | None) -> None:
        self._reservation = reservation
        self.settled = False
        self.worst = worst
        """US dollars at most; ``None``: price unknown."""

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
        self._my_spending = _NOTHING
        self._my_holds = _NOTHING
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
                    return Hold(self.cap.reserve(worst, model), worst)
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
        reserving = asyncio.ensure_future(self._ledger.piece(self, _Reserve(worst, model)))
        try:
            return Hold(await asyncio.shield(reserving), worst)
        except asyncio.CancelledError:
            # The reservation is on its way all the same and must be given back.
            reserving.add_done_callback(lambda done: self._never_mind(done, worst))
            raise

    def _never_mind(self, done: asyncio.Future[Reservation], worst: Decimal) -> None:
        if not done.cancelled() and done.exception() is None:
            self.settle(Hold(done.result(), worst), _NOTHING)

    def settle(self, hold: Hold, actual: Decimal | None) -> None:
        """The attempt cost ``actual``; ``None``: nobody knows, so it counts at its worst case. Does not wait.

        Only the first word counts, so that a last one can be said in every case.
        """
        if hold.settled:
            return
        hold.settled = True
        hold.settle(actual)
        if self._shared and hold.worst and self._ledger.failed is None:
            self._ledger.piece_soon(self, _Settle(hold.worst, hold.worst if actual is None else actual))

    def apply(self, connection: Connection, pieces: Sequence[Any]) -> Sequence[Any]:
        """Reserve and settle inside the ledger's write transaction, where no other process does.

        So all processes together keep the cap. One row says what this process holds, whatever the number of calls.
        """
        mine = self._ledger.owner
        of_this_sweep = reservations.c.sweep == self._sweep
        held = connection.execute(select(reservations.c.owner, reservations.c.amount).where(of_this_sweep)).all()
        spent = connection.execute(select(spending.c.amount).where(spending.c.sweep == self._sweep)).scalar()
        self._all_spent = _NOTHING if spent is None else Decimal(spent)
        self._others_hold = sum((Decimal(row.amount) for row in held if row.owner != mine), _NOTHING)
        self.cap.note_elsewhere(max(_NOTHING, self._all_spent - self._my_spending) + self._others_hold)
        results: list[Any] = []
        settled = _NOTHING
        for piece in pieces:
            if isinstance(piece, _Settle):
                self._my_holds -= piece.worst
                settled += piece.cost
                results.append(None)
                continue
            try:
                results.append(self.cap.reserve(piece.worst, piece.model))
                self._my_holds += piece.worst
            except RunnerError as error:
                results.append(error)
        row = {"id": f"{mine}:{self._sweep}", "owner": mine, "sweep": self._sweep, "amount": str(self._my_holds)}
        if any(one.owner == mine for one in held):
            connection.execute(update(reservations).where(reservations.c.id == row["id"]).values(amount=row["amount"]))
        else:
            connection.execute(insert(reservations).values(row))
        if settled:
            add_spending(connection, self._sweep, settled)
            self._my_spending += settled
        return results
