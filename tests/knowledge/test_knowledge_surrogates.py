"""Half a character (a cut emoji, JSON ``"\\ud83d"``) anywhere in the data: replaced where it is read, and told."""

from __future__ import annotations

import json
import logging
from pathlib import Path

import pytest

from runner.config.schema import KnowledgeBase, QuestionFields, Questions
from runner.journal import dump_record, load_record
from runner.knowledge import load_documents, load_questions
from runner.records import Answer, AnswerStatus, Document, Question, Record, RecordedAnswer

CUT = '"cut \\ud83d here"'
MENDED = "cut \ufffd here"
FIELDS = QuestionFields(answer="answer", contexts="contexts", metadata=["tags"])


@pytest.mark.parametrize(
    ("name", "text", "places"),
    [
        (
            "q.jsonl",
            '{"question":"Whole?"}\n'
            f'{{"question":{CUT},"reference":{CUT},"answer":{CUT},"contexts":[{CUT}],"evidence":{CUT},"tags":{{"a":{CUT}}}}}',
            "q.jsonl line 2",
        ),
        (
            "q.json",
            '[{"question":"Whole?"},'
            f'{{"question":{CUT},"reference":{CUT},"answer":{CUT},"contexts":[{CUT}],"evidence":{CUT},"tags":{{"a":{CUT}}}}}]',
            "q.json item 2",
        ),
    ],
)
def test_half_an_emoji_in_a_question_set_is_replaced_and_its_row_is_named(
    home: Path, caplog: pytest.LogCaptureFixture, name: str, text: str, places: str
) -> None:
    Path(name).write_text(text, encoding="utf-8")
    with caplog.at_level(logging.WARNING):
        whole, mended = load_questions(Questions(name="q", path=name, fields=FIELDS), 7)
    assert whole.text == "Whole?"
    assert (mended.text, mended.reference, mended.evidence) == (MENDED, MENDED, (MENDED,))
    assert mended.recorded == RecordedAnswer(MENDED, (MENDED,))
    assert mended.metadata == {"tags": {"a": MENDED}}
    (warning,) = [record.getMessage() for record in caplog.records]
    assert warning.startswith(f"{name}: 1 row holds half a character")
    assert warning.endswith(places)


def test_half_an_emoji_in_a_json_list_in_a_csv_cell_is_replaced(home: Path, caplog: pytest.LogCaptureFixture) -> None:
    Path("q.csv").write_text('question,answer,contexts\nWhy?,So.,"[""cut \\ud83d here""]"\n', encoding="utf-8")
    with caplog.at_level(logging.WARNING):
        (question,) = load_questions(
            Questions(name="q", path="q.csv", fields=QuestionFields(answer="answer", contexts="contexts")), 7
        )
    assert question.recorded == RecordedAnswer("So.", (MENDED,))
    assert "q.csv row 2" in caplog.text


def test_many_halves_are_one_warning_that_counts_them(home: Path, caplog: pytest.LogCaptureFixture) -> None:
    Path("q.jsonl").write_text("".join(f'{{"question":"{n} \\ud83d"}}\n' for n in range(8)), encoding="utf-8")
    with caplog.at_level(logging.WARNING):
        load_questions(Questions(name="q", path="q.jsonl"), 7)
    (warning,) = [record.getMessage() for record in caplog.records]
    assert "8 rows hold" in warning
    assert warning.endswith("q.jsonl line 5 and 3 more")


def test_half_an_emoji_in_a_knowledge_base_is_replaced_in_tables_and_inline(
    home: Path, caplog: pytest.LogCaptureFixture
) -> None:
    Path("d.json").write_text(f'[{{"id":"a","text":{CUT},"title":{CUT}}}]', encoding="utf-8")
    inline = json.loads(f'[{{"id":"a","text":{CUT},"title":{CUT}}}]')
    with caplog.at_level(logging.WARNING):
        (from_file,) = load_documents(KnowledgeBase(name="k", path="d.json"))
        (from_config,) = load_documents(KnowledgeBase(name="k", format="inline", documents=inline))
    assert (from_file.text, from_file.title) == (from_config.text, from_config.title) == (MENDED, MENDED)
    assert "d.json item 1" in caplog.text
    assert "knowledge_base.documents[0]" in caplog.text


def test_a_file_name_that_is_not_utf_8_makes_a_document_id_that_can_be_written(home: Path) -> None:
    folder = home / "docs"
    folder.mkdir(parents=True)
    try:
        (folder / "caf\udce9.txt").write_text("Some text.", encoding="utf-8")
    except (OSError, UnicodeError):
        pytest.skip("this file system takes names of UTF-8 only")
    (document,) = load_documents(KnowledgeBase(name="k", path=str(folder)))
    assert document == Document("caf\ufffd", "Some text.", "", "caf\ufffd.txt")


def test_the_journal_writes_a_record_with_half_a_character() -> None:
    question = Question("q", "\ud83d?", metadata={"\ude00": ["\ud83d"]})
    answer = Answer(AnswerStatus.ANSWERED, text="a \ud83d x")
    read = load_record(dump_record(Record(question, (), answer, {}, finished_at="2026-01-01T00:00:00Z")))
    assert (read.question.text, read.answer.text) == ("\ufffd?", "a \ufffd x")
    assert read.question.metadata == {"\ufffd": ["\ufffd"]}
