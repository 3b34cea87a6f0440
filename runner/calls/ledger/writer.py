"""The one writer of the ledger: a thread that commits what waits, all together, and then says so.

Group commit: while one transaction is on its way to the disk, whatever else is to be written queues up and goes
into the next one. Nobody is told of a row before it is on disk.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import queue
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Protocol

from sqlalchemy import Connection, Engine, bindparam, delete, insert, select
from sqlalchemy.exc import SQLAlchemyError

from runner.calls.ledger.owners import RENEW_S, Owner
from runner.calls.ledger.storage import storage_error
from runner.calls.ledger.tables import attempts, claims, requests
from runner.errors import StorageError

_BATCH = 500
"""The most operations in one transaction, so that other processes get their turn."""

Waiter = asyncio.Future[Any] | concurrent.futures.Future[Any]


class ClaimState(StrEnum):
    GRANTED = "granted"
    HELD = "held"
    """Another process is asking for it."""
    LANDED = "landed"
    """Its reply came in since we looked."""


@dataclass(slots=True, eq=False)
class ClaimWanted:
    """Ask for the sole right to send a request."""

    key: str
    sweep: str
    taken_at: str
    again: bool
    """Ask although a reply is there."""
    waiter: Waiter | None = None


@dataclass(slots=True, eq=False)
class Landing:
    """An attempt that ended, and whether the claim on its key ends with it."""

    attempt: Mapping[str, Any] | None
    request: Mapping[str, Any] | None
    """The row of the request, with the first attempt."""
    release: str | None
    """The key whose claim ends."""
    waiter: Waiter | None = None


@dataclass(slots=True, eq=False)
class Work:
    """Anything else that is done inside the writer's transaction."""

    do: Callable[[Connection], Any]
    waiter: Waiter | None = None


class Together(Protocol):
    """Does many pieces of one kind of work in one go."""

    def apply(self, connection: Connection, pieces: Sequence[Any]) -> Sequence[Any]:
        """A result for each piece; an exception among them is raised to its asker alone."""


@dataclass(slots=True, eq=False)
class Piece:
    """A piece of work that is done together with the others of the same ``by`` that wait."""

    by: Together
    content: Any
    waiter: Waiter | None = None


Operation = ClaimWanted | Landing | Work | Piece

_insert_attempt = insert(attempts)
_insert_request = insert(requests)
_insert_claim = insert(claims)
_release_claim = delete(claims).where(claims.c.key == bindparam("released"), claims.c.owner == bindparam("by"))
_landed = select(attempts.c.key).where(attempts.c.replayed == 1, attempts.c.key.in_(bindparam("keys", expanding=True)))
_held = select(claims.c.key, claims.c.owner).where(claims.c.key.in_(bindparam("keys", expanding=True)))
_known_requests = select(requests.c.key).where(requests.c.key.in_(bindparam("keys", expanding=True)))


