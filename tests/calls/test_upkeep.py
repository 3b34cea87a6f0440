"""The ledger between sweeps: what it says it has cost, and what prune takes away."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path

import pytest

from runner.calls import Door, calling
from runner.calls.ledger_verb import _cells, main
from runner.calls.prices import show
from runner.calls.upkeep import Spending, ledger_report, prune
from runner.errors import ConfigurationError
from runner.records import Usage
from tests.calls.calls_helpers import KEY, MODEL, ask, endpoint, with_door
from tests.fakes.model_server import ModelServer


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)


def fill(server: ModelServer, home: Path) -> Decimal:
    async def work(door: Door) -> Decimal:
        for run, model, count in (("one", MODEL, 3), ("two", "gpt-4o", 2)):
            with calling(stage="judge", run=run):
                where = endpoint(door, server, model)
                await asyncio.gather(*(door.chat(ask(where, f"{run} {n}", model=model)) for n in range(count)))
        return door.new_spend

    return with_door(home, work)


def test_the_report_adds_up(model_server: ModelServer, home: Path) -> None:
    model_server.queue("cut", "server_error")
    spent = fill(model_server, home)
    report = ledger_report(None, home)
    assert (report.calls, report.attempts) == (5, 7)
    for groups in (report.by_model, report.by_run, report.by_stage):
        assert sum(group.cost for group in groups) == spent
        assert sum(group.attempts for group in groups) == 7
        assert sum(group.failed for group in groups) == 2
    assert [group.name for group in report.by_run] == ["two", "one"]
    assert [group.name for group in report.by_model] == ["gpt-4o", MODEL]
    billed = model_server.tokens()
    assert sum(group.usage.input_tokens for group in report.by_model) == billed.input
    assert sum(group.possibly_paid for group in report.by_stage) > 0
    assert (report.size_bytes or 0) > 0


def test_what_is_pruned_is_paid_again_and_nothing_else(model_server: ModelServer, home: Path) -> None:
    fill(model_server, home)
    gone = prune(None, home, run="one")
    assert (gone.calls, gone.attempts) == (3, 3)
    made = model_server.count()
    fill(model_server, home)
    assert model_server.count() == made + 3


def test_prune_by_age_and_model(model_server: ModelServer, home: Path) -> None:
    fill(model_server, home)
    assert prune(None, home, before=datetime.now(UTC) - timedelta(days=1)).calls == 0
    assert prune(None, home, before=datetime.now(UTC) + timedelta(days=1), model="gpt-4o").calls == 2
    assert ledger_report(None, home).calls == 3
    with pytest.raises(ValueError, match="condition"):
        prune(None, home)


def test_an_empty_ledger_has_a_report(home: Path) -> None:
    report = ledger_report(None, home)
    assert (report.calls, report.oldest, report.by_model) == (0, "", ())


def test_the_verb_shows_and_prunes_only_with_yes(
    model_server: ModelServer, home: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    assert main([]) == 0
    assert "no call has been made" in capsys.readouterr().out
    fill(model_server, home)
    assert main([]) == 0
    shown = capsys.readouterr().out
    assert "5 calls" in shown
    assert MODEL in shown
    assert main(["prune", "--run", "one"]) == 0
    assert "Would take away 3 calls" in capsys.readouterr().out
    assert ledger_report(None, home).calls == 5
    assert main(["prune", "--run", "one", "--yes"]) == 0
    assert "Taken away: 3 calls" in capsys.readouterr().out
    assert ledger_report(None, home).calls == 2
    with pytest.raises(ConfigurationError, match="--older-than"):
        main(["prune", "--yes"])


@pytest.mark.parametrize("columns", [40, 60, 80, 160])
def test_no_model_and_no_price_is_cut_in_a_narrow_terminal(
    model_server: ModelServer,
    home: Path,
    columns: int,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """gpt-4o-mini could not be told from gpt-4o-mini-2024-07-18, and the cost read $0.0000…."""
    fill(model_server, home)
    monkeypatch.setenv("COLUMNS", str(columns))
    assert main([]) == 0
    shown = capsys.readouterr().out
    assert "…" not in shown
    assert max(len(line) for line in shown.splitlines() if not line.startswith(str(home)[:8])) <= columns
    for spending in ledger_report(None, home).by_model:
        assert spending.name in shown
        assert show(spending.cost) in shown
        assert f"{spending.usage.input_tokens:,}" in shown


def test_a_model_that_a_server_named_cannot_steer_the_terminal(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    spending = Spending("\x1b[2Jmodel [red]", 1, 1, 0, Usage(1, 1), Decimal("0.1"), 0, Decimal(0))
    assert _cells(spending)[0] == "␛[2Jmodel [red]"
