"""Rows for spreadsheets: one a question and run, with no cell that a spreadsheet would run."""

from __future__ import annotations

import csv
import io

from hypothesis import given
from hypothesis import strategies as st

from runner.records import RunResult
from runner.report.exports import FORMULA, rows, write_csv
from tests.fakes.records import failed_record, full_record, full_run
from tests.fakes.runs import make_record, make_run


def written(*runs: RunResult) -> list[dict[str, str]]:
    file = io.StringIO(newline="")
    count = write_csv(runs, file)
    read = list(csv.DictReader(io.StringIO(file.getvalue(), newline="")))
    assert len(read) == count
    return read


def test_a_row_holds_question_document_answer_and_what_each_judge_said() -> None:
    record = full_record(1, ("grounding", "reference_match"))
    (row,) = written(full_run("top_k=3", [record]))
    assert (row["run"], row["question_id"], row["gold"]) == ("top_k=3", "q1", "doc1")
    assert row["document"] == "rules0.md | rules1.md | rules2.md"
    assert (row["answer"], row["answer_status"]) == ("Rule 1 says so.", "answered")
    assert (row["grounding_score"], row["grounding_label"], row["grounding_status"]) == ("2.0", "", "scored")
    assert row["reference_match_label"] == "good"
    assert row["grounding_reasoning"] == record.scores["grounding"].rationale
    assert (row["input_tokens"], row["cost_usd"]) == ("1460", "0.003")


def test_what_failed_has_a_reason_and_no_number() -> None:
    failed, unjudged = written(full_run("r", [failed_record(1), full_record(2, failing=("grounding",))]))
    assert failed["answer_status"] == "failed (timeout)"
    assert (failed["grounding_score"], failed["grounding_status"]) == ("", "not_applicable (no_answer)")
    assert (unjudged["grounding_score"], unjudged["grounding_status"]) == ("", "failed (malformed)")
    assert unjudged["grounding_reasoning"] == "no JSON in the reply"


def test_a_price_that_is_not_known_is_no_zero() -> None:
    (row,) = written(full_run("r", [full_record(1, price=None)]))
    assert row["cost_usd"] == ""


@given(st.text(alphabet="=+-@\t\r\n,\"'; a1", max_size=20))
def test_no_text_is_a_formula_and_none_is_lost(text: str) -> None:
    (row,) = written(make_run("r", [make_record("q", {"grounding": 1.0}, text=text)]))
    assert not row["answer"].startswith(FORMULA)
    assert row["answer"].removeprefix("'") == text.removeprefix("'")


def test_runs_with_different_judges_share_one_table() -> None:
    one, two = make_run("a", [make_record("q", {"x": 1.0})]), make_run("b", [make_record("q", {"y": -2.0})])
    first, second = written(one, two)
    assert (first["x_score"], first["y_score"]) == ("1.0", "")
    assert (second["x_score"], second["y_score"]) == ("", "-2.0")
    assert len(list(rows([one, two]))) == 2
