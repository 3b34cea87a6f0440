"""What stands last on the screen of a launch: the answers that failed, the report, and where to see more."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from runner.errors import ExitCode
from runner.records import Answer, AnswerStatus, RunStatus, SweepResult
from runner.sweeps.launch import show
from runner.sweeps.outcome import outcome_of
from tests.fakes.model_server import ModelServer, fault
from tests.fakes.runs import make_record, make_run
from tests.sweeps.driving import JUDGE, run

pytestmark = pytest.mark.usefixtures("home")
LOW = '{"reasoning": "Invented.", "score": 1}'


def test_the_last_screen_shows_what_the_judges_caught_and_names_the_report(
    model_server: ModelServer, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    model_server.when(fault("text", text=LOW), model=JUDGE)
    assert run(model_server, "judge=[topicality]", "questions.limit=5") == ExitCode.DONE
    shown = capsys.readouterr().out
    lines = shown.splitlines()
    start = lines.index("lowest scores (topicality):")
    assert all(line.startswith("  1 ") and len(line) <= 80 for line in lines[start + 1 : start + 4])
    assert not lines[start + 4].startswith("  1 ")
    (page,) = Path("outputs").rglob("report.html")
    assert f"report: {page}" in lines
    assert run(model_server, "judge=[topicality]", "questions.limit=5", "--quiet") == ExitCode.DONE
    quiet = capsys.readouterr().out
    assert "lowest scores" not in quiet
    assert "report: " not in quiet
    assert "files: " in quiet


def test_no_ui_is_offered_where_nothing_was_tracked_and_nothing_to_compare_where_nothing_was_answered(
    model_server: ModelServer, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(model_server, "-m", "retriever.top_k=1,2", "judge=[topicality]", "questions.limit=2") == ExitCode.DONE
    shown = capsys.readouterr().out
    assert "compare question by question: python -m runner compare " in shown
    assert "runner ui" not in shown
    assert run(model_server, "judge=[topicality]", "questions.limit=2") == ExitCode.DONE
    assert "compare question by question" not in capsys.readouterr().out, "one run, and no store to see it in"


def test_a_tracked_launch_offers_the_ui_unless_every_answer_failed(capsys: pytest.CaptureFixture[str]) -> None:
    def last_screen(status: AnswerStatus) -> str:
        run = make_run("a", [make_record("q", answer=Answer(status=status))])
        result = SweepResult("20260101-abcdef", "sweep", (run,), RunStatus.COMPLETE)
        show(replace(outcome_of(result), tracked=("parent", "experiment in store")))
        return capsys.readouterr().out

    assert "compare question by question: python -m runner ui\n" in last_screen(AnswerStatus.ANSWERED)
    assert "compare question by question" not in last_screen(AnswerStatus.FAILED)
