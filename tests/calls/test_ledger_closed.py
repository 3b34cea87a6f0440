"""A ledger that was closed while something was on its way to it stays silent."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path

import pytest

from runner.calls.ledger import Ledger
from runner.calls.ledger import writer as writer_module


def test_a_lease_renewed_while_the_loop_was_busy_does_not_reach_a_closed_ledger(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first run on a cold machine printed two tracebacks of a closed connection."""
    monkeypatch.setattr(writer_module, "RENEW_S", 0.05)
    complaints: list[object] = []

    async def busy_then_closed() -> None:
        asyncio.get_running_loop().set_exception_handler(lambda _, context: complaints.append(context))
        ledger = Ledger(None, tmp_path)
        time.sleep(0.3)  # the loop is blocked, as by a large import
        ledger.close()
        await asyncio.sleep(0.05)

    asyncio.run(busy_then_closed())
    assert complaints == []
