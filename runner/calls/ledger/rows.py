"""One attempt as the ledger holds it, and how it becomes a row of the table and back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from sqlalchemy import RowMapping

from runner.records import Usage

_USAGE = ("input_tokens", "output_tokens", "cached_input_tokens", "cache_write_tokens", "reasoning_tokens")
_MONEY = ("input_cost", "output_cost", "total_cost", "worst_case")


@dataclass(frozen=True, slots=True)
class Attempt:
    """One try of a call on the wire. Money is US dollars; times are seconds or UTC in ISO 8601."""

    key: str
    number: int
    """1 for the first try that this key ever had."""
    status: str
    """``ok`` or a ``Reason``."""
    replayed: bool
    """Whether later calls are answered with this attempt's reply; false for all that are to be asked again."""
    possibly_paid: bool
    """The provider may charge for it although no usage came."""
    http_status: int | None
    """``None`` where no whole reply came."""
    stage: str
    run: str
    question: str
    sweep: str
    provider: str
    asked_model: str
    model: str
    """The model that answered, or the one asked for."""
    usage: Usage | None
    input_cost: Decimal | None
    output_cost: Decimal | None
    total_cost: Decimal | None
    """``None`` with a usage: price unknown. ``None`` without one: see ``possibly_paid``."""
    worst_case: Decimal | None
    """What it could have cost at most; ``None``: price unknown."""
    price_source: str
    started_at: str
    latency_s: float
    request_bytes: int
    sent: str
    """JSON: how what was sent differs from what was meant; ``{}`` where it does not."""
    provider_request_id: str
    detail: str
    response: bytes | None
    """As received; ``None`` where nothing came and for embeddings."""

    def as_row(self) -> dict[str, Any]:
        row: dict[str, Any] = {
            name: getattr(self, name) for name in self.__slots__ if name != "usage" and name not in _MONEY
        }
        row["replayed"] = int(self.replayed)
        row["possibly_paid"] = int(self.possibly_paid)
        for name in _USAGE:
            row[name] = None if self.usage is None else getattr(self.usage, name)
        for name in _MONEY:
            amount = getattr(self, name)
            row[name] = None if amount is None else str(amount)
        return row


def attempt_of(row: RowMapping) -> Attempt:
    """The attempt that a row of the table holds."""
    fields: dict[str, Any] = {str(name): value for name, value in row.items()}
    fields.pop("id", None)
    tokens = [fields.pop(name) for name in _USAGE]
    for name in _MONEY:
        amount = fields[name]
        fields[name] = None if amount is None else Decimal(amount)
    fields["replayed"] = bool(fields["replayed"])
    fields["possibly_paid"] = bool(fields["possibly_paid"])
    usage = None if tokens[0] is None else Usage(*(int(count or 0) for count in tokens))
    return Attempt(usage=usage, **fields)


def final_attempt(attempts: Sequence[Attempt]) -> Attempt | None:
    """The attempt whose reply answers later calls; ``None`` where the key is still to be asked."""
    for attempt in reversed(attempts):
        if attempt.replayed:
            return attempt
    return None
