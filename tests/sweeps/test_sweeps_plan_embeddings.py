"""Embedding models of any server are planned, paid and capped at the price of the user's own list."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path

import pytest

from runner.errors import ExitCode
from tests.fakes.model_server import ModelServer
from tests.sweeps.driving import GENERATOR, JUDGE, arguments, money, run, statistics_files

pytestmark = pytest.mark.usefixtures("home")

LINE = ("retriever=dense", "embedder=openai_compatible", "embedder.model=vectors", "questions.limit=3")
EMBEDDING_PRICE = Decimal("0.13")


def with_prices(server: ModelServer, *overrides: str) -> list[str]:
    """The arguments with a list that also has the embedding model; ``output`` is left out, as embeddings have none."""
    line = arguments(server, *LINE, *overrides)
    listed = Path("conf/prices/test.yaml").read_text(encoding="utf-8")
    Path("conf/prices/mine.yaml").write_text(f"{listed}  - {{model: vectors, input: {EMBEDDING_PRICE}}}\n", "utf-8")
    return [word if word != "prices=test" else "prices=mine" for word in line]


def said(capsys: pytest.CaptureFixture[str]) -> str:
    shown = capsys.readouterr()
    return " ".join((shown.out + shown.err).split())


def test_a_priced_embedding_model_of_a_compatible_server_is_planned_and_paid_at_its_price(
    model_server: ModelServer, capsys: pytest.CaptureFixture[str]
) -> None:
    from runner.cli import main

    line = with_prices(model_server)
    assert main(["plan", *line]) == ExitCode.DONE
    shown = said(capsys)
    assert "expected: $0.0" in shown
    assert "unknown" not in shown
    assert main([*line, "budget.max_usd=1"]) == ExitCode.DONE
    embedded = model_server.tokens("vectors").input * EMBEDDING_PRICE / 1_000_000
    assert embedded > 0
    total = Decimal(str(statistics_files()[0]["run_info"]["usage"]["total_cost"]))
    assert abs(total - money(model_server, [GENERATOR, JUDGE]) - embedded) < Decimal("1e-9")


def test_an_embedding_model_without_a_price_is_named_and_no_cap_starts_with_it(
    model_server: ModelServer, capsys: pytest.CaptureFixture[str]
) -> None:
    from runner.cli import main

    line = arguments(model_server, *LINE)
    assert main(["plan", *line]) == ExitCode.DONE
    shown = said(capsys)
    assert "unknown" in shown
    assert "vectors" in shown
    assert run(model_server, *LINE, "budget.max_usd=1") == ExitCode.BAD_CONFIGURATION
    assert "vectors" in said(capsys)
    assert model_server.requests == []
