"""Questions from a log: windows of time, and a seeded share of what falls into them."""

from __future__ import annotations

import json
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runner.config.schema import QuestionFields, Questions
from runner.errors import ConfigurationError
from runner.knowledge import load_questions
from runner.knowledge.windows import moment

FIELDS = QuestionFields(id="id", text="q", answer="a.text", time="at", metadata=["kind"])


def questions(path: Path, times: list[Any], **values: Any) -> list[str]:
    rows = [
        {"id": f"q{n}", "q": f"Q{n}", "a": {"text": f"A{n}"}, "at": at, "kind": "ab"[n % 2]}
        for n, at in enumerate(times)
    ]
    file = path / "log.jsonl"
    file.write_text("\n".join(json.dumps(row) for row in rows))
    asked = Questions(name="log", path=str(file), fields=FIELDS, **values)
    found = load_questions(asked, 7)
    assert all(one.recorded and one.recorded.text == f"A{one.id[1:]}" for one in found)
    return [one.id for one in found]


def test_a_window_holds_its_beginning_and_not_its_end(tmp_path: Path) -> None:
    # The same moment in five ways of writing, an hour before it, and an hour after.
    times = ["2026-11-01T12:00Z", "2026-11-01T12:00", "2026-11-01T13:00+01:00", 1793534400, 1793534400000]
    times += ["2026-11-01T11:00Z", "1793538000"]
    assert questions(tmp_path, times, since="2026-11-01T12:00", until="2026-11-01T13:00") == [
        "q0",
        "q1",
        "q2",
        "q3",
        "q4",
    ]
    assert questions(tmp_path, times, until="2026-11-01T12:00") == ["q5"]
    assert questions(tmp_path, times, since="2026-11-01T14:00+01:00") == ["q6"]
    assert len(questions(tmp_path, times)) == 7


@pytest.mark.parametrize("wrong", [None, "yesterday", True, 1e300])
def test_a_row_without_a_legible_time_is_named(tmp_path: Path, wrong: Any) -> None:
    with pytest.raises(ConfigurationError, match=r"log\.jsonl line 2: has no legible time"):
        questions(tmp_path, ["2026-11-01", wrong], since="2026-01-01")


def test_an_empty_window_is_said(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"was asked between questions\.since and until"):
        questions(tmp_path, ["2026-11-01"], since="2027-01-01")


def test_a_share_is_drawn_with_the_seed_and_spread_over_strata(tmp_path: Path) -> None:
    times = ["2026-11-01"] * 40
    drawn = questions(tmp_path, times, fraction=0.25, strata="kind")
    assert drawn == questions(tmp_path, times, fraction=0.25, strata="kind")
    assert [int(one[1:]) % 2 for one in drawn].count(0) == 5
    assert len(questions(tmp_path, times, fraction=0.001)) == 1


@given(st.datetimes(min_value=datetime(1980, 1, 1), max_value=datetime(4000, 1, 1)))
def test_all_ways_of_writing_a_moment_agree(at: Any) -> None:
    at = at.replace(microsecond=0)
    known = moment(at.isoformat())
    assert moment(known.timestamp()) == moment(str(int(known.timestamp()) * 1000)) == known
