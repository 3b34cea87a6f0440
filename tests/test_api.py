"""The Python API says and does what the command line does: ``.env``, event loops, gates, comparisons, errors."""

from __future__ import annotations

import asyncio
import os
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import runner
from runner.errors import ConfigurationError
from runner.findings import GateWord
from runner.records import RunStatus
from tests.fakes.model_server import ModelServer
from tests.fakes.records import full_record, full_run
from tests.sweeps.driving import arguments, money

pytestmark = pytest.mark.usefixtures("home")

FREE = ["stack=extractive", "tracking=none", "retriever=bm25", "embedder=none", "judge=[topicality]"]


@pytest.fixture
def no_key(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a test reads from ``.env`` is gone after it."""
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "JUDGE_MODEL", "TOP_K"):
        monkeypatch.setenv(name, "to be removed")
        monkeypatch.delenv(name)


@pytest.mark.usefixtures("no_key")
def test_the_api_reads_dotenv_as_the_command_line_does_and_the_environment_wins(
    model_server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    line = ["stack=openai", "retriever=bm25", "embedder=none", "tracking=none", "questions.limit=1"]
    with pytest.raises(ConfigurationError, match="OPENAI_API_KEY"):
        runner.evaluate(line)
    monkeypatch.setenv("JUDGE_MODEL", "from-environment")
    Path(".env").write_text(
        f"OPENAI_API_KEY=abc\nOPENAI_BASE_URL={model_server.base_url}\nJUDGE_MODEL=from-file\nTOP_K=2\n",
        encoding="utf-8",
    )
    run = runner.evaluate(line)
    assert run.status is RunStatus.COMPLETE
    assert run.choices["retriever.top_k"] == 2
    assert run.choices["judges.topicality.model"] == "from-environment"
    assert model_server.count(model="from-environment") == 2


@pytest.mark.usefixtures("no_key")
def test_stored_runs_are_looked_for_where_dotenv_puts_the_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("RUNNER_HOME")
    Path(".env").write_text(f"RUNNER_HOME={tmp_path / 'mine'}\n", encoding="utf-8")
    try:
        run = runner.evaluate([*FREE, "questions.limit=1"])
        assert (tmp_path / "mine/jobs" / run.job_key).is_dir()
        assert not Path(".runner").exists()
        del os.environ["RUNNER_HOME"]
        (found,) = runner.load(run.job_key)
        assert found.job_key == run.job_key
    finally:
        os.environ.pop("RUNNER_HOME", None)


def test_a_sweep_under_a_running_event_loop_is_a_sweep(model_server: ModelServer) -> None:
    line = arguments(model_server, "retriever.top_k=1,2", "questions.limit=2", "judge=[grounding]")

    async def cell() -> tuple[runner.api.SweepResult, int]:
        return runner.sweep(line), 1

    swept, _ = asyncio.run(cell())
    assert [run.name for run in swept.runs] == ["top_k=1", "top_k=2"]
    paid = sum((call.new_cost for run in swept.runs for call in run.calls if call.new_cost), Decimal(0))
    assert paid == money(model_server)
    asked = model_server.count()

    report = runner.gate(swept, overrides=["gate.thresholds=[{metric: grounding/mean, at_least: 1}]"])
    assert (report.passed, [check.word for check in report.checks]) == (True, [GateWord.PASSED] * 2)
    assert runner.gate(swept.id, overrides=["gate.thresholds=[{metric: cost/total_usd, at_most: 0}]"]).stopping
    with pytest.raises(ConfigurationError, match="launched without one"):
        runner.gate(swept, overrides=[])
    with pytest.raises(ConfigurationError, match="no run"):
        runner.gate()
    compared = runner.compare(swept)
    assert compared.pairs[0].sentence == runner.compare(*swept.runs).pairs[0].sentence
    assert len(compared.to_frame()) == 1
    assert len(runner.frame(swept)) == 4
    assert model_server.count() == asked


def test_one_text_instead_of_a_list_is_a_sentence() -> None:
    with pytest.raises(ConfigurationError, match="give a list"):
        runner.evaluate("stack=extractive")


@pytest.mark.parametrize("measure", ["nope", "", "MEAN", None, 3])
def test_a_measure_that_there_is_not_is_a_sentence(measure: Any, tmp_path: Path) -> None:
    runs = [full_run(name, [full_record(number) for number in range(3)]) for name in ("one", "two")]
    for asked in (runner.compare, partial(runner.calibrate, labels=tmp_path / "labels.csv")):
        with pytest.raises(ConfigurationError) as raised:
            asked(*runs, measure=measure)
        assert str(raised.value) == f"measure: there is no {measure!r}; say mean or pass_rate"


def test_the_folder_of_the_output_may_be_a_text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    line = ["stack=extractive", "questions=academic_faq_demo", "questions.limit=1", "tracking=none"]
    runner.evaluate(line, output_dir="one")
    assert (tmp_path / "one" / "stats.json").is_file()
    runner.sweep([*line, "retriever.top_k=1,2"], output_dir=str(tmp_path / "two"))
    assert len(list((tmp_path / "two").glob("*/stats.json"))) == 2


def test_every_public_function_says_what_it_takes_and_raises() -> None:
    for name in runner.__all__:
        said = getattr(runner, name).__doc__
        assert said, name
        assert "Raises" in said or "errors" in said, name
