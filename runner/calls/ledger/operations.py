"""What is done to the ledger: claims, landed attempts and other pieces of work, many of them in one transaction."""

from __future__ import annotations

import asyncio
import concurrent.futures
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Protocol

from sqlalchemy import Connection, bindparam, delete, insert, select
from sqlalchemy.exc import SQLAlchemyError

from runner.calls.ledger.owners import Owner
from runner.calls.ledger.tables import attempts, claims, requests

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
landed_keys = select(attempts.c.key).where(
    attempts.c.replayed == 1, attempts.c.key.in_(bindparam("keys", expanding=True))
)
"""Those of ``keys`` whose reply is there."""
_held = select(claims.c.key, claims.c.owner).where(claims.c.key.in_(bindparam("keys", expanding=True)))
_known_requests = select(requests.c.key).where(requests.c.key.in_(bindparam("keys", expanding=True)))


def lasting(batch: Sequence[Operation]) -> bool:
    """Whether something in it is worth money: a reply, or a text. Claims and reservations end with their process."""
    return any(
        isinstance(operation, Work) or (isinstance(operation, Landing) and operation.attempt is not None)
        for operation in batch
    )


class Applier:
    """Does operations inside a transaction that it is given."""

    def __init__(self, owner: Owner, bury: Callable[[Connection, set[str]], None]) -> None:
        """``bury`` frees what dead owners held."""
        self._owner = owner
        self._bury = bury

    def apply(self, connection: Connection, batch: Sequence[Operation]) -> list[Any]:
        """A result for each operation; an exception among them is its asker's alone."""
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
        landed = set(connection.execute(landed_keys, {"keys": keys}).scalars())
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
