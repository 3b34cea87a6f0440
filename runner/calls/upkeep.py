"""Looks after the ledger between sweeps: how large it is, what it has cost, and what may go."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

from sqlalchemy import Engine, delete, func, select
from sqlalchemy.exc import SQLAlchemyError

from runner.calls.ledger.migrations import schema_version
from runner.calls.ledger.storage import LEDGER_FILE, open_engine, storage_error
from runner.calls.ledger.tables import attempts, claims, requests
from runner.records import Usage


@dataclass(frozen=True, slots=True)
class Spending:
    """What some attempts have come to."""

    name: str
    """Of the model, run or stage."""
    calls: int
    """Different keys."""
    attempts: int
    failed: int
    """Attempts without a usable reply."""
    usage: Usage
    cost: Decimal
    """US dollars, as far as prices were known."""
    unpriced: int
    """Attempts with a usage whose price was unknown."""
    possibly_paid: Decimal
    """Worst case of attempts that may have been paid although no answer came."""


@dataclass(frozen=True, slots=True)
class LedgerReport:
    """The ledger at a glance."""

    place: str
    version: int
    size_bytes: int | None
    """Of the files; ``None`` for a database server."""
    calls: int
    attempts: int
    oldest: str
    """When the first attempt was made; empty for an empty ledger."""
    newest: str
    by_model: tuple[Spending, ...]
    """Dearest first."""
    by_run: tuple[Spending, ...]
    """Latest first."""
    by_stage: tuple[Spending, ...]


@dataclass(frozen=True, slots=True)
class Pruned:
    """What was taken away."""

    calls: int
    attempts: int
    freed_bytes: int


def ledger_exists(url: str | None, home: Path) -> bool:
    """Whether there is a ledger to look at; always true for a URL of one's own."""
    return url is not None or (home / LEDGER_FILE).exists()


def ledger_report(url: str | None, home: Path) -> LedgerReport:
    """Size and spending. Raises ConfigurationError and StorageError."""
    engine, place = open_engine(url, home)
    try:
        with engine.connect() as connection:
            version = schema_version(connection)
            rows = connection.execute(select(*_COLUMNS).order_by(attempts.c.id)).all()
            calls = connection.execute(select(func.count(func.distinct(attempts.c.key)))).scalar_one()
    except SQLAlchemyError as error:
        raise storage_error(error, place) from error
    finally:
        engine.dispose()
    latest = {row.run: at for at, row in enumerate(rows)}
    by_run = sorted(_group(rows, lambda row: row.run), key=lambda one: -latest[one.name])
    return LedgerReport(
        place=place,
        version=version,
        size_bytes=_size(place),
        calls=calls,
        attempts=len(rows),
        oldest=min((row.started_at for row in rows), default=""),
        newest=max((row.started_at for row in rows), default=""),
        by_model=tuple(sorted(_group(rows, lambda row: row.model), key=lambda one: -one.cost)),
        by_run=tuple(by_run),
        by_stage=tuple(_group(rows, lambda row: row.stage)),
    )


def prune(
    url: str | None,
    home: Path,
    *,
    before: datetime | None = None,
    run: str | None = None,
    model: str | None = None,
    dry: bool = False,
) -> Pruned:
    """Take whole calls away whose every attempt fits all that is said, and give the space back.

    ``before``: made earlier than this moment. At least one condition must be given. ``dry``: only count. What is taken
    away is paid again when it is asked again. Raises StorageError.
    """
    conditions = []
    if before is not None:
        conditions.append(attempts.c.started_at < before.isoformat(timespec="microseconds"))
    if run is not None:
        conditions.append(attempts.c.run == run)
    if model is not None:
        conditions.append((attempts.c.model == model) | (attempts.c.asked_model == model))
    if not conditions:
        raise ValueError("prune needs a condition")
    engine, place = open_engine(url, home)
    size = _size(place) or 0
    try:
        gone = _take_away(engine, conditions, dry=dry)
        if not dry and engine.dialect.name == "sqlite":
            _give_back_space(engine)
    except SQLAlchemyError as error:
        raise storage_error(error, place) from error
    finally:
        engine.dispose()
    return Pruned(*gone, freed_bytes=max(0, size - (_size(place) or 0)))


_COLUMNS = (
    attempts.c.key, attempts.c.run, attempts.c.model, attempts.c.stage, attempts.c.status, attempts.c.started_at,
    attempts.c.input_tokens, attempts.c.output_tokens, attempts.c.cached_input_tokens, attempts.c.cache_write_tokens,
    attempts.c.reasoning_tokens, attempts.c.total_cost, attempts.c.worst_case, attempts.c.possibly_paid,
)  # fmt: skip


def _take_away(engine: Engine, conditions: Sequence[Any], *, dry: bool) -> tuple[int, int]:
    fits = select(attempts.c.key)
    for condition in conditions:
        fits = fits.where(condition)
    kept = select(attempts.c.key).where(~_all_of(conditions))
    with engine.begin() as connection:
        chosen = attempts.c.key.in_(fits) & attempts.c.key.not_in(kept) & attempts.c.key.not_in(select(claims.c.key))
        found = list(connection.execute(select(attempts.c.key).where(chosen)).scalars())
        keys = [] if dry else list(dict.fromkeys(found))
        for start in range(0, len(keys), 500):
            some = keys[start : start + 500]
            connection.execute(delete(attempts).where(attempts.c.key.in_(some)))
            connection.execute(delete(requests).where(requests.c.key.in_(some)))
    return len(set(found)), len(found)


def _all_of(conditions: Sequence[Any]) -> Any:
    whole = conditions[0]
    for condition in conditions[1:]:
        whole = whole & condition
    return whole


def _give_back_space(engine: Engine) -> None:
    with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        connection.exec_driver_sql("VACUUM")
        connection.exec_driver_sql("PRAGMA wal_checkpoint(TRUNCATE)")


def _group(rows: Iterable[Any], name: Any) -> list[Spending]:
    groups: dict[str, list[Any]] = {}
    for row in rows:
        groups.setdefault(name(row), []).append(row)
    return [_spending(named, members) for named, members in groups.items()]


def _spending(name: str, rows: Sequence[Any]) -> Spending:
    used = [row for row in rows if row.input_tokens is not None]
    usage = Usage(
        input_tokens=sum(row.input_tokens for row in used),
        output_tokens=sum(row.output_tokens or 0 for row in used),
        cached_input_tokens=sum(row.cached_input_tokens or 0 for row in used),
        cache_write_tokens=sum(row.cache_write_tokens or 0 for row in used),
        reasoning_tokens=sum(row.reasoning_tokens or 0 for row in used),
    )
    return Spending(
        name=name,
        calls=len({row.key for row in rows}),
        attempts=len(rows),
        failed=sum(row.status != "ok" for row in rows),
        usage=usage,
        cost=sum((Decimal(row.total_cost) for row in used if row.total_cost is not None), Decimal(0)),
        unpriced=sum(row.total_cost is None for row in used),
        possibly_paid=sum((Decimal(row.worst_case or 0) for row in rows if row.possibly_paid), Decimal(0)),
    )


def _size(place: str) -> int | None:
    files = [Path(place + ending) for ending in ("", "-wal", "-shm")]
    return sum(file.stat().st_size for file in files if file.exists()) if files[0].exists() else None
