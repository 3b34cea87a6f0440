"""The ledger: the store of calls. Finds what is there, grants the right to ask, and lands what came.

It knows nothing of models, prices or the wire; see ``door`` for the way of a call.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
from collections.abc import Callable, Collection, Iterable, Mapping
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Select, bindparam, delete, insert, select, update
from sqlalchemy.exc import SQLAlchemyError

from runner.calls.ledger.lost import Lost, write_lost
from runner.calls.ledger.operations import (
    Applier,
    ClaimState,
    ClaimWanted,
    Landing,
    Piece,
    Together,
    Work,
    landed_keys,
)
from runner.calls.ledger.owners import Owner, wire_file
from runner.calls.ledger.rows import Attempt, attempt_of
from runner.calls.ledger.storage import open_engine, storage_error
from runner.calls.ledger.tables import attempts, claims, owners, reservations, spending, texts
from runner.calls.ledger.wire_log import WireLog, remove
from runner.calls.ledger.writer import Writer
from runner.errors import StorageError

OWNERS_FOLDER = "owners"

_find = select(attempts).where(attempts.c.key.in_(bindparam("keys", expanding=True))).order_by(attempts.c.id)
_MANY = 500
"""Keys in one question to the database."""

Found = tuple[Attempt, ...]


def now() -> str:
    """UTC, ISO 8601, to the microsecond."""
    return datetime.now(UTC).isoformat(timespec="microseconds")


class Ledger:
    """One process's hold on the ledger. Use ``await find`` inside the event loop that opened it."""

    def __init__(self, url: str | None, home: Path) -> None:
        """Open the ledger, make or update its tables. Raises ConfigurationError and StorageError."""
        self._engine, self.name = open_engine(url, home)
        try:
            self._owner = Owner(home / OWNERS_FOLDER)
        except OSError as error:
            self._engine.dispose()
            raise StorageError(
                f"The folder {home / OWNERS_FOLDER} cannot be written: {error.strerror or error}. "
                "Give yourself write permission there, or choose another place with RUNNER_HOME."
            ) from error
        self._reader: Connection | None = None
        self._asked: dict[str, list[asyncio.Future[Found]]] = {}
        self._wire_log = WireLog(self._owner.wire_file)
        self._buried: list[Path] = []
        self.lost = Lost()
        """What dead processes had on the wire, as far as this one was the first to see it."""
        self._writer = Writer(self._engine, self.name, self._owner, Applier(self._owner, self._bury))
        try:
            self._writer.wait_here(Work(self._enter))
            self._remove_buried()
        except BaseException:
            self.close()
            raise

    # --- reading -----------------------------------------------------------------------------------------------

    async def find(self, key: str) -> Found:
        """All attempts of a key, oldest first. Questions of one turn of the event loop are asked together."""
        future: asyncio.Future[Found] = asyncio.get_running_loop().create_future()
        if not self._asked:
            asyncio.get_running_loop().call_soon(self._answer_asked)
        self._asked.setdefault(key, []).append(future)
        return await future

    def held(self, keys: Collection[str]) -> set[str]:
        """Those keys whose reply is there. Use it where ``find`` may be used."""
        found: set[str] = set()
        try:
            for some in _portions(list(keys)):
                found.update(self._reading().execute(landed_keys, {"keys": some}).scalars())
        except SQLAlchemyError as error:
            raise storage_error(error, self.name) from error
        return found

    def read(self, query: Select[Any]) -> list[Any]:
        """The rows of a question of another kind, such as a sum."""
        try:
            with self._engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
                return list(connection.execute(query).all())
        except SQLAlchemyError as error:
            raise storage_error(error, self.name) from error

    def _reading(self) -> Connection:
        """The event loop's own connection: to open one takes longer than to ask."""
        if self._reader is None:
            self._reader = self._engine.connect().execution_options(isolation_level="AUTOCOMMIT")
        return self._reader

    def _answer_asked(self) -> None:
        asked, self._asked = self._asked, {}
        found: dict[str, list[Attempt]] = {key: [] for key in asked}
        try:
            for some in _portions(list(asked)):
                for row in self._reading().execute(_find, {"keys": some}).mappings():
                    found[row["key"]].append(attempt_of(row))
        except SQLAlchemyError as error:
            failure = storage_error(error, self.name)
            for waiters in asked.values():
                for waiter in waiters:
                    if not waiter.done():
                        waiter.set_exception(failure)
            return
        for key, waiters in asked.items():
            for waiter in waiters:
                if not waiter.done():
                    waiter.set_result(tuple(found[key]))

    # --- the way of a call -------------------------------------------------------------------------------------

    async def claim(self, key: str, *, sweep: str, again: bool) -> ClaimState:
        """Ask for the sole right to send a request; ``again``: also where its reply is there already."""
        state: ClaimState = await self._writer.wait(ClaimWanted(key, sweep, now(), again))
        return state

    def going_out(self, attempt: Attempt) -> None:
        """Note that a request goes out now, and what its row is to be should this process die. Raises StorageError."""
        self._wire_log.out(attempt.as_row())

    async def land(self, attempt: Attempt, request: Mapping[str, Any] | None, *, release: bool) -> None:
        """Put an attempt on disk; returns when it is there."""
        await self._writer.wait(Landing(attempt.as_row(), request, attempt.key if release else None))
        self._wire_log.landed(attempt.key, attempt.number)

    def land_soon(self, attempt: Attempt | None, request: Mapping[str, Any] | None, *, release: str | None) -> None:
        """The same for code that must not wait, because it is being cancelled."""
        self._writer.submit(Landing(None if attempt is None else attempt.as_row(), request, release))

    async def piece(self, by: Together, content: Any) -> Any:
        """Have a piece of work done together with those of the same ``by`` that wait."""
        return await self._writer.wait(Piece(by, content))

    def piece_soon(self, by: Together, content: Any) -> None:
        """The same without waiting for it."""
        self._writer.submit(Piece(by, content))

    def work_here(self, do: Callable[[Connection], Any]) -> Any:
        """The same for code outside the event loop."""
        return self._writer.wait_here(Work(do))

    @property
    def owner(self) -> str:
        """This process's name in the ledger."""
        return self._owner.id

    @property
    def failed(self) -> StorageError | None:
        """Why nothing can be written any more; ``None`` while all is well."""
        return self._writer.failed

    @property
    def commits(self) -> int:
        """How many transactions were written."""
        return self._writer.commits

    # --- texts -------------------------------------------------------------------------------------------------

    def remember_text(self, kind: str, name: str, version: str, text: str, *, replace: bool = False) -> str | None:
        """Note which text a version has. Returns the text that it had before, if that was another one.

        ``replace``: note the new text in place of the old one.
        """
        digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
        place = (texts.c.kind == kind) & (texts.c.id == name) & (texts.c.version == version)

        def compare(connection: Connection) -> str | None:
            known = connection.execute(select(texts.c.hash, texts.c.text).where(place)).one_or_none()
            if known is None:
                row = {"kind": kind, "id": name, "version": version, "hash": digest, "text": text, "first_seen": now()}
                connection.execute(insert(texts).values(row))
                return None
            if known.hash == digest:
                return None
            if replace:
                connection.execute(update(texts).where(place).values(hash=digest, text=text, first_seen=now()))
            return str(known.text)

        before: str | None = self.work_here(compare)
        return before

    def text_versions(self, kind: str, name: str) -> frozenset[str]:
        """The versions that have a text."""
        wanted = select(texts.c.version).where((texts.c.kind == kind) & (texts.c.id == name))
        return frozenset(self.work_here(lambda connection: list(connection.execute(wanted).scalars())))

    # --- the end -----------------------------------------------------------------------------------------------

    def _enter(self, connection: Connection) -> None:
        self._owner.enter(connection)
        others = set(connection.execute(select(owners.c.id).where(owners.c.id != self._owner.id)).scalars())
        dead = self._owner.dead(connection, others) if others else set()
        if dead:
            self._bury(connection, dead)

    def _bury(self, connection: Connection, dead: set[str]) -> None:
        """Write down what dead owners had on the wire, and free what they held."""
        files = connection.execute(select(owners.c.lock_file).where(owners.c.id.in_(dead))).scalars().all()
        paths = [wire_file(name) for name in files]
        self.lost += write_lost(connection, paths)
        # Only when the rows are safe; till then they may be read once more.
        self._buried.extend(paths)
        self._free(connection, dead)

    def _free(self, connection: Connection, gone: set[str]) -> None:
        """Free what owners held; what they had set aside counts as spent."""
        left = connection.execute(
            select(reservations.c.sweep, reservations.c.amount).where(reservations.c.owner.in_(gone))
        ).all()
        for sweep, amount in left:
            add_spending(connection, sweep, Decimal(amount))
        connection.execute(delete(reservations).where(reservations.c.owner.in_(gone)))
        connection.execute(delete(claims).where(claims.c.owner.in_(gone)))
        connection.execute(delete(owners).where(owners.c.id.in_(gone)))

    def _remove_buried(self) -> None:
        while self._buried:
            remove(self._buried.pop())

    def close(self) -> None:
        """Write what is queued and let go. What this process still claims is freed."""
        if self._writer.failed is None:
            mine = self._owner.id

            def leave(connection: Connection) -> None:
                self._free(connection, {mine})

            with contextlib.suppress(StorageError):
                self._writer.submit(Work(leave))
        self._writer.close()
        settled = self._writer.failed is None
        self._wire_log.close(settled=settled)
        if settled:
            self._remove_buried()
        if self._reader is not None:
            self._reader.close()
            self._reader = None
        self._engine.dispose()
        self._owner.close()


def add_spending(connection: Connection, sweep: str, amount: Decimal) -> Decimal:
    """Add to what a sweep has spent, inside the caller's transaction; returns the new sum."""
    known = connection.execute(select(spending.c.amount).where(spending.c.sweep == sweep)).scalar_one_or_none()
    total = amount + (Decimal(known) if known is not None else Decimal(0))
    if known is None:
        connection.execute(insert(spending).values(sweep=sweep, amount=str(total)))
    else:
        connection.execute(update(spending).where(spending.c.sweep == sweep).values(amount=str(total)))
    return total


def _portions(keys: list[str]) -> Iterable[list[str]]:
    return (keys[start : start + _MANY] for start in range(0, len(keys), _MANY))
