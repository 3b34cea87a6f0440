"""A sweep of 24 jobs: two fail and are named, the rest is whole; killed half-way it ends the same and pays once."""

from __future__ import annotations

import json
import signal
import time
from pathlib import Path
from typing import Any

import pytest

from runner.errors import ExitCode
from tests.fakes.model_server import ModelServer
from tests.sweeps.driving import GENERATOR, JUDGE, run, start, statistics_files

pytestmark = [pytest.mark.usefixtures("home"), pytest.mark.timeout(600)]


def _pairs(*special: str) -> str:
    """24 jobs as one paired sweep: two generators, two judges, and as many top_k as are needed."""
    ordinary = [
        f"{{g: {generator}, j: {judge}, k: {top_k}}}"
        for top_k in range(1, 7)
        for generator in (GENERATOR, "other-answerer")
        for judge in (JUDGE, "other-grader")
    ]
    return "+pair=" + ",".join([*ordinary[: 24 - len(special)], *special])


SETTINGS = (
    "generator.model=${pair.g}",
    "judge_defaults.model=${pair.j}",
    "retriever.top_k=${pair.k}",
    "questions.limit=3",
)


def _scores() -> list[list[dict[str, Any]]]:
    return [statistics["assessments"] for statistics in statistics_files()]


def test_two_failing_jobs_of_24_are_named_and_the_other_22_are_whole(
    model_server: ModelServer, capsys: pytest.CaptureFixture[str], home: Path
) -> None:
    model_server.when("model_not_found", model="no-such-model")
    model_server.when("refusal", model="prude")
    bad = (f"{{g: no-such-model, j: {JUDGE}, k: 1}}", f"{{g: {GENERATOR}, j: prude, k: 1}}")
    assert run(model_server, "-m", _pairs(*bad), *SETTINGS) == ExitCode.INCOMPLETE
    (sweep,) = [json.loads(path.read_text()) for path in (home / "sweeps").glob("*.json")]
    statuses = [job["status"] for job in sweep["jobs"]]
    assert statuses.count("complete") == 22
    assert statuses.count("failed") == 2
    assert sweep["status"] == "incomplete"
    output = capsys.readouterr().err
    told = [line for line in output.splitlines() if "failed:" in line]
    assert len(told) == 2
    assert any("no-such-model" in line for line in told)
    assert any("prude" in line for line in told)


def test_a_killed_sweep_of_24_jobs_ends_as_an_undisturbed_one_and_pays_once(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with ModelServer() as undisturbed:
        assert run(undisturbed, "-m", _pairs(), *SETTINGS) == ExitCode.DONE
        expected = _scores()
        needed = undisturbed.count()
    monkeypatch.setenv("RUNNER_HOME", str(tmp_path / "second home"))
    with ModelServer(latency_s=0.03) as server:
        process = start(server, "-m", _pairs(), *SETTINGS, "calls.concurrency=4")
        while server.count() < needed // 2 and process.poll() is None:
            time.sleep(0.01)
        process.kill()
        process.communicate()
        assert process.returncode == -signal.SIGKILL
        assert run(server, "-m", _pairs(), *SETTINGS, "calls.concurrency=4") == ExitCode.DONE
        assert _scores() == expected
        assert server.unique() == needed
        # Four models, each with its own limit: no more than was in flight can be paid for twice.
        assert server.count() <= needed + 4 * 4


def test_hydras_basic_launcher_comes_to_the_same_results_and_one_table(
    model_server: ModelServer, capsys: pytest.CaptureFixture[str], home: Path
) -> None:
    settings = ("questions.limit=3", "retriever.top_k=1,3")
    assert run(model_server, "-m", *settings) == ExitCode.DONE
    together, asked = _scores(), model_server.count()
    capsys.readouterr()
    assert run(model_server, "-m", *settings, "launch=basic") == ExitCode.DONE
    assert _scores() == together
    assert model_server.count() == asked
    last_table = capsys.readouterr().out.rsplit("files:", 2)[-2]
    assert "top_k=1" in last_table
    assert "top_k=3" in last_table
    newest = max((home / "sweeps").glob("*.json"), key=lambda path: path.stat().st_mtime)
    assert len(json.loads(newest.read_text())["jobs"]) == 2
