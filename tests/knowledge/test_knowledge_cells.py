"""Where a text is meant only a text will do: paths into objects and lists, and what is refused with its row."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from runner.config.schema import QuestionFields, Questions
from runner.errors import ConfigurationError
from runner.json_paths import NotThere, select
from runner.knowledge import load_questions
from runner.records import Question, RecordedAnswer


def load(rows: list[dict[str, Any]], **fields: Any) -> tuple[Question, ...]:
    text = "".join(json.dumps({"question": f"Q{n}?"} | row) + "\n" for n, row in enumerate(rows))
    Path("q.jsonl").write_text(text, encoding="utf-8")
    named = QuestionFields(answer="answer", **fields)
    return load_questions(Questions(name="q", path="q.jsonl", fields=named), 7)


def problems_of(rows: list[dict[str, Any]], **fields: Any) -> list[str]:
    with pytest.raises(ConfigurationError) as caught:
        load(rows, **fields)
    return [str(problem) for problem in caught.value.problems]


def test_a_star_in_a_path_takes_the_texts_of_all_recorded_contexts(home: Path) -> None:
    rows: list[dict[str, Any]] = [
        {"answer": "a", "ctx": [{"text": "p", "score": 1}, {"text": "q"}]},
        {"answer": "a", "ctx": []},
        {"answer": "a"},
    ]
    first, second, third = load(rows, contexts="ctx.*.text")
    assert first.recorded == RecordedAnswer("a", ("p", "q"))
    assert second.recorded == third.recorded == RecordedAnswer("a")


def test_stars_and_places_in_lists_work_for_every_field(home: Path) -> None:
    row = {"answer": "a", "docs": [{"id": "x"}, {"id": "y"}], "messages": [{"content": "Why?"}], "tags": {"a": ["b"]}}
    (question,) = load([row], text="messages.0.content", gold="docs.*.id", metadata=["tags.a.0"])
    assert (question.text, question.gold, question.metadata) == ("Why?", ("x", "y"), {"tags.a.0": "b"})


def test_recorded_contexts_that_are_objects_are_refused_with_the_path_that_leads_to_their_texts(home: Path) -> None:
    rows: list[dict[str, Any]] = [
        {"answer": "a", "ctx": [{"text": "p", "score": 1}, None]},
        {"answer": "a", "ctx": {"text": "p"}},
        {"answer": "a", "ctx": ["p", None]},
    ]
    assert problems_of(rows, contexts="ctx") == [
        "q.jsonl line 1: has an object in ctx.0 where a text is meant (it holds: text, score); "
        "lead to the text inside, such as questions.fields.contexts=ctx.*.text",
        "q.jsonl line 2: has an object in ctx where a list of texts is meant (it holds: text); "
        "lead to the text inside, such as questions.fields.contexts=ctx.text",
        "q.jsonl line 3: has nothing (null) in ctx.1 where a text is meant; mend the row or questions.fields.contexts",
    ]


@pytest.mark.parametrize("said", [5, 0.5, True, [["p"]], [5]])
def test_recorded_contexts_that_are_numbers_are_a_problem_of_their_row(home: Path, said: Any) -> None:
    (problem,) = problems_of([{"answer": "a", "ctx": "fine"}, {"answer": "a", "ctx": said}], contexts="ctx")
    assert problem.startswith("q.jsonl line 2: has ")


@pytest.mark.parametrize("key", ["question", "answer", "reference", "gold", "evidence"])
@pytest.mark.parametrize("said", [False, {"a": 1}, [["a"]]])
def test_what_is_no_text_is_refused_where_a_text_is_meant(home: Path, key: str, said: Any) -> None:
    (problem,) = problems_of([{"answer": "a"}, {"answer": "a"} | {key: said}])
    assert problem.startswith("q.jsonl line 2: has ")
    assert f"questions.fields.{'text' if key == 'question' else key}" in problem


def test_a_list_is_no_answer_and_no_question_but_a_number_is_one(home: Path) -> None:
    assert "has a list in answer where a text is meant" in problems_of([{"answer": ["a", "b"]}])[0]
    assert "has a list in question where a text is meant" in problems_of([{"answer": "a", "question": ["b"]}])[0]
    (question,) = load([{"answer": 42, "reference": 4.5}])
    assert (question.recorded, question.reference) == (RecordedAnswer("42"), "4.5")


@pytest.mark.parametrize("path", ["ctx.*.txt", "ctx.0.txt", "ctx.text", "output.text", "cxt"])
def test_a_path_that_exists_in_no_row_is_refused_once(home: Path, path: str) -> None:
    rows: list[dict[str, Any]] = [{"answer": "a", "ctx": [{"text": "p"}], "output": "o"}]
    rows.append({"answer": "b", "ctx": [{"text": "q"}]})
    (problem,) = problems_of(rows, contexts=path)
    assert problem.startswith(f"q.jsonl: has no column {path} (")
    (problem,) = problems_of(rows, metadata=[path])
    assert problem.startswith(f"q.jsonl: has no column {path} (")


def test_a_path_that_leads_to_some_texts_of_a_list_and_not_to_others_is_a_problem_of_the_row(home: Path) -> None:
    rows: list[dict[str, Any]] = [
        {"answer": "a", "ctx": [{"text": "p"}, {"txt": "q"}]},
        {"answer": "a", "ctx": [{"text": "p"}, None]},
    ]
    first, second = problems_of(rows, contexts="ctx.*.text")
    assert first.startswith("q.jsonl line 1: has nothing at ctx.*.text in one of them (ctx.* holds: txt)")
    assert second.startswith("q.jsonl line 2: has nothing at ctx.*.text in one of them (ctx.* holds: nothing (null))")


def test_a_path_says_how_far_it_led() -> None:
    with pytest.raises(NotThere, match=r"^a\.5 \(a holds: a list\)$"):
        select({"a": [1]}, "a.5.b")
    with pytest.raises(NotThere, match=r"^x \(the whole holds: a\)$"):
        select({"a": [1]}, "x")
