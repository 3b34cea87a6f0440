"""What ``plan`` says about the questions: the difference that they can show, on the scale that is asked for."""

from __future__ import annotations

import pytest

from runner.cli import main
from runner.errors import ExitCode
from tests.fakes.model_server import ModelServer
from tests.sweeps.driving import arguments

pytestmark = pytest.mark.usefixtures("home")


@pytest.mark.parametrize(
    ("judges", "said"),
    [
        ("judge=[grounding]", "points in a pass rate, or 0.42 on the scale 1 to 5 (80 % power"),
        ("judge=[reference_match]", "points in a pass rate (80 % power"),
    ],
)
def test_the_plan_says_what_difference_the_questions_can_show(
    model_server: ModelServer, capsys: pytest.CaptureFixture[str], judges: str, said: str
) -> None:
    assert main(["plan", *arguments(model_server, judges)]) == ExitCode.DONE
    shown = " ".join(capsys.readouterr().out.split())
    assert "60 questions about 19 documents can show a difference of about 17 points" in shown
    assert said in shown
