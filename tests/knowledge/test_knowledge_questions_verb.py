"""``runner questions`` from the command line: cost first, exact calls, a review file, and the accepted set."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

from runner.cli import main
from tests.fakes.model_server import ModelServer, fault


def stack(server: ModelServer) -> list[str]:
    address = [f"endpoint.base_url={server.base_url}", "endpoint.api_key_env=null"]
    models = ["generator.model=gen", "judge_defaults.model=judge", "embedder.model=embed"]
    return ["stack=openai_compatible", *address, *models]


def test_draft_review_accept(home: Path, model_server: ModelServer, capsys: pytest.CaptureFixture[str]) -> None:
    reply = {"questions": [{"question": f"Question {n}?", "answer": "So.", "evidence": ""} for n in (1, 2)]}
    model_server.when(fault("text", text=json.dumps(reply)))
    line = ["questions", "--per-document", "2", "--unanswerable", "2", *stack(model_server)]
    assert main(line) == 0
    said = capsys.readouterr().out
    assert said.index("9 calls, 0 of them in the ledger: price unknown") < said.index("18 questions drafted")
    assert model_server.count(path="/chat/completions") == 9
    with Path("questions_review.csv").open(encoding="utf-8-sig", newline="") as file:
        header, *rows = list(csv.reader(file))
    assert len(rows) == 18
    for row in rows[:5]:
        row[0] = "yes"
    with Path("questions_review.csv").open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([header, *rows])
    assert main(["questions", "accept", "questions_review.csv"]) == 0
    assert "5 questions accepted, 0 struck out, 13 undecided" in capsys.readouterr().out
    assert len(Path("questions.jsonl").read_text(encoding="utf-8").splitlines()) == 5
    assert main(["questions", "accept", "questions_review.csv"]) == 1


def test_a_review_file_is_never_overwritten_and_nothing_is_asked(home: Path, model_server: ModelServer) -> None:
    Path("questions_review.csv").write_text("mine", encoding="utf-8")
    assert main(["questions", *stack(model_server)]) == 1
    assert model_server.count() == 0
    assert Path("questions_review.csv").read_text(encoding="utf-8") == "mine"


def test_a_model_that_writes_no_questions_makes_it_incomplete(home: Path, model_server: ModelServer) -> None:
    model_server.when(fault("refusal"))
    assert main(["questions", "--per-document", "1", *stack(model_server)]) == 3


@pytest.mark.parametrize("line", [["--per-document", "x"], ["--paraphrase", "wild"], ["accept"], ["stack=extractive"]])
def test_bad_usage_is_exit_1(home: Path, capsys: pytest.CaptureFixture[str], line: list[str]) -> None:
    assert main(["questions", *line]) == 1
    assert "Traceback" not in capsys.readouterr().err
