"""Drives the command line against the fake model server, as a user would, in this process or in one of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

from runner.cli import main
from tests.fakes.model_server import ModelServer

GENERATOR = "answerer"
JUDGE = "grader"
PRICES = {GENERATOR: (Decimal("0.15"), Decimal("0.60")), JUDGE: (Decimal("2.50"), Decimal("10.00"))}
"""US dollars for a million tokens, input and output."""

CHECKOUT = Path(__file__).resolve().parents[2]


def write_prices() -> None:
    """A price list of the user's own, in ``./conf``."""
    lines = [f"  - {{model: {model}, input: {given}, output: {made}}}" for model, (given, made) in PRICES.items()]
    folder = Path("conf/prices")
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "test.yaml").write_text("# @package _global_\nprices:\n" + "\n".join(lines) + "\n", encoding="utf-8")


def arguments(server: ModelServer, *overrides: str) -> list[str]:
    """The overrides of a run on this server, with prices and without tracking."""
    write_prices()
    defaults = [
        "stack=openai_compatible",
        f"endpoint.base_url={server.base_url}",
        f"generator.model={GENERATOR}",
        f"judge_defaults.model={JUDGE}",
        "prices=test",
        "tracking=none",
        "retriever=bm25",
        "embedder=none",
    ]
    given = {override.split("=")[0] for override in overrides}
    return [*overrides, *(default for default in defaults if default.split("=")[0] not in given)]


def run(server: ModelServer, *overrides: str) -> int:
    """The exit code of ``python -m runner ...`` in this process."""
    return main(arguments(server, *overrides))


def start(server: ModelServer, *overrides: str) -> subprocess.Popen[str]:
    """The same in a process of its own."""
    environment = {**os.environ, "PYTHONPATH": str(CHECKOUT)}
    return subprocess.Popen(
        [sys.executable, "-m", "runner", *arguments(server, *overrides)],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        stdin=subprocess.DEVNULL,
        text=True,
    )


def statistics_files() -> list[dict[str, Any]]:
    """The ``stats.json`` of the newest launch, in the order of its jobs."""
    newest = max(Path("outputs").glob("*/*"), key=str)
    return [json.loads(path.read_text(encoding="utf-8")) for path in sorted(newest.rglob("stats.json"))]


def money(server: ModelServer, models: Sequence[str] = (GENERATOR, JUDGE)) -> Decimal:
    """What the server itself says was delivered, at the prices of the list."""
    total = Decimal(0)
    for model in models:
        tokens = server.tokens(model)
        given, made = PRICES[model]
        total += (tokens.input * given + tokens.output * made) / 1_000_000
    return total
