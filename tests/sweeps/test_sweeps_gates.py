"""Gates: exit codes, sentences and files of launches that pass, fail, and cannot be decided."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from runner.cli import main
from runner.errors import ExitCode
from runner.findings import GateCheck, GateReport, GateWord
from runner.sweeps.gating import as_junit, as_markdown
from tests.fakes.model_server import ModelServer
from tests.sweeps.driving import run

pytestmark = pytest.mark.usefixtures("home")

EXTRACTIVE = ("stack=extractive", "tracking=none", "retriever=bm25", "embedder=none", "judge=[topicality]")


def gate_file(name: str = "gate.json") -> Any:
    (folder,) = [path.parent for path in Path("outputs").rglob("gate.json")][-1:]
    text = (folder / name).read_text(encoding="utf-8")
    return json.loads(text) if name.endswith(".json") else text


def evaluated(*overrides: str) -> int:
    for path in Path("outputs").rglob("gate.json"):
        path.unlink()
    return main([*EXTRACTIVE, *overrides])


def said(capsys: pytest.CaptureFixture[str]) -> str:
    return " ".join(capsys.readouterr().out.split())


def test_passes_fails_and_cannot_decide_with_three_sentences(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert evaluated("retriever.top_k=3", "questions.limit=6") == ExitCode.DONE
    assert not list(Path("outputs").rglob("gate.*")), "no gate was asked for"
    (folder,) = (home / "jobs").iterdir()
    baseline = f"gate.baseline.run={folder.name}"
    capsys.readouterr()

    threshold = "gate.thresholds=[{metric: topicality/scored, at_least: %d}]"
    assert evaluated("retriever.top_k=3", "questions.limit=6", "gate=default", threshold % 4) == ExitCode.DONE
    assert "gate passed: 2 checks" in said(capsys)
    assert [check["word"] for check in gate_file()["checks"]] == ["passed", "passed"]
    assert len(list((home / "jobs").iterdir())) == 1, "the gate is no part of the job's key"

    assert evaluated("retriever.top_k=3", "questions.limit=6", threshold % 5) == ExitCode.GATE_FAILED
    assert "gate failed: " in (shown := said(capsys))
    assert "topicality/scored is 4, and at least 5 is asked for" in shown

    few = ("retriever.top_k=1", "questions.limit=1", baseline)
    assert evaluated(*few) == ExitCode.GATE_FAILED
    assert "gate cannot be decided: " in (shown := said(capsys))
    assert "too few questions" in shown

    assert evaluated(*few, "gate.undecided=pass") == ExitCode.DONE
    assert "gate passed, although 1 of 1 check cannot be decided (gate.undecided=pass)" in said(capsys)
    assert gate_file()["passed"] is True


def test_the_same_run_is_not_worse_than_itself(home: Path) -> None:
    line = ("retriever.top_k=2", "questions.limit=4")
    assert evaluated(*line) == ExitCode.DONE
    (folder,) = (home / "jobs").iterdir()
    assert evaluated(*line, f"gate.baseline.run={folder.name}") == ExitCode.DONE
    (check,) = gate_file()["checks"]
    assert (check["word"], check["value"], check["limit"]) == ("passed", 0.0, -0.1)


def test_what_cannot_be_meant_is_refused_before_anything_is_paid(
    model_server: ModelServer, capsys: pytest.CaptureFixture[str]
) -> None:
    wrong = (
        "gate.thresholds=[{metric: groundnig/mean, at_least: 4}, {metric: cost/new_usd}, {metric: speed, at_most: 1}]",
        "gate.baseline.judges=[tone]",
    )
    assert run(model_server, *wrong) == ExitCode.BAD_CONFIGURATION
    shown = capsys.readouterr().err
    assert "did you mean grounding?" in shown
    assert "gate.thresholds[1]: has no limit" in shown
    assert "'speed' is not of the form GROUP/NAME" in shown
    assert "there is no judge tone" in shown
    assert run(model_server, "gate.baseline.run=main") == ExitCode.BAD_CONFIGURATION
    assert "gate.baseline.run" in capsys.readouterr().err
    assert model_server.requests == []


def test_cost_and_latency_percentiles_are_metrics_and_each_job_of_a_sweep_is_judged(
    model_server: ModelServer, capsys: pytest.CaptureFixture[str]
) -> None:
    gates = "gate.thresholds=[{metric: latency/answer_p95_s, at_most: 60}, {metric: cost/total_usd, at_most: 0.000001}]"
    code = run(model_server, "-m", "retriever.top_k=1,2", "questions.limit=2", "judge=[grounding]", gates)
    assert code == ExitCode.GATE_FAILED
    shown = said(capsys)
    assert "gate failed: top_k=1: cost/total_usd is" in shown
    assert "(1 more: see gate.md)" in shown
    words = [(check["job"], check["word"]) for check in gate_file()["checks"]]
    assert words == [("top_k=1", "passed"), ("top_k=1", "failed"), ("top_k=2", "passed"), ("top_k=2", "failed")]


def test_incomplete_weighs_more_than_a_failed_gate(model_server: ModelServer) -> None:
    model_server.when("server_error", path="/chat/completions", model="grader")
    line = ("questions.limit=1", "judge=[grounding]", "calls.retries=0", "gate=default")
    assert run(model_server, *line) == ExitCode.INCOMPLETE
    (check,) = gate_file()["checks"]
    assert check["word"] == "failed"
    assert "grounding scored 0 of 1 answer (0.0%)" in check["sentence"]


def report(*words: GateWord, undecided_passes: bool = False) -> GateReport:
    checks = (GateCheck("a|b\x1b\n<i>", "k1", f"g{n} & <x>", word, f"why {n}") for n, word in enumerate(words))
    return GateReport(tuple(checks), undecided_passes)


@pytest.mark.parametrize(("passes", "failures", "skipped"), [(False, 2, 0), (True, 1, 1)])
def test_junit_counts_and_survives_any_name(passes: bool, failures: int, skipped: int) -> None:
    made = report(GateWord.PASSED, GateWord.FAILED, GateWord.UNDECIDED, undecided_passes=passes)
    root = ElementTree.fromstring(as_junit(made))
    (suite,) = root
    for element in (root, suite):
        counts = {name: int(element.attrib[name]) for name in ("tests", "failures", "skipped")}
        assert counts == {"tests": 3, "failures": failures, "skipped": skipped}
    assert len(suite.findall("testcase/failure")) == failures
    assert suite.findall("testcase")[1].attrib["name"] == "g1 & <x>"


def test_markdown_is_one_line_a_check_with_what_failed_first() -> None:
    lines = as_markdown(report(GateWord.PASSED, GateWord.UNDECIDED, GateWord.FAILED)).splitlines()
    assert lines[0].startswith("### ❌ gate failed: why 2 (1 more: see gate.md)")
    assert [line.split(" ")[2] for line in lines[4:]] == ["failed", "undecided", "passed"]
    assert len(lines) == 7
    assert "a\\|b␛ \\<i\\>" in lines[4]


def test_the_gates_files_are_artifacts_of_the_parent_run(home: Path) -> None:
    threshold = "gate.thresholds=[{metric: topicality/mean, at_least: 6}]"
    line = [one for one in EXTRACTIVE if not one.startswith("tracking")]
    assert main(["-m", *line, "retriever.top_k=1,3", "questions.limit=2", threshold]) == ExitCode.GATE_FAILED
    found = list((home / "mlartifacts").rglob("gate.*"))
    assert sorted(path.name for path in found) == ["gate.json", "gate.md", "gate.xml"]
    (parent,) = {path.parent for path in found}
    assert (parent / "sweep.json").is_file()
    assert ElementTree.parse(parent / "gate.xml").getroot().get("failures") == "2"
    on_disk = next(Path("outputs").rglob("gate.md")).read_text(encoding="utf-8")
    assert (parent / "gate.md").read_text(encoding="utf-8") == on_disk
