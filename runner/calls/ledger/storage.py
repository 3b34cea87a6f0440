"""Opens the ledger's database, with sentences for what can be wrong with it."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Engine, create_engine, event
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError, DBAPIError, NoSuchModuleError, SQLAlchemyError

from runner.calls.ledger.migrations import migrate
from runner.errors import ConfigurationError, Problem, StorageError

_BUSY_TIMEOUT_S = 60.0
"""How long a write waits for another process; far longer than any transaction of ours lasts."""

LEDGER_FILE = "ledger.db"


def open_engine(url: str | None, home: Path) -> tuple[Engine, str]:
    """The engine of the ledger, its tables up to date, and its name for messages.

    ``url`` is a SQLAlchemy URL, ``None`` for the file in the home. Raises ConfigurationError for a URL that cannot
    be read, StorageError where the database cannot be opened or written or is newer than this program.
    """
    path = home / LEDGER_FILE if url is None else None
    try:
        parsed = make_url(url) if url is not None else URL.create("sqlite", database=str(path))
    except ArgumentError as error:
        raise ConfigurationError(
            [Problem("calls.ledger", "is not a database URL", "write it like sqlite:///path/to/ledger.db")]
        ) from error
    name = parsed.render_as_string(hide_password=True)
    if parsed.get_backend_name() == "sqlite" and parsed.database and parsed.database != ":memory:":
        path = Path(parsed.database)
        name = str(path)
        _make_folder(path.parent)
    try:
        engine = create_engine(parsed, **_options(parsed.get_backend_name()))
    except (NoSuchModuleError, ImportError) as error:
        raise ConfigurationError(
            [Problem("calls.ledger", f"needs a database driver that is not installed ({error})")]
        ) from error
    if engine.dialect.name == "sqlite":
        event.listen(engine, "connect", _on_connect)
        event.listen(engine, "begin", _on_begin)
    try:
        with engine.begin() as connection:
            migrate(connection, name)
    except SQLAlchemyError as error:
        engine.dispose()
        raise storage_error(error, name) from error
    except BaseException:
        engine.dispose()
        raise
    return engine, name


def storage_error(error: BaseException, name: str) -> StorageError:
    """The sentence for a database error: what happened, where, what to do."""
    cause = error.orig if isinstance(error, DBAPIError) and error.orig is not None else error
    text = str(cause).strip() or type(cause).__name__
    lowered = text.lower()
    if "full" in lowered or "no space" in lowered:
        remedy = (
            "Free some space and start the same command again: what is stored is kept; replies that were under way "
            "may have been paid for and lost."
        )
    elif "readonly" in lowered or "read-only" in lowered or "unable to open" in lowered or "permission" in lowered:
        remedy = "Give yourself write permission there, or choose another place with RUNNER_HOME or calls.ledger."
    elif "not a database" in lowered or "malformed" in lowered:
        remedy = "Move the file away (it is kept as it is) to start with an empty ledger, or restore a copy."
    elif "locked" in lowered:
        remedy = "Another program holds it; close that and start the same command again."
    else:
        remedy = "What is paid so far is kept; start the same command again when the cause is removed."
    return StorageError(f"The ledger {name} cannot be used: {text}. {remedy}")


def is_locked(error: BaseException) -> bool:
    """Whether another process is writing just now."""
    return isinstance(error, DBAPIError) and "locked" in str(error.orig)


@contextmanager
def wait_when_locked(connection: Connection) -> Iterator[None]:
    """Inside this block the connection waits for other processes instead of saying that the database is locked."""
    if connection.dialect.name != "sqlite":
        yield
        return
    raw: Any = connection.connection.driver_connection
    raw.execute(f"PRAGMA busy_timeout = {int(_BUSY_TIMEOUT_S * 1000)}")
    try:
        yield
    finally:
        raw.execute("PRAGMA busy_timeout = 0")


def dont_wait_when_locked(connection: Connection) -> Connection:
    """Let the connection say at once that another process is writing."""
    if connection.dialect.name == "sqlite":
        raw: Any = connection.connection.driver_connection
        raw.execute("PRAGMA busy_timeout = 0")
    return connection


def make_durable(connection: Connection, durable: bool) -> None:
    """Whether the next transaction must survive a power cut; each survives a killed process in any case.

    Call it outside a transaction. Claims need not be durable: after a power cut nobody lives who holds one.
    """
    if connection.dialect.name == "sqlite":
        raw: Any = connection.connection.driver_connection
        raw.execute(f"PRAGMA synchronous = {'FULL' if durable else 'NORMAL'}")


def _make_folder(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StorageError(
            f"The folder {folder} cannot be made: {error.strerror or error}. "
            "Give yourself write permission there, or choose another place with RUNNER_HOME."
        ) from error


def _options(backend: str) -> dict[str, Any]:
    if backend == "sqlite":
        return {"connect_args": {"timeout": _BUSY_TIMEOUT_S}}
    return {"pool_pre_ping": True}


def _on_connect(connection: sqlite3.Connection, _record: object) -> None:
    # Transactions are begun by _on_begin alone: the driver's own habit begins them too late for a lock.
    connection.isolation_level = None
    cursor = connection.cursor()
    _into_wal(cursor)
    # FULL: a reply that was paid for survives a power cut, not only a killed process. Commits are shared by
    # all replies that wait (group commit), so that this costs little.
    cursor.execute("PRAGMA synchronous=FULL")
    cursor.close()


def _into_wal(cursor: sqlite3.Cursor) -> None:
    # The one statement for which SQLite does not wait: two processes that make a ledger together meet here.
    ends = time.monotonic() + _BUSY_TIMEOUT_S
    while True:
        try:
            cursor.execute("PRAGMA journal_mode=WAL")
            return
        except sqlite3.OperationalError as error:
            if "locked" not in str(error) or time.monotonic() > ends:
                raise
            time.sleep(0.05)


def _on_begin(connection: Any) -> None:
    if connection.get_execution_options().get("isolation_level") == "AUTOCOMMIT":
        return  # a reader: each question sees what is committed by then
    # IMMEDIATE: take the write lock first, so that what a transaction reads is still true when it writes.
    connection.exec_driver_sql("BEGIN IMMEDIATE")
