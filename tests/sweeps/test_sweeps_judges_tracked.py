"""What the tracking store says about the judges of a whole run: trust, and which text of the rubric they had."""

from __future__ import annotations

import sqlite3
from pathlib import Path

from runner.errors import ExitCode
from runner.judging import rubric_hash
from tests.fakes import faulty_judges
from tests.fakes.judged import shipped
from tests.fakes.model_server import ModelServer, fault
from tests.sweeps.driving import JUDGE, run


def test_a_run_with_a_judge_that_fails_its_controls_is_tagged_and_names_the_rubrics_text(
    model_server: ModelServer, home: Path
) -> None:
    model_server.when(fault("text", text=faulty_judges.always_five), model=JUDGE)
    told = ("judge=[grounding]", "questions.limit=10", "controls.enabled=true", "controls.sample=4")
    assert run(model_server, *told, "tracking=mlflow") == ExitCode.DONE
    with sqlite3.connect(home / "mlflow.db") as store:
        tags = dict(store.execute("SELECT key, value FROM tags WHERE key LIKE '%judge%' OR key LIKE '%controls%'"))
        params = dict(store.execute("SELECT key, value FROM params WHERE key LIKE '%rubric%'"))
        prompts = store.execute("SELECT COUNT(*) FROM model_versions").fetchone()[0]
    assert tags["judge_trusted"] == "false"
    assert "grounding: other answer 0 of" in tags["runner.controls_failed"]
    whole = rubric_hash(shipped("grounding_v1"))
    assert params["judges.grounding.rubric"] == "grounding@1"
    assert params["judges.grounding.rubric_hash"] == whole[:16]
    assert prompts == 2, "the rubric and the generator's prompt, each once"
    # A second run under the same text registers nothing.
    assert run(model_server, *told[:1], "questions.limit=5", "tracking=mlflow") == ExitCode.DONE
    with sqlite3.connect(home / "mlflow.db") as store:
        assert store.execute("SELECT COUNT(*) FROM model_versions").fetchone()[0] == 2
