"""What every report says about its judges at no cost, on whole sweeps: with a model server and without any model."""

from __future__ import annotations

from pathlib import Path

import pytest

from runner.cli import main
from runner.errors import ExitCode
from tests.fakes.model_server import ModelServer
from tests.sweeps.driving import run
from tests.sweeps.reading import words_of

pytestmark = pytest.mark.usefixtures("home")


def the_report() -> str:
    (page,) = Path("outputs").glob("*/*/report.html")
    return words_of(page.read_text(encoding="utf-8"))


def test_judge_and_generator_of_one_family_stand_together_in_the_table(model_server: ModelServer) -> None:
    """The table took each model for a family of its own, so that no judge was ever its generator's kin."""
    code = run(
        model_server,
        "-m",
        "questions.limit=12",
        "judge=[grounding]",
        "judge_defaults.model=gpt-4o-mini",
        "judges.grounding.repeats=2",
        "generator.model=gpt-4o,llama3.2",
        "prices=none",
    )
    assert code == ExitCode.DONE
    report = the_report()
    table = report.partition("Mean score by the family of the generator and of the judge")[2]
    assert "| grounding | OpenAI | Llama |" in table
    assert "| grounding | OpenAI | OpenAI |" in table
    assert table.partition("| grounding | OpenAI | OpenAI |")[2].split("|")[2].strip() == "yes"
    # Both judged all twelve questions twice, a deterministic server says the same.
    assert "| same score when asked again | pass turns when asked again |" in report
    assert "| 100% | 0% |" in report
    assert "rank correlation with answer length" in report
    assert "most frequent value" in report
    assert "Blame" in report
    assert "| answered, and there is an answer |" in report


def test_one_family_alone_is_shown_too(model_server: ModelServer) -> None:
    told = ("questions.limit=12", "judge=[grounding]", "judge_defaults.model=gpt-4o-mini", "generator.model=gpt-4o")
    assert run(model_server, *told, "prices=none") == ExitCode.DONE
    assert "| grounding | OpenAI | OpenAI |" in the_report()


def test_a_sweep_without_any_model_has_its_readings(home: Path) -> None:
    told = ["stack=extractive", "tracking=none", "embedder=none", "retriever=bm25", "questions.limit=20"]
    judges = "judge=[grounding,reference_match]"
    assert main(["-m", *told, judges, "retriever.top_k=1,3"]) == ExitCode.DONE
    report = the_report()
    assert "of the scores are 5: the rubric tells these answers apart too little" in report
    assert "rank correlation with answer length" in report
    assert "wrong refusal" in report
    assert "refused, and there is none" in report
    assert "by the family of the generator" not in report
