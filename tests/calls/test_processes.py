"""Several processes on one ledger, and processes that are killed: each call is still paid once."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from decimal import Decimal
from pathlib import Path

import pytest

from tests.calls.calls_helpers import KEY, rows
from tests.fakes.model_server import ModelServer

ROOT = Path(__file__).parents[2]


def start(home: Path, server: ModelServer, count: int, concurrency: int = 4, *more: object) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "tests.calls.door_process", str(home), server.base_url, str(count)]
    return subprocess.Popen(
        [*command, str(concurrency), *map(str, more)],
        cwd=ROOT,
        env={**os.environ, "OPENAI_API_KEY": KEY},
        stdout=subprocess.PIPE,
        text=True,
    )


def finish(process: subprocess.Popen[str]) -> list[list[str]]:
    """The lines that it printed."""
    printed, _ = process.communicate(timeout=90)
    assert process.returncode == 0, printed
    return [line.split() for line in printed.splitlines()]


def test_kill_9_pays_only_for_what_never_landed(home: Path) -> None:
    chance = random.Random(5)
    count, concurrency, kills = 60, 4, 3
    with ModelServer(latency_s=0.05) as server:
        in_flight = 0
        for _ in range(kills):
            process = start(home, server, count, concurrency)
            assert process.stdout is not None
            assert process.stdout.readline() == "ready\n"
            before, wanted = server.count(), chance.randrange(1, 16)
            while server.count() < before + wanted and process.poll() is None:
                time.sleep(0.002)
            process.send_signal(signal.SIGKILL)
            process.communicate()
            in_flight += concurrency
        began = time.monotonic()
        lines = finish(start(home, server, count, concurrency))
        # The killed ones left their claims behind; they are seen to be dead, not waited for.
        assert time.monotonic() - began < 45
        assert sum(line[0] == "answer" and line[2] == "ok" for line in lines) == count
        assert server.unique() == count
        assert server.count() <= count + in_flight
        # No reply is lost or doubled.
        assert len(rows(home, "key", "replayed")) == len(rows(home, "distinct key", "replayed")) == count
        # Every request that a server may charge for has a row, also of those that nobody lived to hear the end of.
        lost = rows(home, "status, worst_case, model, question", "possibly_paid")
        assert server.count() - count <= len(lost) <= in_flight
    assert lost
    assert all(status == "interrupted" and Decimal(worst) > 0 for status, worst, *_ in lost)
    # Each attempt of a key has a number of its own.
    numbers = rows(home, "key, number")
    assert len(numbers) == len(set(numbers))
    assert rows(home, "key", table="claims") == []
    assert not list((home / "owners").iterdir())


def test_requests_under_way_at_a_kill_are_told_of_by_the_next_launch(home: Path) -> None:
    with ModelServer(latency_s=30) as server:
        process = start(home, server, 3, 3)
        while server.count() < 3:
            time.sleep(0.01)
        process.send_signal(signal.SIGKILL)
        process.communicate()
    with ModelServer() as server:
        again = subprocess.run(
            [sys.executable, "-m", "tests.calls.door_process", str(home), server.base_url, "1", "1"],
            cwd=ROOT, env={**os.environ, "OPENAI_API_KEY": KEY}, capture_output=True, text=True, timeout=90, check=True,
        )  # fmt: skip
    assert "3 requests were under way when an earlier process was killed" in again.stderr
    assert len(rows(home, "key", "possibly_paid and status = 'interrupted'")) == 3


def test_two_processes_pay_each_call_once(home: Path) -> None:
    count = 40
    with ModelServer(latency_s=0.1) as server:
        both = [start(home, server, count), start(home, server, count)]
        answers = [line for process in both for line in finish(process) if line[0] == "answer"]
        assert server.count() == server.unique() == count
    assert len(answers) == 2 * count
    assert all(line[2] == "ok" for line in answers)
    # What one paid for, the other has from the ledger.
    assert sum(line[3] == "False" for line in answers) == count


def test_processes_share_the_cap_of_a_sweep(home: Path) -> None:
    cap = "0.0003"
    with ModelServer(latency_s=0.05) as server:
        # Different questions would be better still; equal ones are paid once and must not count twice.
        both = [start(home, server, 60, 8, cap, "sweep"), start(home, server, 60, 8, cap, "sweep")]
        lines = [line for process in both for line in finish(process)]
        billed = server.tokens()
    by_hand = billed.input * Decimal("0.15e-6") + billed.output * Decimal("0.60e-6")
    assert any(line[0] == "budget" for line in lines)
    assert Decimal("0.0001") < by_hand <= Decimal(cap)
    assert sum(Decimal(line[1]) for line in lines if line[0] == "spent") == by_hand
    (spent,) = rows(home, "amount", table="spending")
    assert Decimal(spent[0]) == by_hand


@pytest.mark.parametrize("signal_number", [signal.SIGSTOP])
def test_a_holder_that_is_only_slow_keeps_its_claim(home: Path, signal_number: signal.Signals) -> None:
    """A stopped process is not a dead one: its request is on the wire, and must not be paid again."""
    with ModelServer(latency_s=0.5) as server:
        slow = start(home, server, 1)
        while server.count() == 0:
            time.sleep(0.01)
        slow.send_signal(signal_number)
        other = start(home, server, 1)
        time.sleep(1.5)
        slow.send_signal(signal.SIGCONT)
        assert [line[2] for line in finish(slow) if line[0] == "answer"] == ["ok"]
        assert [line[3] for line in finish(other) if line[0] == "answer"] == ["True"]
        assert server.count() == 1
