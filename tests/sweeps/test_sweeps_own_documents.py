"""The first steps with documents of one's own, where the questions are still the shipped ones, and without a key."""

from __future__ import annotations

import io
import re
import sys
from pathlib import Path

import pytest

from runner.cli import main
from runner.errors import ExitCode

pytestmark = pytest.mark.usefixtures("home")

OWN = ("stack=extractive", "knowledge_base=folder", "knowledge_base.path=mine", "retriever=bm25", "tracking=none")
STILL = "questions: these are still academic_faq, whose gold documents (admission_deadlines, ...) are not in this"


@pytest.fixture(autouse=True)
def documents(home: Path) -> None:
    Path("mine").mkdir()
    for name, text in (("boats", "Boats are rented at the pier for an hour."), ("bikes", "Bikes are at the station.")):
        Path(f"mine/{name}.md").write_text(text, encoding="utf-8")


def test_ask_with_own_documents_named_fifty_six_questions_that_nobody_asks(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO("Where are boats rented?\n"))
    assert main(["ask", *OWN]) == ExitCode.DONE
    captured = capsys.readouterr()
    assert "Boats are rented at the pier" in captured.out
    assert "gold" not in captured.err + captured.out


@pytest.mark.parametrize("verb", [["plan"], []])
def test_forgotten_questions_were_a_problem_a_question(verb: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*verb, *OWN]) == ExitCode.BAD_CONFIGURATION
    said = capsys.readouterr().err
    assert said.startswith("1 problem, nothing was paid")
    assert STILL in said
    assert "say questions=NAME" in said


def test_doctor_said_ok_where_a_run_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor", *OWN]) == ExitCode.BAD_CONFIGURATION
    assert f"fail  data: {STILL}" in capsys.readouterr().out
    assert main(["doctor", "stack=extractive", "tracking=none"]) == ExitCode.DONE
    assert re.search(r"ok    data: \d+ documents, 60 questions", capsys.readouterr().out)


def test_questions_that_were_chosen_are_not_called_still(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plan", *OWN, "questions=academic_faq_demo"]) == ExitCode.BAD_CONFIGURATION
    assert "these are academic_faq_demo, whose gold documents" in capsys.readouterr().err


def test_a_plan_without_a_key_was_refused_although_it_makes_no_call(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], home: Path
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    line = ["stack=openai", "questions=academic_faq_smoke", "tracking=none"]
    assert main(["plan", *line]) == ExitCode.DONE
    said = " ".join(capsys.readouterr().out.split())
    assert "note: OPENAI_API_KEY is not set: the run will need it" in said
    before = sorted(Path().rglob("*"))
    assert main(line) == ExitCode.BAD_CONFIGURATION
    assert "OPENAI_API_KEY: is not set, and embedder, generator," in capsys.readouterr().err
    assert sorted(Path().rglob("*")) == before
    monkeypatch.setenv("OPENAI_API_KEY", "sk-not-a-real-one-0123456789")
    assert main(["plan", *line]) == ExitCode.DONE
    assert "is not set" not in capsys.readouterr().out
