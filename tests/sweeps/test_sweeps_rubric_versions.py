"""Two versions of one rubric over the same answers: what turned, both ways, with the reasoning of both."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from runner.config import compose_jobs
from runner.errors import ExitCode
from runner.sweeps.comparing import main
from runner.sweeps.warnings import warnings_of
from tests.fakes.answers import prompt_of, sections
from tests.fakes.model_server import ModelServer, fault
from tests.sweeps.driving import GENERATOR, JUDGE, arguments, run

pytestmark = pytest.mark.usefixtures("home")

SCORES = {
    "When do I have to apply": (3, 4),
    "How many credit hours": (4, 3),
    "I am in my first year": (1, 3),
    "What happens if I am caught": (5, 4),
    "How much does a parking": (1, 3),
    "Can I drop a course": (3, 1),
    "Which grade point": (2, 4),
}
"""What the first and the second version give; the pass mark is 4."""


def two_minds(body: Mapping[str, Any]) -> str:
    prompt = prompt_of(body)
    question = sections(prompt)["question"]
    version = 1 if "First list" in prompt else 0
    score = next((scores[version] for start, scores in SCORES.items() if question.startswith(start)), 5)
    return json.dumps({"reasoning": f"Version {1 + version} on {question[:12]}.", "score": score})


@pytest.fixture
def sweep_id(model_server: ModelServer, home: Path, capsys: pytest.CaptureFixture[str]) -> str:
    model_server.when(fault("text", text=two_minds), model=JUDGE)
    versions = "rubric@judges.topicality.rubric=topicality_v1,topicality_v2"
    assert run(model_server, "-m", versions, "judge=[topicality]", "questions.limit=10") == ExitCode.DONE
    assert model_server.by_model() == {GENERATOR: 10, JUDGE: 20}
    capsys.readouterr()
    (path,) = (home / "sweeps").glob("*.json")
    return path.stem


def compared(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert main([*arguments, "--rubric", "topicality_v1", "topicality_v2"]) == ExitCode.DONE
    return " ".join(capsys.readouterr().out.split())


def test_what_turned_is_shown_both_ways_with_both_reasonings(sweep_id: str, capsys: pytest.CaptureFixture[str]) -> None:
    shown = compared(capsys, sweep_id)
    assert "pass turned on 3 of 10 questions: 1 for the first run, 2 against it" in shown
    assert "1: 3 (topicality@1) Version 1 on When do I ha. 2: 4 (topicality@2) Version 2 on When do I ha." in shown
    assert "1: 4 (topicality@1) Version 1 on How many cre. 2: 3 (topicality@2) Version 2 on How many cre." in shown


def test_what_turned_comes_before_what_differs_more_and_none_is_passed_over_in_silence(
    sweep_id: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """A pass that turned by one point was not shown where other scores differed by two."""
    shown = compared(capsys, sweep_id, "--examples", "1")
    assert "Version 1 on Which grade " in shown
    assert "Version 1 on How many cre" in shown
    assert "Version 1 on Can I drop" not in shown
    assert "1 more turned: --examples 2 shows all" in shown
    assert "more turned" not in compared(capsys, sweep_id, "--examples", "2")


@pytest.mark.parametrize(("choices", "warned"), [(("stack=local",), True), (("stack=extractive",), True), ((), False)])
def test_a_comparison_of_wordings_by_a_judge_that_does_not_read_them_is_warned_of(
    choices: tuple[str, ...], warned: bool, model_server: ModelServer
) -> None:
    """Two versions of a rubric came out "equivalent", since the local judge asks the same for both."""
    versions = "rubric@judges.topicality.rubric=topicality_v1,topicality_v2"
    jobs = compose_jobs(arguments(model_server, versions, "judge=[topicality]", *choices), multirun=True)
    found = [each for each in warnings_of(jobs) if "instructions and anchors this judge does not read" in each]
    assert bool(found) is warned
    assert not [each for each in warnings_of(jobs[:1]) if each in found]


def test_a_judge_whose_rubric_did_not_vary_is_not_undecided_about_its_own_verdicts(
    model_server: ModelServer, home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its verdicts were the same calls on the same answers, and "about 59 questions would decide" stood there."""
    model_server.when(fault("text", text=two_minds), model=JUDGE)
    versions = "rubric@judges.topicality.rubric=topicality_v1,topicality_v2"
    assert run(model_server, "-m", versions, "judge=[grounding,topicality]", "questions.limit=10") == ExitCode.DONE
    shown = " ".join(capsys.readouterr().out.split())
    assert "equivalent on grounding (the same verdicts: identical answers and rubric)" in shown
    assert "equivalent on topicality (the same" not in shown
    (path,) = (home / "sweeps").glob("*.json")
    only = compared(capsys, path.stem)
    assert "topicality (mean, all pairs)" in only
    assert "grounding (mean" not in only, "only the judge that has these rubrics"
