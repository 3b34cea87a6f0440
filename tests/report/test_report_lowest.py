"""The worst answers at the end of a launch: one line each, the first judge that let one fail, texts as data."""

from __future__ import annotations

from runner.records import VerdictStatus
from runner.report.lowest import lowest_lines
from tests.fakes.runs import make_record, make_run, make_score


def test_the_worst_answers_come_first_one_line_each_and_at_most_three() -> None:
    records = [
        make_record(f"q{k}", {"topicality": 5, "grounding": value, "other": 1}, text=f"answer {k}\nsecond line " * 20)
        for k, value in enumerate([5, 3, 1, 2, 3.5])
    ]
    lines = lowest_lines([make_run("a", records)])
    assert lines[0] == "lowest scores (grounding):", "the first judge that let an answer fail"
    assert [line[:15] for line in lines[1:]] == ["  1 q2: answer ", "  2 q3: answer ", "  3 q1: answer "]
    assert all(len(line) <= 80 and "\n" not in line for line in lines)


def test_what_passed_failed_to_be_judged_or_was_said_twice_is_not_shown() -> None:
    lacking = make_score("grounding", None, "no_context", status=VerdictStatus.NOT_APPLICABLE)
    passed = make_run("a", [make_record("q0", {"grounding": 5}), make_record("q1", {"grounding": None})])
    assert lowest_lines([passed, make_run("b", [make_record("q2", {"grounding": lacking})])]) == []
    assert lowest_lines([]) == []
    twice = [make_run(name, [make_record("q0", {"grounding": 1}, text="invented")]) for name in ("a", "b")]
    assert lowest_lines(twice) == ["lowest scores (grounding):", "  1 a, q0: invented"]


def test_a_hostile_answer_moves_no_cursor() -> None:
    record = make_record("q\x1b[2J", {"grounding": 1}, text="\x1b[31mred\r\nnext\u202e")
    (_, line) = lowest_lines([make_run("a\x1b", [record]), make_run("b", [])])
    assert "\x1b" not in line
    assert "\u202e" not in line
    assert line.startswith("  1 a␛, q␛[2J: ␛[31mred")
