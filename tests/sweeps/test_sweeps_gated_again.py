"""Gates of stored runs decided again for nothing, and of sweeps under other launchers once at their end."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from runner.cli import main
from runner.errors import ExitCode
from tests.fakes.model_server import ModelServer
from tests.sweeps.driving import run

pytestmark = pytest.mark.usefixtures("home")

LINE = ("questions.limit=2", "judge=[grounding]")
ANY_COST = "gate.thresholds=[{metric: cost/total_usd, at_most: %s}]"


def said(capsys: pytest.CaptureFixture[str]) -> str:
    shown = capsys.readouterr()
    return " ".join((shown.out + shown.err).split())


def gate_files() -> list[Path]:
    return sorted(Path("outputs").rglob("gate.json"))


@pytest.mark.parametrize("launcher", ["shared", "basic", "joblib"])
def test_a_sweep_is_gated_once_over_all_its_jobs_under_every_launcher(
    launcher: str, model_server: ModelServer, capsys: pytest.CaptureFixture[str]
) -> None:
    if launcher == "joblib":
        pytest.importorskip("hydra_plugins.hydra_joblib_launcher")
    chosen = ["hydra/launcher=joblib"] if launcher == "joblib" else [f"launch={launcher}"]
    gate = ANY_COST % "0.000001"
    code = run(model_server, "-m", *chosen, *LINE, "retriever.top_k=1,2", gate)
    shown = said(capsys)
    assert code == ExitCode.GATE_FAILED
    assert shown.count("gate failed: top_k=1: cost/total_usd is") == 1
    assert "(1 more: see gate.md)" in shown
    (path,) = gate_files()
    assert path.parent.parent.parent == Path("outputs"), "beside the folders of the jobs"
    assert [check["job"] for check in json.loads(path.read_text(encoding="utf-8"))["checks"]] == ["top_k=1", "top_k=2"]
    assert run(model_server, "-m", *chosen, *LINE, "retriever.top_k=1,2", ANY_COST % "9") == ExitCode.DONE
    assert said(capsys).count("gate passed: 2 checks") == 1


def test_a_missing_baseline_stops_other_launchers_before_anything_is_paid(model_server: ModelServer) -> None:
    line = ("-m", "launch=basic", *LINE, "retriever.top_k=1,2", "gate.baseline.run=nobody")
    assert run(model_server, *line) == ExitCode.BAD_CONFIGURATION
    assert model_server.requests == []


def test_a_new_threshold_needs_no_new_calls(model_server: ModelServer, capsys: pytest.CaptureFixture[str]) -> None:
    """confident-ai/deepeval#1996: whoever changed a threshold paid for every verdict again."""
    assert run(model_server, *LINE, "name=night", ANY_COST % "9") == ExitCode.DONE
    asked = model_server.count()
    launched = gate_files()[0].read_text(encoding="utf-8")
    capsys.readouterr()
    assert main(["report", "night", "--gate", "--gate-files", "again"]) == ExitCode.DONE
    assert "gate passed: 1 check" in said(capsys)
    assert Path("again/gate.json").read_text(encoding="utf-8") == launched
    assert {path.name for path in Path("again").iterdir()} == {"gate.json", "gate.xml", "gate.md"}
    assert main(["report", "night", "--gate", ANY_COST % "0"]) == ExitCode.GATE_FAILED
    shown = said(capsys)
    assert shown.startswith("failed ")
    assert "gate failed: " in shown
    assert "cost/total_usd is 0.00" in shown
    assert main(["report", "night", "--gate", "gate=default"]) == ExitCode.DONE
    assert "gate passed: 1 check" in said(capsys)
    assert main(["report", "night", "--gate", "gate.thresholds=[{metric: groundnig/mean, at_least: 1}]"]) == 1
    assert "did you mean grounding?" in said(capsys)
    for word in (
        "gate.baseline.margin=-1",
        "gate.baseline.margin=nan",
        "gate.minimum_scored_share=2",
        ANY_COST % "nan",
    ):
        assert main(["report", "night", "--gate", word]) == ExitCode.BAD_CONFIGURATION
        assert " must be " in said(capsys)
    assert model_server.count() == asked


def test_runs_without_a_gate_and_interrupted_ones_are_sentences(
    model_server: ModelServer, home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(model_server, *LINE, "name=night") == ExitCode.DONE
    assert main(["report", "night", "--gate"]) == ExitCode.BAD_CONFIGURATION
    assert "these runs were launched without one; add one: report NAME --gate gate=default" in said(capsys)
    (path,) = (home / "sweeps").glob("*.json")
    path.write_text(path.read_text(encoding="utf-8").replace('"complete"', '"interrupted"', 1), encoding="utf-8")
    assert main(["report", "night", "--gate", "gate=default"]) == ExitCode.BAD_CONFIGURATION
    assert "night was interrupted, so that no gate can be decided" in said(capsys)
    assert main(["report", "--gate"]) == ExitCode.BAD_CONFIGURATION


def test_the_baseline_of_a_run_gated_again_is_not_the_run_itself(
    model_server: ModelServer, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(model_server, *LINE, "name=night", "retriever.top_k=1") == ExitCode.DONE
    first = gate_of("night", capsys)
    assert run(model_server, *LINE, "name=night", "retriever.top_k=2", "gate.baseline.run=night") == (
        ExitCode.GATE_FAILED
    ), "two questions decide nothing"
    assert "no stored run" in first, "there is none older than the only one"
    assert "too few questions" in gate_of("night", capsys), "against the first one, not against itself"


def gate_of(name: str, capsys: pytest.CaptureFixture[str]) -> str:
    capsys.readouterr()
    main(["report", name, "--gate", f"gate.baseline.run={name}"])
    return said(capsys)
