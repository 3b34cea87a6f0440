"""What a door has seen so far: calls, tokens and money, also of calls that an error ended half-way."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal

from runner.calls.account import counts
from runner.calls.ledger import Attempt
from runner.records import Call, Usage


@dataclass(frozen=True, slots=True)
class Spent:
    """What a door has seen so far. Money in US dollars."""

    calls_made: int
    """Calls that went to the wire."""
    calls_from_ledger: int
    new_cost: Decimal
    """Paid through this door, as far as prices are known."""
    total_cost: Decimal
    """As if nothing had come from the ledger, as far as prices are known."""
    possibly_paid: Decimal
    """The worst case of attempts that ended without a usage: on top of ``new_cost``, and counted against the cap."""
    usage: Usage
    """Tokens paid for through this door."""
    unknown_prices: tuple[str, ...]
    """Models with calls whose price is unknown; none of their cost is in the sums."""


class Totals:
    """The sums of one door."""

    def __init__(self) -> None:
        self._mine: set[tuple[str, int]] = set()
        self._made = self._replayed = 0
        self.new_cost = self._total = self._possibly_paid = Decimal(0)
        self._usage = Usage()
        self._unknown: set[str] = set()
        self.all_priced = True
        """Whether everything that this door paid for has a known price."""
        self._seen: set[str] = set()

    def add_attempt(self, attempt: Attempt) -> None:
        """An attempt that this door made."""
        self._mine.add((attempt.key, attempt.number))
        if attempt.usage is None:
            if attempt.possibly_paid:
                self._possibly_paid += attempt.worst_case or Decimal(0)
            if counts(attempt):
                self._unknown.add(attempt.model)
                self.all_priced = False
            return
        self._usage += attempt.usage
        if attempt.total_cost is None:
            self._unknown.add(attempt.model)
            self.all_priced = False
        else:
            self.new_cost += attempt.total_cost
            self._total += attempt.total_cost

    def add_call(self, call: Call, attempts: Sequence[Attempt]) -> None:
        """A call that somebody got an answer to; what others paid for it before is part of what it cost in all."""
        if call.from_ledger:
            self._replayed += 1
        else:
            self._made += 1
        if call.key in self._seen:
            return
        self._seen.add(call.key)
        for attempt in attempts:
            if not counts(attempt) or (attempt.key, attempt.number) in self._mine:
                continue
            if attempt.total_cost is None:
                self._unknown.add(attempt.model)
            else:
                self._total += attempt.total_cost

    def spent(self) -> Spent:
        return Spent(
            calls_made=self._made,
            calls_from_ledger=self._replayed,
            new_cost=self.new_cost,
            total_cost=self._total,
            possibly_paid=self._possibly_paid,
            usage=self._usage,
            unknown_prices=tuple(sorted(self._unknown)),
        )
