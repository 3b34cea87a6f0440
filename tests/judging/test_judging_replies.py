"""Reading verdicts: fences and prose are passed over, nothing is guessed, nothing is pulled onto the scale."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runner.config.schema import Scale
from runner.judging.replies import Reading, Unreadable, read_verdict
from runner.records import Reason

FIVE = Scale(kind="ordinal", min=1, max=5, pass_at=4)
GOOD = Scale(kind="labels", values={"good": 1, "bad": 0}, pass_at=1)
YES = Scale(kind="boolean")
SHARE = Scale(kind="continuous", min=0, max=1, pass_at=0.5)


@pytest.mark.parametrize("written", ["4", "4.0", '"4"', '"4.0"', '"4/5"', '" 4 / 5 "'])
def test_the_same_score_in_all_its_spellings(written: str) -> None:
    reading = read_verdict(FIVE, f'{{"reasoning": "r", "score": {written}}}')
    assert reading == Reading(4.0, None, "r")


@pytest.mark.parametrize(
    "reply",
    [
        '```json\n{"reasoning": "r", "score": 10}\n```',
        'Here is my verdict for {the answer}:\n{"reasoning": "r", "score": 10}\nOn a scale of 0 to 3, I hope it helps.',
        '\ufeff {"reasoning": "r", "score": 10, "pass": false, "note": {"score": 1}}',
        '{"reasoning": "r", "score": 10} {"reasoning": "again", "score": 10}',
    ],
)
def test_fences_and_prose_around_the_json_are_passed_over(reply: str) -> None:
    assert read_verdict(Scale(kind="ordinal", min=0, max=10, pass_at=7), reply) == Reading(10.0, None, "r")


@pytest.mark.parametrize(
    ("written", "reason"),
    [
        ("6", Reason.OFF_SCALE),
        ("0", Reason.OFF_SCALE),
        ("4.5", Reason.OFF_SCALE),
        ('"4/10"', Reason.OFF_SCALE),
        ("-1", Reason.OFF_SCALE),
        ("1e400", Reason.MALFORMED),
        ("true", Reason.MALFORMED),
        ("null", Reason.MALFORMED),
        ("[4]", Reason.MALFORMED),
        ('"four"', Reason.MALFORMED),
        ('"4 out of 5"', Reason.MALFORMED),
        ("NaN", Reason.MALFORMED),
        ("Infinity", Reason.MALFORMED),
    ],
)
def test_a_value_that_is_none_of_the_scale_is_refused_with_its_reason(written: str, reason: Reason) -> None:
    reading = read_verdict(FIVE, f'{{"reasoning": "r", "score": {written}}}')
    assert isinstance(reading, Unreadable)
    assert reading.reason == reason


@pytest.mark.parametrize(
    "reply",
    [
        "",
        "4",
        "On a scale of 0 to 3, I rate 3.",
        "Score: 5/5",
        '{"reasoning": "no score"}',
        '{"score": 5, "score": 1}',
        '{"reasoning": "a", "score": 5} or rather {"reasoning": "b", "score": 1}',
        '{"reasoning": "he wrote {"score": 5} but", "score": 1}',
        '{"reasoning": "cut off after {\\"score\\": 5}',
        '[{"score": 5}, {"score": 4}]',
    ],
)
def test_no_number_is_ever_picked_out_of_text(reply: str) -> None:
    reading = read_verdict(FIVE, reply)
    assert isinstance(reading, Unreadable)
    assert reading.reason == Reason.MALFORMED


def test_zero_is_a_value_and_absence_is_none() -> None:
    assert read_verdict(Scale(kind="ordinal", min=0, max=3, pass_at=2), '{"score": 0}') == Reading(0.0, None, "")
    assert isinstance(read_verdict(SHARE, "{}"), Unreadable)


def test_labels_and_booleans() -> None:
    assert read_verdict(GOOD, '{"label": "Good "}') == Reading(1.0, "good", "")
    assert read_verdict(YES, '{"verdict": false}') == Reading(0.0, "false", "")
    assert read_verdict(YES, '{"verdict": "True"}') == Reading(1.0, "true", "")
    for reply in ('{"label": "goodish"}', '{"label": "not good"}', '{"label": 1}', '{"label": "good or bad"}'):
        assert isinstance(read_verdict(GOOD, reply), Unreadable), reply
    assert isinstance(read_verdict(YES, '{"verdict": 1}'), Unreadable)


@given(st.text(), st.integers(1, 5))
def test_whatever_the_reasoning_holds_the_value_is_the_stated_one(reasoning: str, score: int) -> None:
    reply = json.dumps({"reasoning": reasoning, "score": score}, ensure_ascii=False)
    assert read_verdict(FIVE, f"```json\n{reply}\n```") == Reading(float(score), None, reasoning)


@given(st.recursive(st.none() | st.booleans() | st.floats() | st.text(), lambda inner: st.lists(inner, max_size=3)))
def test_no_value_breaks_the_reader(value: object) -> None:
    reading = read_verdict(SHARE, json.dumps({"score": value}))
    assert isinstance(reading, Unreadable) or 0 <= reading.score <= 1


@given(st.text(max_size=200))
def test_no_reply_breaks_the_reader(reply: str) -> None:
    assert isinstance(read_verdict(FIVE, reply), Unreadable | Reading)
