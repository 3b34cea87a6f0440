"""A process with a door of its own: asks COUNT questions and prints each answer. Started, and killed, by tests.

python -m tests.calls.door_process HOME BASE_URL COUNT CONCURRENCY [CAP SWEEP]
"""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

from runner.calls import Door, Reply, open_door
from runner.config.schema import Budget, Calls, Endpoint
from runner.errors import BudgetReached
from tests.calls.calls_helpers import MODEL, ask


async def main(home: Path, base_url: str, count: int, concurrency: int, cap: float | None, sweep: str | None) -> None:
    async with open_door(
        Calls(concurrency=concurrency, attempt_timeout_s=60), Budget(cap), [], home=home, sweep=sweep
    ) as door:
        where = door.endpoint(Endpoint(base_url=base_url), MODEL)
        print("ready", flush=True)

        async def one(door: Door, number: int) -> None:
            try:
                reply: Reply = await door.chat(ask(where, f"question {number}"))
            except BudgetReached:
                print("budget", number, flush=True)
                return
            print("answer", number, reply.status, reply.call.from_ledger, reply.call.new_cost, flush=True)

        await asyncio.gather(*(one(door, number) for number in range(count)))
        print("spent", door.new_spend, flush=True)


if __name__ == "__main__":
    given = sys.argv[1:]
    asyncio.run(
        main(
            Path(given[0]),
            given[1],
            int(given[2]),
            int(given[3]),
            float(given[4]) if len(given) > 4 else None,
            given[5] if len(given) > 5 else None,
        )
    )
