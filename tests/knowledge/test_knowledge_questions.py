"""Question sets: reading, repeats, samples, and checks against the knowledge base and the judges."""

from __future__ import annotations

import json
import logging
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runner.config.schema import QuestionFields, Questions
from runner.errors import ConfigurationError
from runner.knowledge import check_questions, load_questions, with_gold_ids
from runner.knowledge.sampling import apportion
from runner.records import Document, Question, RecordedAnswer


def load(name: str, text: str, seed: int = 7, **settings: Any) -> tuple[Question, ...]:
    Path(name).write_text(text, encoding="utf-8")
    return load_questions(Questions(name="q", path=name, **settings), seed)


def problems_of(name: str, text: str, **settings: Any) -> list[str]:
    with pytest.raises(ConfigurationError) as caught:
        load(name, text, **settings)
    return [str(problem) for problem in caught.value.problems]


def test_csv_with_several_gold_ids_in_one_cell(home: Path) -> None:
    text = (
        'id,question,reference,gold,answerable\n1,Why?,So.,housing; graduation,\n2,How?,,"[""a;b""]",yes\n3,Who?,,,no\n'
    )
    first, second, third = load("q.csv", text)
    assert first == Question("1", "Why?", "So.", ("housing", "graduation"), True)
    assert (second.gold, second.reference, second.answerable) == (("a;b",), None, True)
    assert (third.gold, third.answerable) == ((), False)


def test_recorded_answers_and_contexts(home: Path) -> None:
    rows = [
        {"question": "A?", "answer": "yes", "contexts": ["one", "two"]},
        {"question": "B?", "answer": "", "contexts": []},
        {"question": "C?", "answer": None},
    ]
    fields = QuestionFields(answer="answer", contexts="contexts")
    first, second, third = load("q.json", json.dumps(rows), fields=fields)
    assert first.recorded == RecordedAnswer("yes", ("one", "two"))
    assert second.recorded == RecordedAnswer("")
    assert third.recorded is None


def test_recorded_answers_without_a_column_of_gold_documents_are_read(
    home: Path, caplog: pytest.LogCaptureFixture
) -> None:
    fields = QuestionFields(id=None, answer="answer_llm", reference="answer_orig", gold="document")
    with caplog.at_level(logging.WARNING):
        (only,) = load("answers.csv", "question,answer_llm,answer_orig\nWhen?,In May.,May.\n", fields=fields)
    assert (only.gold, only.reference, only.recorded) == ((), "May.", RecordedAnswer("In May."))
    assert [record.message for record in caplog.records] == [
        "answers.csv has no column document: no question has gold documents, so retrieval is not measured."
    ]


@pytest.mark.parametrize("key", ["id", "reference", "gold", "evidence", "answerable", "answer", "contexts", "time"])
def test_a_missing_column_is_refused_with_a_remedy_that_can_be_followed(home: Path, key: str) -> None:
    (said,) = problems_of("q.csv", "question\nWhy?\n", fields=QuestionFields(**{key: "wanted"}))
    assert said.startswith("q.csv: has no column wanted (there are: question)")
    assert f"questions.fields.{key}=null if there is none" in said
    assert load("q.csv", "question\nWhy?\n", fields=QuestionFields(**{key: None}))


def test_ids_made_from_content_stay_when_rows_are_added_above(home: Path) -> None:
    before = load("q.csv", "question\nWhy?\nHow?\n")
    after = load("q.csv", "question\nNew?\nWhy?\nHow?\n")
    assert [question.id for question in before] == [question.id for question in after[1:]]
    assert len({question.id for question in after}) == 3


def test_repeated_rows_are_left_out_and_reported(home: Path, caplog: pytest.LogCaptureFixture) -> None:
    text = "question,gold\nWhy?,a\nHow?,a\nWhy?,a\nWhy?,b\n"
    with caplog.at_level(logging.WARNING):
        questions = load("q.csv", text)
    assert [(question.text, question.gold) for question in questions] == [
        ("Why?", ("a",)),
        ("How?", ("a",)),
        ("Why?", ("b",)),
    ]
    assert "q.csv row 4 repeats q.csv row 2" in caplog.text


def test_every_problem_is_listed_with_its_row(home: Path) -> None:
    text = "id,question,gold,answerable\n1,,a,\n2,Fine?,a,perhaps\n3,Fine?,a,no\n4,Fine?,,\n4,Other?,,\n"
    found = problems_of("q.csv", text)
    assert [problem.split(":")[0] for problem in found] == ["q.csv row 2", "q.csv row 3", "q.csv row 4", "q.csv row 6"]


def test_columns_that_the_user_names_must_be_there(home: Path) -> None:
    fields = QuestionFields(text="query", reference="truth", metadata=["kind"])
    found = problems_of("q.csv", "id,question\n1,Why?\n", fields=fields)
    assert ["query" in found[0], "truth" in found[1], "kind" in found[2]] == [True] * 3
    assert "questions.fields.text" in found[0]
    assert "id, question" in found[0]