class Writer:
    """Takes operations from any thread and answers each when it is on disk."""

    def __init__(self, engine: Engine, name: str, owner: Owner, bury: Callable[[Connection, set[str]], None]) -> None:
        self._engine = engine
        self._name = name
        self._owner = owner
        self._bury = bury
        self._queue: queue.SimpleQueue[Operation | None] = queue.SimpleQueue()
        self._failed: StorageError | None = None
        self._closed = False
        self.commits = 0
        """How many transactions there were; fewer than operations, thanks to the group commit."""
        self._thread = threading.Thread(target=self._run, name="runner-ledger", daemon=True)
        self._thread.start()

    @property
    def failed(self) -> StorageError | None:
        """Why nothing can be written any more."""
        return self._failed

    def submit(self, operation: Operation) -> None:
        """Queue an operation. Raises StorageError where the ledger cannot be written any more."""
        if self._failed is not None:
            raise StorageError(str(self._failed))
        if self._closed:
            raise StorageError(f"The ledger {self._name} is closed already: a call came after the end of its sweep.")
        self._queue.put(operation)

    async def wait(self, operation: Operation) -> Any:
        """Queue an operation and wait until it is on disk."""
        operation.waiter = asyncio.get_running_loop().create_future()
        self.submit(operation)
        return await operation.waiter

    def wait_here(self, operation: Operation) -> Any:
        """The same for code outside an event loop."""
        operation.waiter = concurrent.futures.Future()
        self.submit(operation)
        return operation.waiter.result()

    def close(self) -> None:
        """Write what is queued and end the thread."""
        if not self._closed:
            self._closed = True
            self._queue.put(None)
            self._thread.join()

    def _run(self) -> None:
        while True:
            batch, ended = self._next_batch()
            if self._owner.due:
                batch.append(Work(self._owner.renew))
            if batch:
                self._commit(batch)
            if ended:
                return

    def _next_batch(self) -> tuple[list[Operation], bool]:
        batch: list[Operation] = []
        try:
            operation = self._queue.get(timeout=RENEW_S)
            while True:
                if operation is None:
                    return batch, True
                batch.append(operation)
                if len(batch) >= _BATCH:
                    return batch, False
                operation = self._queue.get_nowait()
        except queue.Empty:
            return batch, False

    def _commit(self, batch: list[Operation]) -> None:
        answers: list[tuple[Waiter, Any, BaseException | None]] = []
        try:
            if self._failed is not None:
                raise self._failed
            with self._engine.begin() as connection:
                results = self._apply(connection, batch)
            self.commits += 1
            for operation, result in zip(batch, results, strict=True):
                if operation.waiter is not None:
                    failure = result if isinstance(result, BaseException) else None
                    answers.append((operation.waiter, None if failure else result, failure))
        except BaseException as error:
            if isinstance(error, StorageError):
                failed = error
            elif isinstance(error, SQLAlchemyError | OSError):
                failed = storage_error(error, self._name)
            else:
                failed = StorageError(f"The ledger {self._name} cannot be written: {type(error).__name__}: {error}.")
            self._failed = failed
            answers = [(op.waiter, None, StorageError(str(failed))) for op in batch if op.waiter is not None]
        _answer(answers)

    def _apply(self, connection: Connection, batch: list[Operation]) -> list[Any]:
        landings = [operation for operation in batch if isinstance(operation, Landing)]
        claimed = self._claim(connection, [operation for operation in batch if isinstance(operation, ClaimWanted)])
        self._land(connection, landings)
        together: dict[Together, list[Any]] = {}
        for operation in batch:
            if isinstance(operation, Piece):
                together.setdefault(operation.by, []).append(operation.content)
        done = {by: iter(by.apply(connection, pieces)) for by, pieces in together.items()}
        results: list[Any] = []
        for operation in batch:
            if isinstance(operation, ClaimWanted):
                results.append(claimed[operation.key])
            elif isinstance(operation, Work):
                results.append(_attempted(operation, connection))
            elif isinstance(operation, Piece):
                results.append(next(done[operation.by]))
            else:
                results.append(None)
        return results

    def _claim(self, connection: Connection, wanted: list[ClaimWanted]) -> dict[str, ClaimState]:
        if not wanted:
            return {}
        keys = [claim.key for claim in wanted]
        landed = set(connection.execute(_landed, {"keys": keys}).scalars())
        held: dict[str, str] = dict(connection.execute(_held, {"keys": keys}).tuples().all())
        if held:
            dead = self._owner.dead(connection, set(held.values()) - {self._owner.id})
            if dead:
                self._bury(connection, dead)
                held = {key: owner for key, owner in held.items() if owner not in dead}
        states: dict[str, ClaimState] = {}
        granted = []
        for claim in wanted:
            if claim.key in landed and not claim.again:
                states[claim.key] = ClaimState.LANDED
            elif claim.key in held:
                states[claim.key] = ClaimState.HELD
            else:
                states[claim.key] = ClaimState.GRANTED
                granted.append(
                    {"key": claim.key, "owner": self._owner.id, "sweep": claim.sweep, "taken_at": claim.taken_at}
                )
        if granted:
            connection.execute(_insert_claim, granted)
        return states

    def _land(self, connection: Connection, landings: list[Landing]) -> None:
        asked = {landing.request["key"]: landing.request for landing in landings if landing.request is not None}
        if asked:
            known = set(connection.execute(_known_requests, {"keys": list(asked)}).scalars())
            new = [request for key, request in asked.items() if key not in known]
            if new:
                connection.execute(_insert_request, new)
        rows = [landing.attempt for landing in landings if landing.attempt is not None]
        if rows:
            connection.execute(_insert_attempt, rows)
        released = [{"released": ending.release, "by": self._owner.id} for ending in landings if ending.release]
        if released:
            connection.execute(_release_claim, released)


def _attempted(work: Work, connection: Connection) -> Any:
    """The result of the work; an error that is the asker's own (a cap reached) must not stop the others."""
    try:
        return work.do(connection)
    except SQLAlchemyError:
        raise
    except Exception as error:
        return error


def _answer(answers: list[tuple[Waiter, Any, BaseException | None]]) -> None:
    """Tell those who wait; one wake-up for each event loop."""
    by_loop: dict[asyncio.AbstractEventLoop, list[tuple[asyncio.Future[Any], Any, BaseException | None]]] = {}
    for waiter, result, error in answers:
        if isinstance(waiter, asyncio.Future):
            by_loop.setdefault(waiter.get_loop(), []).append((waiter, result, error))
        elif error is not None:
            waiter.set_exception(error)
        else:
            waiter.set_result(result)
    for loop, group in by_loop.items():
        if not loop.is_closed():
            loop.call_soon_threadsafe(_answer_here, group)


def _answer_here(group: list[tuple[asyncio.Future[Any], Any, BaseException | None]]) -> None:
    for waiter, result, error in group:
        if waiter.done():
            continue
        if error is not None:
            waiter.set_exception(error)
        else:
            waiter.set_result(result)
