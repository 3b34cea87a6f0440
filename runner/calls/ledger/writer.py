"""The one writer of the ledger: commits what waits, all together, and then says so.

Group commit: whatever is to be written at the same time goes to the disk in one transaction. Nobody is told of a row
before it is there.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextlib
import queue
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Engine
from sqlalchemy.exc import SQLAlchemyError

from runner.calls.ledger.operations import Applier, Operation, Waiter, Work, lasting
from runner.calls.ledger.owners import RENEW_S, Owner
from runner.calls.ledger.storage import dont_wait_when_locked, is_locked, make_durable, storage_error, wait_when_locked
from runner.errors import StorageError

_SLOW_S = 0.010
"""Commits that take longer than this hold the event loop up more than handing them to a thread does: a thread's takes
20 ms until it is heard of (measured with a busy loop), the loop's own 5 ms at 1 ms a commit."""
_FAST_S = 0.005
_WEIGHT = 0.1
"""Of the latest commit in the average."""


@dataclass(slots=True)
class _Batch:
    """What goes into one transaction."""

    operations: list[Operation]
    results: Sequence[Any] | None
    """Where it has been done already and only the commit is missing."""


class Writer:
    """Takes operations from any thread and answers each when it is on disk.

    The event loop that made it does the work, once a turn for all that the turn brought: a thread would wait for
    Python's lock at every row while the loop is busy (50 ms a batch, measured, against 1 ms). Only what may take long
    without that lock goes to the thread: commits on a slow disk, and waiting for another process. Without an event
    loop the thread does it all.
    """

    def __init__(self, engine: Engine, name: str, owner: Owner, applier: Applier) -> None:
        self._name = name
        self._owner = owner
        self._applier = applier
        self._engine = engine
        self._connection: Connection | None = None
        self._loop = running_loop()
        self._loop_thread = threading.get_ident()
        self._turn: list[Operation] = []
        self._handed_over: concurrent.futures.Future[None] | None = None
        self._queue: queue.SimpleQueue[_Batch | Operation | None] = queue.SimpleQueue()
        self._failed: StorageError | None = None
        self._closed = False
        self._fast = engine.dialect.name == "sqlite"
        self._commit_s = 0.0
        self._durable = True
        self.commits = 0
        """How many transactions there were; fewer than operations, thanks to the group commit."""
        self._thread = threading.Thread(target=self._run, name="runner-ledger", daemon=True)
        self._thread.start()

    # --- from outside --------------------------------------------------------------------------------------------

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
        if self._loop is None:
            self._queue.put(operation)
        elif threading.get_ident() == self._loop_thread:
            self._add(operation)
        else:
            self._loop.call_soon_threadsafe(self._add, operation)

    async def wait(self, operation: Operation) -> Any:
        """Queue an operation and wait until it is on disk."""
        operation.waiter = asyncio.get_running_loop().create_future()
        self.submit(operation)
        return await operation.waiter

    def wait_here(self, operation: Operation) -> Any:
        """The same for code that cannot wait in an event loop."""
        operation.waiter = concurrent.futures.Future()
        self.submit(operation)
        if self._loop is not None and threading.get_ident() == self._loop_thread:
            self._finish_turn()
        return operation.waiter.result()

    def close(self) -> None:
        """Write what is queued and end the thread. Called where the writer was made."""
        if self._closed:
            return
        self._finish_turn()
        self._closed = True
        self._queue.put(None)
        self._thread.join()
        if self._connection is not None:
            self._connection.close()

    # --- in the event loop ---------------------------------------------------------------------------------------

    def _add(self, operation: Operation) -> None:
        if self._closed:
            # It was on its way here from the thread while the ledger was closed.
            answer([operation], [StorageError(f"The ledger {self._name} is closed already.")])
            return
        if not self._turn and self._loop is not None:
            self._loop.call_soon(self._end_turn)
        self._turn.append(operation)

    def _end_turn(self) -> None:
        """Do what this turn of the loop brought; while a batch is with the thread, the next one gathers."""
        if self._closed or not self._turn or (self._handed_over is not None and not self._handed_over.done()):
            return
        batch, self._turn = _Batch(self._turn, None), []
        if self._owner.due:
            batch.operations.append(Work(self._owner.renew))
        try:
            self._check()
            connection = self._open(batch)
            try:
                connection.begin()
            except SQLAlchemyError as error:
                if not is_locked(error):
                    raise
                self._hand_over(batch)
                return
            batch.results = self._applier.apply(connection, batch.operations)
            if self._durable and not self._fast:
                self._hand_over(batch)
                return
            self._commit(connection)
        except BaseException as error:
            self._fail(batch, error)
        else:
            answer(batch.operations, batch.results)

    def _hand_over(self, batch: _Batch) -> None:
        self._handed_over = concurrent.futures.Future()
        self._queue.put(batch)

    def _finish_turn(self) -> None:
        """Everything, now, while the loop waits."""
        while True:
            if self._handed_over is not None:
                self._handed_over.result()
            if not self._turn:
                return
            self._end_turn()

    # --- in the thread -------------------------------------------------------------------------------------------

    def _run(self) -> None:
        while True:
            try:
                item = self._queue.get(timeout=RENEW_S)
            except queue.Empty:
                self._renew()
                continue
            if item is None:
                return
            if isinstance(item, _Batch):
                self._finish(item)
                if self._handed_over is not None:
                    self._handed_over.set_result(None)
                if self._loop is not None:
                    with contextlib.suppress(RuntimeError):  # the loop has ended
                        self._loop.call_soon_threadsafe(self._end_turn)
            else:
                self._finish(_Batch([item, Work(self._owner.renew)] if self._owner.due else [item], None))

    def _finish(self, batch: _Batch) -> None:
        try:
            self._check()
            if batch.results is None:
                connection = self._open(batch)
                with wait_when_locked(connection):
                    connection.begin()
                batch.results = self._applier.apply(connection, batch.operations)
            self._commit(self._connection)
        except BaseException as error:
            self._fail(batch, error)
        else:
            answer(batch.operations, batch.results)

    def _renew(self) -> None:
        # A loop that has ended without closing its door has no calls to claim any more.
        with contextlib.suppress(StorageError, RuntimeError):
            self.submit(Work(self._owner.renew))

    # --- in either -----------------------------------------------------------------------------------------------

    def _check(self) -> None:
        if self._failed is not None:
            raise StorageError(str(self._failed))

    def _open(self, batch: _Batch) -> Connection:
        """The writer's one connection, before a transaction."""
        if self._connection is None:
            self._connection = dont_wait_when_locked(self._engine.connect())
        durable = lasting(batch.operations)
        if durable is not self._durable:
            make_durable(self._connection, durable)
            self._durable = durable
        return self._connection

    def _commit(self, connection: Connection | None) -> None:
        transaction = None if connection is None else connection.get_transaction()
        if transaction is None:
            raise RuntimeError("nothing was begun that could be committed")
        began = time.perf_counter()
        transaction.commit()
        self.commits += 1
        if not self._durable:
            return
        self._commit_s += _WEIGHT * (time.perf_counter() - began - self._commit_s)
        self._fast = self._commit_s < (_SLOW_S if self._fast else _FAST_S)

    def _fail(self, batch: _Batch, error: BaseException) -> None:
        """A ledger that cannot be written once is not written again: nobody may be told what is not on disk."""
        if isinstance(error, StorageError):
            failed = error
        elif isinstance(error, SQLAlchemyError | OSError):
            failed = storage_error(error, self._name)
        else:
            failed = StorageError(f"The ledger {self._name} cannot be written: {type(error).__name__}: {error}.")
        self._failed = failed
        if self._connection is not None:
            self._connection.invalidate()
        answer(batch.operations, [StorageError(str(failed)) for _ in batch.operations])


def answer(operations: Sequence[Operation], results: Sequence[Any]) -> None:
    """Tell those who wait, each loop's in one go; a result that is an exception is raised to its asker."""
    here = running_loop()
    elsewhere: dict[asyncio.AbstractEventLoop, list[tuple[Waiter, Any]]] = {}
    for operation, result in zip(operations, results, strict=True):
        waiter = operation.waiter
        if waiter is None:
            continue
        if isinstance(waiter, asyncio.Future) and waiter.get_loop() is not here:
            elsewhere.setdefault(waiter.get_loop(), []).append((waiter, result))
        else:
            _resolve(waiter, result)
    for loop, group in elsewhere.items():
        if not loop.is_closed():
            loop.call_soon_threadsafe(_resolve_all, group)


def _resolve_all(group: list[tuple[Waiter, Any]]) -> None:
    for waiter, result in group:
        _resolve(waiter, result)


def _resolve(waiter: Waiter, result: Any) -> None:
    if waiter.done():
        return
    if isinstance(result, BaseException):
        waiter.set_exception(result)
    else:
        waiter.set_result(result)


def running_loop() -> asyncio.AbstractEventLoop | None:
    """The event loop of this thread, if one is running."""
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None
