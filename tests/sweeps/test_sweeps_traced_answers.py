"""Answers out of MLflow traces: our own traces lead back to the same verdicts, other libraries' shapes are found."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from runner.cli import main
from runner.errors import ExitCode
from runner.tracking.production import ANSWER_KEYS, QUESTION_KEYS, Wanted, row_of, text_at
from tests.fakes.model_server import ModelServer
from tests.sweeps.driving import run, statistics_files

pytestmark = pytest.mark.usefixtures("home")


def test_traces_become_recorded_answers_with_the_same_verdicts_and_no_new_call(
    model_server: ModelServer, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(model_server, "questions.limit=3", "tracking=mlflow", "name=service") == ExitCode.DONE
    live = statistics_files()[0]["assessments"]
    asked = model_server.count()
    assert main(["questions", "traces", "--experiment", "service"]) == ExitCode.DONE
    assert "3 traces, 3 with question and answer (" in capsys.readouterr().out
    rows = [json.loads(line) for line in Path("answers.jsonl").read_text(encoding="utf-8").splitlines()]
    assert all(row["contexts"] and row["time"] for row in rows)
    line = ["questions=traces", "generator=recorded", "generator.model=recorded", "knowledge_base=none"]
    assert run(model_server, *line, "retriever=none", "questions.since=2020-01-01") == ExitCode.DONE
    assert model_server.count() == asked
    again = statistics_files()[0]["assessments"]
    keys = ("question", "answer", "grounding_score", "grounding_reason", "topicality_score")
    assert sorted([one[key] for key in keys] for one in again) == sorted([one[key] for key in keys] for one in live)
    # Nothing is overwritten, and what is not there is said.
    assert main(["questions", "traces", "--experiment", "service"]) == ExitCode.BAD_CONFIGURATION
    assert main(["questions", "traces", "--experiment", "no", "--output", "b"]) == ExitCode.BAD_CONFIGURATION
    late = ["--since", "2999-01-01", "--output", "b"]
    assert main(["questions", "traces", "--experiment", "service", *late]) == ExitCode.BAD_CONFIGURATION
    assert "has no trace in this window" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("inputs", "outputs"),
    [
        ("Q", "A"),
        ({"question": "Q"}, {"answer": "A", "sources": []}),
        ({"messages": [{"role": "system", "content": "S"}, {"role": "user", "content": "Q"}]}, {"output": "A"}),
        ({"input": {"query": "Q"}}, {"choices": [{"message": {"role": "assistant", "content": "A"}}]}),
        ({"anything": "Q"}, [{"text": "A"}]),
    ],
)
def test_the_shapes_of_other_libraries_are_found(inputs: Any, outputs: Any) -> None:
    passages = [{"page_content": "P1", "metadata": {}}, {"text": "P2"}, {"other": 1}]
    spans = [(False, "RETRIEVER", "q", passages), (True, "CHAIN", inputs, outputs)]
    row = row_of("t", 0, spans, Wanted("e"))
    assert row == {
        "id": "t",
        "question": "Q",
        "answer": "A",
        "contexts": ["P1", "P2"],
        "time": "1970-01-01T00:00:00.000+00:00",
    }


def test_paths_lead_where_nothing_is_where_it_usually_is() -> None:
    told = {"a": {"b": ["x", "y"]}, "c": "z"}
    assert text_at(told, "a.b.-1", QUESTION_KEYS) == "y"
    assert text_at(told, "a.b.7", QUESTION_KEYS) == ""
    assert text_at(told, "", ANSWER_KEYS) == ""
    assert row_of("t", 0, [(True, "CHAIN", "Q", None)], Wanted("e")) is None
    assert row_of("t", 0, [], Wanted("e")) is None
