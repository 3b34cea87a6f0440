"""A comparison in the terminal: verdict first, nothing wider than the screen, no text that could steer it."""

from __future__ import annotations

import io

import pytest
from rich.console import Console, RenderableType

from runner.records import RunResult
from runner.report.comparison import render_comparison
from runner.report.examples import render_examples
from runner.statistics import compare_sweep
from tests.fakes.runs import make_record, make_run, make_score, run_of


def shown(renderable: RenderableType, width: int = 160) -> str:
    console = Console(file=io.StringIO(), width=width, no_color=True, force_terminal=False)
    console.print(renderable)
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def runs(count: int) -> list[RunResult]:
    return [run_of(f"job {k}", [5, 4, 5, 3, 5, 4, 5, max(1, 5 - 2 * k)]) for k in range(count)]


def test_two_jobs_show_the_verdict_in_full() -> None:
    text = shown(
        render_comparison(compare_sweep([run_of("a", [5] * 9 + [4]), run_of("b", [1] * 9 + [2])], "grounding"))
    )
    assert "a is better than b on grounding by" in text
    assert "sign-flip permutation p = 0.0020 (exact)" in text
    assert "passes: both 0, only the first 10" in text
    assert "scores of a: 4: 1, 5: 9" in text
    assert "scores of b: 1: 9, 2: 1" in text
    assert "judge's opinions" in text


def test_no_p_is_printed_twice() -> None:
    equal = [run_of("a", [5] * 8), run_of("b", [4] * 8)]
    assert shown(render_comparison(compare_sweep(equal, "grounding"))).count("0.0078") == 1
    a, b = run_of("a", [5] * 9 + [1]), run_of("b", [1] * 7 + [5, 5, 5])
    text = shown(render_comparison(compare_sweep([a, b], "grounding", measure="pass_rate")))
    assert text.count("McNemar") == 1
    assert text.count("p = ") == 2, "the test's own and the permutation's"


def test_questions_and_documents_of_a_pair_are_named_and_passes_tested_by_document() -> None:
    clusters = [f"d{k // 2}" for k in range(8)]
    three = [run_of(name, [5, level] * 4, clusters) for name, level in (("a", 4), ("b", 5), ("c", 3))]
    for width in (60, 200):
        assert "8 (4 documents)" in shown(render_comparison(compare_sweep(three, "grounding")), width)
    two = [run_of(name, [5, 1, 5, 1, 5, 5, 1, level], clusters) for name, level in (("a", 5), ("b", 1))]
    text = shown(render_comparison(compare_sweep(two, "grounding")))
    assert "(paired t, clustered)" in text.split("passes:")[1]
    assert "McNemar" not in text


def test_one_document_gets_no_interval_and_no_p_anywhere() -> None:
    text = shown(render_comparison(compare_sweep([run_of("a", [5]), run_of("b", [1])], "grounding")))
    assert "an interval needs at least two" in text
    assert "p = " not in text
    assert "points [" not in text


def test_a_mean_of_equal_scores_is_not_shown_with_an_error_of_0() -> None:
    text = shown(render_comparison(compare_sweep([run_of("a", [5] * 8), run_of("b", [4] * 8)], "grounding")))
    assert "5.000 (no variance)" in text
    assert "± 0.000" not in text


def test_many_jobs_show_sentences_standings_and_pairs() -> None:
    text = shown(render_comparison(compare_sweep(runs(8), "grounding")), 200)
    assert "after Holm's correction over all of them" in text
    assert "job 7" in text
    assert "… and 8 more pairs" in text


@pytest.mark.parametrize("width", [30, 60, 100])
def test_no_line_is_wider_than_the_screen(width: int) -> None:
    text = shown(render_comparison(compare_sweep(runs(3), "grounding")), width)
    assert all(len(line) <= width for line in text.splitlines())
    assert "8/8" in text


def example_run(name: str, values: list[float], reason: str) -> RunResult:
    return make_run(
        name,
        [
            make_record(
                f"q{k}", {"grounding": make_score("grounding", v, rationale=reason)}, text=f"{name} says \x1b[2J"
            )
            for k, v in enumerate(values)
        ],
    )


def test_examples_show_both_answers_and_reasonings_and_no_escape() -> None:
    text = shown(
        render_examples(example_run("a", [5, 1, 3], "[b]good[/b]"), example_run("b", [1, 5, 3], "bad"), "grounding", 2)
    )
    assert "pass turned on 2 of 3 questions: 1 for the first run, 1 against it" in text
    assert "a says ␛[2J" in text
    assert "b says" in text
    assert "[b]good[/b]" in text
    assert "[q2]" not in text, "equal scores are no example"
    assert "\x1b" not in text


def test_nothing_common_shows_nothing() -> None:
    assert shown(render_examples(run_of("a", [None]), run_of("b", [5]), "grounding", 2)).strip() == ""


@pytest.mark.parametrize("width", [40, 60, 80, 100, 120, 140])
def test_no_figure_of_a_comparison_is_cut(width: int) -> None:
    """At 80 columns the header read "differen…" and Holm "0.03…"."""
    scores = ([5, 4, 5, 3, 5, 4, 5, 3] * 2, [1, 2, 1, 3, 2, 1, 3, 2] * 2)
    compared = [run_of(f"top_k={k} · gpt-4o-mini-2024", one) for k, one in enumerate(scores)]
    found = compare_sweep(compared, "grounding", confirm=0.5)
    assert found.confirmation is not None
    assert found.confirmation.pairs
    text = shown(render_comparison(found), width)
    assert "…" not in text
    assert max(map(len, text.splitlines())) <= width
