"""Missing answers through the command line: a run that says nothing does not win, and what is left out is said."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from runner.cli import main

pytestmark = pytest.mark.usefixtures("home")

LINE = ("-m", "experiment=recorded_answers", "stack=extractive", "questions.fields.gold=null", "tracking=none")
WRONG = "Bananas are yellow."
Said = Callable[[int, str], str]


def right(_: int, answer: str) -> str:
    return answer


def right_on_odd(number: int, answer: str) -> str:
    return answer if number % 2 else WRONG


def nothing_on_odd(number: int, answer: str) -> str:
    return "" if number % 2 else answer


def write(name: str, said: Said, ids: bool = True) -> None:
    with Path(name).open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow([*(["id"] if ids else []), "question", "answer_llm", "answer_orig"])
        for number in range(1, 25):
            answer = f"The answer number {number} is {number * 7} dollars."
            row = [f"Question number {number}?", said(number, answer), f"answer {number} is {number * 7} dollars."]
            writer.writerow([*([f"q{number}"] if ids else []), *row])


def compared(
    capsys: pytest.CaptureFixture[str], *words: str, ids: bool = True, files: str
) -> tuple[dict[str, Any], str]:
    """The one comparison of a sweep over these files, and what the launch and ``compare`` printed."""
    main([*LINE, *(["questions.fields.id=id"] if ids else []), f"questions.path={files}"])
    shown = capsys.readouterr().out
    main(["compare", shown.split("runner compare ")[-1].split()[0], "--json", "found.json", *words])
    found = json.loads(Path("found.json").read_text(encoding="utf-8"))
    (sweep,) = found if isinstance(found, list) else [found]
    return sweep, " ".join((shown + capsys.readouterr().out).split())


@pytest.mark.parametrize("measure", ["mean", "pass_rate"])
def test_a_run_with_half_of_its_answers_missing_does_not_win_and_is_not_confirmed(
    capsys: pytest.CaptureFixture[str], measure: str
) -> None:
    write("X.csv", right_on_odd)
    write("Y.csv", nothing_on_odd)
    sweep, shown = compared(capsys, "--measure", measure, "--confirm", "0.5", files="X.csv,Y.csv")
    (pair,) = sweep["pairs"]
    assert pair["verdict"] == "undecided"
    assert "12 of 24 questions were left out: 12 without an answer in path=Y.csv." in shown
    assert "12 missing answers could turn the verdict" in shown
    assert "is worse than" not in shown
    assert sweep["confirmation"]["word"] == "open"
    by_name = {one["side"]["name"]: one for one in sweep["standings"]}
    assert [one["may_be_best"] for one in by_name.values()] == [True, True]
    right_x, right_y = by_name["path=X.csv"], by_name["path=Y.csv"]
    # Twelve right each if the missing ones are wrong, and no more than that is sure of either.
    assert right_y["probability_best"] == pytest.approx(0.5, abs=0.1)
    assert right_y["probability_best_highest"] == 1
    assert (right_x["probability_best"], right_x["probability_best_highest"]) == (0, pytest.approx(0.5, abs=0.1))
    assert right_y["side"]["counts"] | {"reasons": {}} == {
        "asked": 24, "scored": 12, "not_applicable": 0, "failed": 12, "no_answer": 12, "reasons": {},
    }  # fmt: skip
    assert (right_y["side"]["pass_worst_case"], right_y["side"]["pass_best_case"]) == (0.5, 1)


def test_missing_answers_are_said_where_every_other_answer_is_equally_right(capsys: pytest.CaptureFixture[str]) -> None:
    write("good.csv", right)
    write("Y.csv", nothing_on_odd)
    sweep, shown = compared(capsys, files="good.csv,Y.csv")
    (pair,) = sweep["pairs"]
    assert pair["verdict"] == "undecided"
    assert "12 missing answers could turn it. 12 of 24 questions were left out: 12 without an answer" in shown
    assert pair["questions_needed"] is None
    assert pair["bounds"]["lowest"] == 0
    assert pair["bounds"]["highest"] == 0.5
    assert pair["bounds"]["word_highest"] == "better"
    assert "50% to 100% pass" in shown
    assert "12 without an answer (no_answer 12); the mean lies between 0.50 and 1.00" in shown


def test_a_gate_does_not_pass_on_the_answers_that_are_there(capsys: pytest.CaptureFixture[str]) -> None:
    write("Y.csv", nothing_on_odd)
    threshold = "gate.thresholds=[{metric: reference_match/pass_rate, at_least: 0.9}]"
    line = [word for word in LINE if word != "-m"]
    main([*line, "questions.fields.id=id", "questions.path=Y.csv", threshold])
    shown = " ".join(capsys.readouterr().out.split())
    assert "reference_match/pass_rate is 1, but 0.5 if failed scores and missing answers count against it" in shown


def test_answers_without_ids_are_paired_as_those_with_ids_are(capsys: pytest.CaptureFixture[str]) -> None:
    for ids in (True, False):
        write("good.csv", right, ids)
        write("X.csv", right_on_odd, ids)
        sweep, shown = compared(capsys, ids=ids, files="good.csv,X.csv")
        (pair,) = sweep["pairs"]
        assert (pair["verdict"], pair["questions"], pair["difference"]) == ("better", 24, 0.5)
        assert "left out" not in shown
