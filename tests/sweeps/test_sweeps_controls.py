"""The verb ``controls`` on the shipped example: a table, words for what failed, an exit code, no model."""

from __future__ import annotations

import io
from decimal import Decimal
from pathlib import Path

import pytest
from rich.console import Console

import runner
from runner.errors import ConfigurationError, ExitCode
from runner.judging import ControlReport
from runner.records import ControlRow
from runner.sweeps.controls import main, show
from tests.fakes.model_server import ModelServer
from tests.sweeps.driving import arguments, money


def test_judges_that_can_be_trusted_end_with_zero(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code = main(["stack=extractive", "judge=[grounding,reference_match]", "embedder=none", "retriever=bm25"])
    shown = capsys.readouterr().out
    assert code == ExitCode.DONE
    assert "grounding: can be trusted" in shown
    assert "0 calls" in shown
    assert "FAILS" not in shown


def test_a_judge_that_cannot_be_trusted_ends_with_four_and_says_why(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code = main(["stack=extractive", "judge=[topicality]", "embedder=none", "retriever=bm25", "controls.sample=12"])
    shown = " ".join(capsys.readouterr().out.split())
    assert code == ExitCode.GATE_FAILED
    assert "topicality: cannot be trusted" in shown
    assert "topicality: reference answer:" in shown


def test_a_sweep_has_no_controls(home: Path) -> None:
    with pytest.raises(ConfigurationError, match="one configuration"):
        main(["-m", "retriever.top_k=1,3"])


def test_an_unwise_rubric_is_named_in_the_warnings() -> None:
    from runner.config import compose_one
    from runner.sweeps.warnings import job_warnings

    assert not [each for each in job_warnings(compose_one(["stack=extractive"]).config) if "rubric" in each]
    asks = "judges.topicality.rubric.instructions='Give a score, then the reasoning.'"
    (warning,) = [each for each in job_warnings(compose_one(["stack=extractive", asks]).config) if "rubric" in each]
    assert warning.startswith("judges.topicality: rubric topicality@2, instructions: asks for the value before")


def test_controls_of_a_run_are_in_its_result_and_its_money(home: Path, model_server: ModelServer) -> None:
    line = arguments(model_server, "judge=[grounding]", "questions=academic_faq_smoke", "generator=extractive")
    result = runner.evaluate([*line, "controls.enabled=true"])
    assert {row.judge for row in result.controls} == {"grounding"}
    assert result.control_calls
    assert len({call.key for call in result.calls}) == model_server.count()
    assert sum((call.new_cost or Decimal(0) for call in result.calls), Decimal(0)) == money(model_server)
    without = runner.evaluate(line)
    assert (without.controls, without.control_calls) == ((), ())
    assert model_server.count() == len({call.key for call in result.calls})


@pytest.mark.parametrize("width", [40, 60, 80])
def test_no_count_of_a_control_is_cut_in_a_narrow_terminal(width: int) -> None:
    judges = [f"judge_of_{name}" for name in ("grounding", "topicality", "completeness")]
    rows = tuple(ControlRow(judge, "reference_answer", "passes", 12, 11 - k) for k, judge in enumerate(judges))
    console = Console(file=io.StringIO(), width=width, no_color=True, force_terminal=False)
    show(ControlReport(rows, ()), console)
    assert isinstance(console.file, io.StringIO)
    shown = console.file.getvalue()
    assert "…" not in shown
    assert all(judge in shown and f"{11 - k}/12 ok" in shown for k, judge in enumerate(judges))
