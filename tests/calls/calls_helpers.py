"""What the tests of the door share: requests, doors, and looks into the ledger's file."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

from runner.calls import ChatRequest, Door, ModelEndpoint, open_door
from runner.config.schema import Budget, Calls, Endpoint, Price
from tests.fakes.model_server import ModelServer

T = TypeVar("T")

MODEL = "gpt-4o-mini"
SCHEMA = {
    "type": "object",
    "properties": {"reasoning": {"type": "string"}, "score": {"type": "integer", "enum": [1, 2, 3, 4, 5]}},
    "required": ["reasoning", "score"],
    "additionalProperties": False,
}
KEY = "sk-fake-0123456789abcdef"

DEFAULTS: dict[str, Any] = {"concurrency": 8, "attempt_timeout_s": 30.0, "retries": 2}


def with_door(
    home: Path,
    work: Callable[[Door], Awaitable[T]],
    *,
    cap: float | None = None,
    prices: Sequence[Price] = (),
    sweep: str | None = None,
    metadata: dict[str, str] | None = None,
    **settings: Any,
) -> T:
    """What ``work`` gives with a door of its own."""

    async def main() -> T:
        async with open_door(
            Calls(**(DEFAULTS | settings)), Budget(cap), prices, home=home, sweep=sweep, metadata=metadata
        ) as door:
            return await work(door)

    return asyncio.run(main())


def endpoint(door: Door, server: ModelServer, model: str = MODEL, **more: Any) -> ModelEndpoint:
    return door.endpoint(Endpoint(**({"base_url": server.base_url} | more)), model)


def ask(where: ModelEndpoint, text: str = "When is the form due?", **more: Any) -> ChatRequest:
    fields: dict[str, Any] = {"model": MODEL, "max_tokens": 100, "temperature": 0.0} | more
    return ChatRequest(endpoint=where, messages=({"role": "user", "content": text},), **fields)


def rows(home: Path, columns: str, where: str = "1", table: str = "attempts") -> list[Any]:
    """What the ledger's file holds, read with nothing of ours."""
    with sqlite3.connect(home / "ledger.db") as connection:
        return connection.execute(f"select {columns} from {table} where {where} order by rowid").fetchall()
