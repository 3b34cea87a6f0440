"""Ids of recorded answers without ids: from the question, so that the answers of two systems are paired."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runner.config.schema import QuestionFields, Questions
from runner.knowledge import load_questions
from runner.knowledge.question_ids import answered_ids
from runner.records import Question, RecordedAnswer

pytestmark = pytest.mark.usefixtures("home")

FIELDS = QuestionFields(answer="answer")


def ids(rows: list[dict[str, object]], fields: QuestionFields = FIELDS) -> list[str]:
    Path("q.jsonl").write_text("\n".join(json.dumps(row) for row in rows), encoding="utf-8")
    return [question.id for question in load_questions(Questions(name="q", path="q.jsonl", fields=fields), 7)]


def row(question: str, answer: str | None, **more: object) -> dict[str, object]:
    return {"question": question, "answer": answer, **more}


def test_the_id_does_not_depend_on_the_answer_nor_on_what_else_was_written_down() -> None:
    one = ids([row("Why?", "So."), row("When?", "May.")])
    fields = QuestionFields(answer="answer", metadata=["seconds"], contexts="passages")
    other = ids([row("When?", None, seconds=3), row("Why?", "No.", seconds=1, passages=["a"])], fields)
    assert one == other[::-1]
    assert all(re.fullmatch(r"q-[0-9a-f]{10}", identity) for identity in one)


def test_equal_texts_are_told_apart_by_reference_and_gold_whatever_their_order() -> None:
    asked = [row("How much?", "1", reference="one"), row("How much?", "2", reference="two", gold="d2")]
    assert len(set(ids(asked))) == 2
    assert ids(asked[::-1]) == ids(asked)[::-1]


def test_one_question_with_different_answers_stays_several_rows_numbered_in_the_order_of_the_file(
    caplog: pytest.LogCaptureFixture,
) -> None:
    first, second, third = ids([row("Why?", "So."), row("Why?", "No."), row("Why?", "So."), row("When?", "May.")])
    assert second == f"{first}-2"
    assert third not in (first, second)
    assert "q.jsonl line 3 repeats q.jsonl line 1" in caplog.text


def test_an_id_that_another_row_brings_is_not_given_twice() -> None:
    (made,) = ids([row("Why?", "So.")])
    assert ids([row("Why?", "So."), row("When?", "May.", id=made)]) == [f"{made}-2", made]


def test_ids_of_questions_without_a_column_of_answers_are_what_they_were() -> None:
    assert ids([{"question": "Why?", "reference": "So."}], QuestionFields()) == ["q-c03976139d"]


TEXTS = st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from(["x", "y", None]), st.text(max_size=3)), max_size=8)


@given(TEXTS, st.lists(st.text(max_size=3), min_size=8, max_size=8))
def test_ids_differ_and_stay_whatever_is_answered(rows: list[tuple[str, str | None, str]], others: list[str]) -> None:
    asked = [Question("", text, reference, recorded=RecordedAnswer(said)) for text, reference, said in rows]
    again = [
        Question("", text, reference, recorded=RecordedAnswer(said))
        for (text, reference, _), said in zip(rows, others, strict=False)
    ]
    found = answered_ids(asked)
    assert len(set(found)) == len(found)
    assert answered_ids(again) == found
