"""Turns what a dead process had on the wire into rows of the ledger: requests that may have been paid for."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, insert, select

from runner.calls.ledger.tables import attempts
from runner.calls.ledger.wire_log import rows_on_the_wire


@dataclass(frozen=True, slots=True)
class Lost:
    """Requests that were on the wire when their process died."""

    requests: int = 0
    worst_case: Decimal = Decimal(0)
    """US dollars at most, as far as prices are known."""

    def __add__(self, other: Lost) -> Lost:
        return Lost(self.requests + other.requests, self.worst_case + other.worst_case)


def write_lost(connection: Connection, paths: Iterable[Path]) -> Lost:
    """Write the rows that are missing, inside the caller's transaction. A second time there is nothing to write."""
    lost = Lost()
    for path in paths:
        found = {(row.get("key"), row.get("started_at")): row for row in rows_on_the_wire(path)}
        missing = [row for place, row in found.items() if not _written(connection, *place)]
        for row in missing:
            connection.execute(insert(attempts).values(_whole(row)))
            lost += Lost(1, Decimal(row.get("worst_case") or 0))
    return lost


def _written(connection: Connection, key: Any, started_at: Any) -> bool:
    place = (attempts.c.key == key) & (attempts.c.started_at == started_at)
    return connection.execute(select(attempts.c.id).where(place)).first() is not None


def _whole(row: dict[str, Any]) -> dict[str, Any]:
    return {column.name: row.get(column.name) for column in attempts.columns if column.name != "id"}
