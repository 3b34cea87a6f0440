"""The table at the end of a sweep: denominators, money, narrow terminals, no colour where none is wanted."""

from __future__ import annotations

import io
from dataclasses import replace

import pytest
from rich.console import Console

from runner.records import RunResult, RunStatus, RunSummary, VerdictStatus
from runner.report.leaderboard import leaderboard_text, render_leaderboard
from runner.statistics import summarise
from tests.fakes.runs import make_call, make_record, make_run, make_score


def jobs() -> list[tuple[RunResult, RunSummary]]:
    good = make_run(
        "top_k=1",
        [
            make_record(
                f"q{k}",
                {"grounding": make_score("grounding", 3 + k % 3, calls=[make_call(f"k{k}", cost="0.00005")])},
                [f"d{k}"],
                retrieval_metrics={"hit_rate_at_1": float(k > 1)},
            )
            for k in range(6)
        ],
    )
    lacking = make_score("grounding", None, "no_context", status=VerdictStatus.NOT_APPLICABLE)
    bad = make_run(
        "top_k=3",
        [
            make_record("q0", {"grounding": None}, answer_calls=(make_call("x", cost=None, model="mystery"),)),
            make_record("q1", {"grounding": 5}),
            make_record("q2", {"grounding": lacking}),
        ],
        status=RunStatus.INCOMPLETE,
        reason="1 verdict failed",
    )
    return [(run, summarise(run)) for run in (good, bad)]


def test_refusals_are_in_the_table_where_there_are_any() -> None:
    (run, summary), _ = jobs()
    assert "refusals" not in leaderboard_text([(run, summary)])
    counted = {
        "abstention/right_refusal": 2.0,
        "abstention/wrong_refusal": 1.0,
        "abstention/answered_unanswerable": 0.0,
    }
    refusing = replace(summary, abstained=4, metrics={**summary.metrics, **counted})
    text = leaderboard_text([(run, refusing), (run, summary)], width=60)
    assert "refusals: 2 right, 1 wrong, 1 unchecked" in text
    assert text.count("Refusals: right where the documents hold no answer") == 1


def test_every_score_stands_with_its_error_and_denominators() -> None:
    text = leaderboard_text(jobs())
    assert "4.00 ± 0.37 6/6" in text
    assert "67% pass" in text
    assert "0.667" in text
    assert "$0.0003" in text
    assert "5.00 1/3" in text


def test_retrieval_says_what_it_leaves_out_and_that_a_longer_list_is_no_better() -> None:
    def run(k: int, lost: int) -> tuple[RunResult, RunSummary]:
        records = [
            make_record(
                f"q{j}",
                gold=[f"d{j}"],
                retrieval_metrics={f"recall_at_{k}": 1.0} | ({} if j < lost else {f"chunk_recall_at_{k}": 0.5}),
                relevant_chunks=0 if j < lost else 2,
            )
            for j in range(4)
        ]
        made = make_run(f"top_k={k}", [*records, make_record("none")])
        return made, summarise(made)

    text = " ".join(leaderboard_text([run(3, 0), run(10, 1)]).split())
    assert "leaves out the questions without gold documents: 1 of 5" in text
    assert "leaves out the questions whose evidence stands in no chunk: 1 of 4" in text
    assert "can only rise with k, so that more of them is no sign of a better retriever" in text
    assert "compare at equal k: --metric retrieval/recall_at_3" in text
    summary = run(10, 1)[1]
    assert (summary.metrics["retrieval/questions"], summary.metrics["retrieval/chunk_questions"]) == (4, 3)
    assert summary.metrics["retrieval/chunk_recall_at_10"] == 0.5
    assert "can only rise" not in leaderboard_text([run(3, 0)])


def test_what_failed_is_said_with_reason_and_bounds() -> None:
    text = leaderboard_text(jobs())
    assert "top_k=3: 1 verdict failed" in text
    assert "1 failed, 1 not applicable (malformed 1, no_context 1)" in text
    assert "between 3.00 and 5.00" in text
    assert "no price for mystery" in text
    assert "unknown" in text


@pytest.mark.parametrize("width", [20, 40, 80, 200])
def test_no_line_is_wider_than_the_terminal_and_no_number_is_lost(width: int) -> None:
    text = leaderboard_text(jobs(), ["look at report.html"], width=width)
    assert all(len(line) <= width for line in text.splitlines())
    joined = " ".join(text.split())
    assert "4.00 ± 0.37 6/6" in joined
    assert "top_k=1" in joined


@pytest.mark.parametrize(
    ("terminal", "no_color", "coloured"), [(True, "", True), (True, "1", False), (False, "", False)]
)
def test_colour_only_in_a_terminal_without_no_color(
    terminal: bool, no_color: str, coloured: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    if no_color:
        monkeypatch.setenv("NO_COLOR", no_color)
    monkeypatch.setenv("TERM", "xterm-256color")
    console = Console(file=io.StringIO(), force_terminal=terminal, width=120)
    console.print(render_leaderboard(jobs()))
    assert isinstance(console.file, io.StringIO)
    assert ("\x1b[33m" in console.file.getvalue()) == coloured
    assert ("\x1b" in console.file.getvalue()) == terminal


def test_names_are_data_and_not_markup() -> None:
    run = make_run("[red]x[/red]\x1b[2J", [make_record("q", {"grounding": 5})])
    text = leaderboard_text([(run, summarise(run))])
    assert "[red]x[/red]␛[2J" in text
    assert "\x1b" not in text


def test_a_judge_that_one_job_lacks_is_not_shown_as_zero() -> None:
    runs = [make_run("a", [make_record("q", {"one": 5})]), make_run("b", [make_record("q", {"two": 5})])]
    text = leaderboard_text([(run, summarise(run)) for run in runs])
    assert text.count("not asked") == 2


def test_no_runs_is_no_crash() -> None:
    assert leaderboard_text([]) is not None
