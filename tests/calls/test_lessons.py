"""Lessons about models live in the home: believed by the next run, for a month, and never needed."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from runner.calls.capabilities import Capabilities
from runner.calls.lessons import PROBE, Lesson, Lessons
from runner.config.schema import Capability

PLACE = ("openai_compatible", "m")
SERVER = "http://a/v1"
BODY = {"temperature": 0, "max_tokens": 5, "response_format": {}}


def sent(told: Capabilities, model: str = "m", provider: str = "openai_compatible") -> set[str]:
    return set(told.adapt(provider, model, BODY, server=SERVER)[0])


def test_what_one_door_was_told_the_next_one_knows_with_its_date(tmp_path: Path) -> None:
    first = Capabilities(lessons=Lessons(tmp_path))
    first.refuse(*PLACE, "temperature", server=SERVER)
    first.refuse(*PLACE, "max_tokens", server=SERVER)
    assert sent(Capabilities(lessons=Lessons(tmp_path))) == {"max_completion_tokens", "response_format"}
    (entry,) = json.loads((tmp_path / "capabilities.json").read_text(encoding="utf-8"))
    assert (entry["model"], entry["server"], entry["refuses"]) == ("m", SERVER, ["max_tokens", "temperature"])
    assert entry["learned_from"] == "a named refusal"
    assert datetime.fromisoformat(entry["learned_at"]) <= datetime.now(UTC)
    assert sent(Capabilities(lessons=Lessons(tmp_path / "other"))) == set(BODY)


def test_the_server_has_the_last_word_over_an_old_lesson(tmp_path: Path) -> None:
    Capabilities(lessons=Lessons(tmp_path)).refuse(*PLACE, "max_tokens", server=SERVER)
    now = Capabilities(lessons=Lessons(tmp_path))
    now.refuse(*PLACE, "max_completion_tokens", server=SERVER)
    assert sent(now) == set(BODY)
    assert sent(Capabilities(lessons=Lessons(tmp_path))) == set(BODY)


@pytest.mark.parametrize(("days", "believed"), [(29, True), (31, False)])
def test_a_lesson_is_believed_for_a_month(tmp_path: Path, days: int, believed: bool) -> None:
    Capabilities(lessons=Lessons(tmp_path)).refuse(*PLACE, "temperature", server=SERVER)
    path = tmp_path / "capabilities.json"
    (entry,) = json.loads(path.read_text(encoding="utf-8"))
    entry["learned_at"] = (datetime.now(UTC) - timedelta(days=days)).isoformat()
    path.write_text(json.dumps([entry]), encoding="utf-8")
    assert ("temperature" in sent(Capabilities(lessons=Lessons(tmp_path)))) is not believed


@pytest.mark.parametrize("content", ["", "{", "[1]", '[{"model": "m"}]', "[]"])
def test_a_file_that_cannot_be_read_costs_a_lesson_and_stops_nothing(tmp_path: Path, content: str) -> None:
    (tmp_path / "capabilities.json").write_text(content, encoding="utf-8")
    told = Capabilities(lessons=Lessons(tmp_path))
    assert sent(told) == set(BODY)
    told.refuse(*PLACE, "temperature", server=SERVER)
    assert "temperature" not in sent(Capabilities(lessons=Lessons(tmp_path)))


def test_a_home_that_cannot_be_written_stops_nothing(tmp_path: Path) -> None:
    (tmp_path / "home").write_text("a file", encoding="utf-8")
    told = Capabilities(lessons=Lessons(tmp_path / "home"))
    told.refuse(*PLACE, "temperature", server=SERVER)
    assert "temperature" not in sent(told)
    assert Lessons(tmp_path / "home").write(Lesson("p", "s", "m")) is False


def test_the_configuration_weighs_more_than_lessons_and_the_table_and_less_than_the_server(tmp_path: Path) -> None:
    Lessons(tmp_path).write(Lesson("openai_compatible", SERVER, "m", ("temperature",), ("response_format",), {}, PROBE))
    said = [Capability("m", refuses=["schema"], takes=["temperature"]), Capability("gpt-5", takes=["temperature"])]
    told = Capabilities(said, Lessons(tmp_path))
    assert sent(told) == {"temperature", "max_tokens"}
    told.refuse(*PLACE, "temperature", server=SERVER)
    assert sent(told) == {"max_tokens"}
    assert sent(Capabilities(said), "gpt-5", "openai") == {"temperature", "max_completion_tokens", "response_format"}
    assert sent(Capabilities(), "gpt-5", "openai") == {"max_completion_tokens", "response_format"}


def test_a_probe_that_saw_it_taken_weighs_more_than_the_table(tmp_path: Path) -> None:
    Lessons(tmp_path).write(Lesson("openai", SERVER, "gpt-5", (), ("temperature",), {"temperature": "taken"}, PROBE))
    assert "temperature" in sent(Capabilities(lessons=Lessons(tmp_path)), "gpt-5", "openai")


def test_lessons_of_an_embedded_server_are_not_kept(tmp_path: Path) -> None:
    Capabilities(lessons=Lessons(tmp_path)).refuse("embedded", "m", "temperature", server="embedded:m")
    assert not (tmp_path / "capabilities.json").exists()


def test_one_schema_that_was_refused_does_not_lose_all_others_for_a_month(tmp_path: Path) -> None:
    told = Capabilities(lessons=Lessons(tmp_path))
    told.refuse(*PLACE, "response_format", server=SERVER)
    assert sent(told) == {"temperature", "max_tokens"}
    assert not (tmp_path / "capabilities.json").exists()
    told.refuse(*PLACE, "temperature", server=SERVER)
    assert sent(Capabilities(lessons=Lessons(tmp_path))) == {"max_tokens", "response_format"}
    Lessons(tmp_path).write(Lesson("openai_compatible", SERVER, "m", ("response_format",), (), {}, PROBE))
    later = Capabilities(lessons=Lessons(tmp_path))
    later.refuse(*PLACE, "temperature", server=SERVER)
    assert sent(Capabilities(lessons=Lessons(tmp_path))) == {"max_tokens"}
