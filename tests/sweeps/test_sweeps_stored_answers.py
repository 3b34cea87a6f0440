"""Rubrics over answers that exist already: whole sweeps pay judge calls only, and only for what was edited."""

from __future__ import annotations

import json
from collections.abc import Sequence
from decimal import Decimal
from pathlib import Path

import pytest

from runner.cli import main
from runner.errors import ExitCode
from tests.calls.calls_helpers import rows
from tests.fakes.judged import CONF
from tests.fakes.model_server import ModelServer, Request
from tests.sweeps.driving import GENERATOR, JUDGE, PRICES, money, run, statistics_files

pytestmark = pytest.mark.usefixtures("home")

QUESTIONS = 6
BOTH_RUBRICS = "rubric@judges.topicality.rubric=topicality_v1,topicality_v2"
THREE_JUDGES = ("judge=[grounding,topicality,reference_match]", f"questions.limit={QUESTIONS}")


def ledger_money(home: Path, model: str | None = None) -> Decimal:
    """All that the ledger has ever booked (of one model), read from its file."""
    where = "1" if model is None else f"asked_model = '{model}'"
    return sum((Decimal(cost) for (cost,) in rows(home, "total_cost", where) if cost is not None), Decimal(0))


def price_of(requests: Sequence[Request]) -> Decimal:
    """What these requests to the judge cost by the price list."""
    given, made = PRICES[JUDGE]
    return sum((r.input_tokens * given + r.output_tokens * made for r in requests), Decimal(0)) / 1_000_000


def edited(name: str, version: int | None = None) -> None:
    """One word of the shipped topicality_v2, changed in a file of the user's own."""
    text = (CONF / "rubric" / "topicality_v2.yaml").read_text(encoding="utf-8")
    assert text.count("First list") == 1
    text = text.replace("First list", "First name")
    if version is not None:
        text = text.replace("version: 2", f"version: {version}")
    Path("conf/rubric").mkdir(parents=True, exist_ok=True)
    Path(f"conf/rubric/{name}.yaml").write_text(text, encoding="utf-8")


def judge_stages(home: Path) -> dict[str, int]:
    return {stage: len(rows(home, "id", f"stage = '{stage}'")) for (stage,) in set(rows(home, "stage"))}


def test_two_rubrics_over_recorded_answers_ask_judges_alone(model_server: ModelServer, home: Path) -> None:
    lines = [
        {"question": f"What is rule {n}?", "answer_llm": f"Rule {n} says so.", "answer_orig": f"Rule {n}."}
        for n in range(QUESTIONS)
    ]
    Path("answers.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    code = run(
        model_server,
        "-m",
        "experiment=recorded_answers",
        "questions.path=answers.jsonl",
        "questions.fields.gold=null",
        "judge=[topicality]",
        BOTH_RUBRICS,
        "generator=recorded",
        "retriever=none",
    )
    assert code == ExitCode.DONE
    assert model_server.by_model() == {JUDGE: 2 * QUESTIONS}
    assert judge_stages(home) == {"judge": 2 * QUESTIONS}
    assert ledger_money(home) == money(model_server) > 0


def test_a_second_rubric_on_the_answers_of_an_earlier_run_pays_its_own_calls(
    model_server: ModelServer, home: Path
) -> None:
    common = ("judge=[topicality]", f"questions.limit={QUESTIONS}")
    assert run(model_server, *common, "rubric@judges.topicality.rubric=topicality_v1") == ExitCode.DONE
    assert model_server.by_model() == {GENERATOR: QUESTIONS, JUDGE: QUESTIONS}
    before = ledger_money(home)
    assert run(model_server, "-m", *common, BOTH_RUBRICS) == ExitCode.DONE
    assert model_server.by_model() == {GENERATOR: QUESTIONS, JUDGE: 2 * QUESTIONS}
    assert ledger_money(home) - before == price_of(model_server.select(model=JUDGE)[QUESTIONS:]) > 0
    assert ledger_money(home) == money(model_server)
    old, new = statistics_files()
    assert [each["answer"] for each in old["assessments"]] == [each["answer"] for each in new["assessments"]]


def test_answers_exported_from_a_run_are_judged_again_without_a_generator(
    model_server: ModelServer, home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(model_server, "judge=[topicality]", f"questions.limit={QUESTIONS}") == ExitCode.DONE
    (sweep,) = (home / "sweeps").glob("*.json")
    assert main(["report", sweep.stem, "--jsonl", "run.jsonl"]) == ExitCode.DONE
    model_server.reset()
    stored = ("questions=stored_run", "questions.path=run.jsonl", "generator=recorded", "retriever=none")
    code = run(model_server, "-m", *stored, "knowledge_base=none", "judge=[grounding,topicality]", BOTH_RUBRICS)
    assert code == ExitCode.DONE
    # Grounding and topicality v1 are new; topicality v2 was asked about the same answers in the first run.
    assert model_server.by_model() == {JUDGE: 2 * QUESTIONS}


def test_an_edited_word_is_refused_with_the_difference_before_anything_is_paid(
    model_server: ModelServer, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(model_server, *THREE_JUDGES) == ExitCode.DONE
    asked = model_server.count()
    edited("topicality_v2")
    capsys.readouterr()
    assert run(model_server, *THREE_JUDGES) == ExitCode.BAD_CONFIGURATION
    told = capsys.readouterr().err
    assert model_server.count() == asked
    assert "topicality@2 has results under another text" in told
    assert "-First list" in told
    assert "+First name" in told
    assert "version: 3" in told
    assert "allow_rubric_edit=true" in told


@pytest.mark.parametrize("way", ["allow", "bump"])
def test_an_edited_word_pays_that_judges_calls_and_no_others(way: str, model_server: ModelServer, home: Path) -> None:
    assert run(model_server, *THREE_JUDGES) == ExitCode.DONE
    assert model_server.by_model() == {GENERATOR: QUESTIONS, JUDGE: 3 * QUESTIONS}
    before, answers = ledger_money(home), ledger_money(home, GENERATOR)
    if way == "allow":
        edited("topicality_v2")
        change = ["allow_rubric_edit=true"]
    else:
        edited("topicality_v3", version=3)
        change = ["rubric@judges.topicality.rubric=topicality_v3"]
    assert run(model_server, *THREE_JUDGES, *change) == ExitCode.DONE
    assert model_server.by_model() == {GENERATOR: QUESTIONS, JUDGE: 4 * QUESTIONS}
    new = model_server.select(model=JUDGE)[3 * QUESTIONS :]
    assert all("First name" in str(request.body) for request in new)
    assert ledger_money(home) - before == price_of(new) > 0
    assert ledger_money(home, GENERATOR) == answers
    assert ledger_money(home) == money(model_server)
    # The verdicts under the old text are in the ledger, but no part of the new run.
    old = [request for request in model_server.select(model=JUDGE) if "First list" in str(request.body)]
    assert len(old) == QUESTIONS
    (statistics,) = statistics_files()
    total = Decimal(str(statistics["run_info"]["usage"]["total_cost"]))
    assert total == ledger_money(home) - price_of(old)