@pytest.mark.parametrize(
    ("name", "text", "word"), [("q.csv", "question\n", "no question"), ("q.xml", "<a/>", "unknown file type")]
)
def test_empty_and_unknown_files(home: Path, name: str, text: str, word: str) -> None:
    (problem,) = problems_of(name, text)
    assert problem.startswith("questions.path")
    assert word in problem


def test_a_missing_file_says_where_was_looked(home: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"questions\.path: nowhere\.csv does not exist; looked in"):
        load_questions(Questions(name="q", path="nowhere.csv"), 7)


def many(count: int, kinds: int = 1) -> str:
    rows = (f"{number},Question {number}?,kind{number % kinds}" for number in range(count))
    return "id,question,kind\n" + "\n".join(rows)


def test_sample_and_limit_are_seeded_and_keep_the_order(home: Path) -> None:
    one = load("q.csv", many(100), sample=10)
    assert one == load("q.csv", many(100), sample=10)
    assert one != load("q.csv", many(100), seed=8, sample=10)
    assert [int(question.id) for question in one] == sorted(int(question.id) for question in one)
    assert load("q.csv", many(100), sample=10, limit=4) == one[:4]
    assert [question.id for question in load("q.csv", many(100), limit=3)] == ["0", "1", "2"]
    assert len(load("q.csv", many(5), sample=10)) == 5


def test_a_sample_changes_little_when_questions_are_added(home: Path) -> None:
    before = {question.id for question in load("q.csv", many(100), sample=20)}
    after = {question.id for question in load("q.csv", many(105), sample=20)}
    assert len(before & after) >= 15


def test_strata_get_their_share(home: Path) -> None:
    rows = [{"id": n, "question": f"{n}?", "kind": "rare" if n < 10 else "common"} for n in range(100)]
    questions = load("q.json", json.dumps(rows), sample=20, strata="kind", fields=QuestionFields(metadata=["kind"]))
    assert Counter(question.metadata["kind"] for question in questions) == {"rare": 2, "common": 18}
    (problem,) = problems_of("q.json", json.dumps(rows), sample=2, strata="kind")
    assert problem.startswith("questions.strata")


@given(st.integers(0, 10_000), st.lists(st.integers(0, 1000), min_size=1, max_size=20))
def test_largest_remainder_adds_up_and_is_never_a_whole_unit_off(total: int, weights: list[int]) -> None:
    parts = apportion(total, weights)
    assert sum(parts) == total
    if sum(weights):
        assert all(abs(part - total * weight / sum(weights)) < 1 for part, weight in zip(parts, weights, strict=True))


def test_checks_against_the_knowledge_base(home: Path) -> None:
    documents = [Document("housing", "text")]
    questions = [
        Question("1", "Where?", gold=("housing",), reference="There."),
        Question("2", "Where?", gold=("hosing", "x-y")),
        Question("3", "Where do I go?", reference="  where do i GO "),
    ]
    found = [str(problem) for problem in check_questions(questions, documents, needs_reference=["reference_match"])]
    assert found[0] == "question 2: no document has the gold id hosing; did you mean housing?"
    assert found[1].startswith("question 2: no document has the gold id x-y")
    assert found[2].startswith("question 3: has a reference answer that is the question itself")
    assert len(found) == 3
    assert check_questions(questions[1:2], [], needs_reference=[]) == []


def test_a_judge_that_needs_references_where_there_are_none() -> None:
    (problem,) = check_questions([Question("1", "Why?")], [], needs_reference=["reference_match"])
    assert problem.where == "judges.reference_match"
    assert check_questions([Question("1", "Why?"), Question("2", "How?", "So.")], [], needs_reference=["x"]) == []


def test_gold_that_names_the_file_of_a_document_means_the_document(home: Path) -> None:
    documents = [Document("a", "text", source="a.md"), Document("p/b", "text", source="p/b.md")]
    questions = [Question("1", "Where?", gold=("a.md", "a", "p/b.md")), Question("2", "Who?", gold=("a",))]
    first, second = with_gold_ids(questions, documents)
    assert first == Question("1", "Where?", gold=("a", "p/b"))
    assert second is questions[1]
    named_like_a_file = [Document("a.md", "a row"), Document("a", "text", source="a.md")]
    assert with_gold_ids(questions[:1], named_like_a_file)[0].gold == ("a.md", "a", "p/b.md")


@pytest.mark.parametrize("gold", ["a.txt", "A.md", "A", "folder/a.md"])
def test_gold_that_differs_from_an_id_by_ending_case_or_folder_is_told_the_id(home: Path, gold: str) -> None:
    (problem,) = check_questions(
        [Question("1", "Where?", gold=(gold,))], [Document("a", "t"), Document("z", "t")], needs_reference=[]
    )
    assert str(problem) == f"question 1: no document has the gold id {gold}; did you mean a?"
