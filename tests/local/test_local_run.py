"""Three questions end to end on the real local models, as ``make test-local`` runs them; says what came out."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from runner.cli import main
from runner.errors import ExitCode

pytestmark = [pytest.mark.local_models, pytest.mark.timeout(1800), pytest.mark.usefixtures("home")]


def test_three_questions_are_answered_and_judged_by_models_on_this_machine() -> None:
    command = ["stack=local_small", "questions=academic_faq_smoke", "tracking=none"]
    assert main(command) == ExitCode.DONE
    (path,) = Path("outputs").rglob("stats.json")
    statistics = json.loads(path.read_text(encoding="utf-8"))
    assert len(statistics["assessments"]) == 3
    for assessment in statistics["assessments"]:
        print(json.dumps(assessment | {"chunks": len(assessment["chunks"])}, indent=2, ensure_ascii=False))
        assert assessment["answer"]
        assert "topicality_score" in assessment
    assert statistics["run_info"]["usage"]["total_cost"] == 0
    made = statistics["run_info"]["total_api_calls"]
    assert made >= 6
    # Again: every call is in the ledger.
    assert main(command) == ExitCode.DONE
