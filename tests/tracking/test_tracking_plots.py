"""The plots of a sweep: whole SVG documents that say what was found and obey no text they are given."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Sequence
from dataclasses import replace
from decimal import Decimal

from hypothesis import given
from hypothesis import strategies as st

from runner.records import RunResult, RunSummary
from runner.tracking import sweep_plots
from runner.tracking.plots.scores import pareto_front
from tests.fakes.records import failed_record, full_record, full_run, full_summary

SVG = "{http://www.w3.org/2000/svg}"


def sweep(
    top_ks: Sequence[int] = (1, 3, 5), questions: int = 6, cost: str | None = "0.01"
) -> list[tuple[RunResult, RunSummary]]:
    found = []
    for top_k in top_ks:
        records = [full_record(number + top_k) for number in range(questions)]
        records = [replace(record, question=replace(record.question, id=f"q{k}")) for k, record in enumerate(records)]
        run = replace(full_run(f"top_k={top_k}", records), choices={"retriever.top_k": top_k, "seed": 7})
        money = None if cost is None else Decimal(cost) * top_k
        found.append((run, replace(full_summary(records), total_cost=money)))
    return found


def texts(plot: str) -> list[str]:
    return [element.text or "" for element in ET.fromstring(plot).iter(f"{SVG}text")]


def test_a_sweep_over_a_number_has_all_plots_and_each_is_a_whole_document() -> None:
    plots = sweep_plots(sweep())
    assert sorted(plots) == [
        "plots/agreement_of_judges.svg",
        "plots/distribution_by_judge.svg",
        "plots/questions_by_configuration.svg",
        "plots/score_and_cost.svg",
        "plots/score_by_top_k.svg",
    ]
    for plot in plots.values():
        assert ET.fromstring(plot).tag == f"{SVG}svg"
    shown = texts(plots["plots/score_by_top_k.svg"])
    assert {"grounding", "topicality", "reference_match", "1", "3", "5"} <= set(shown)


def test_without_a_number_to_sweep_over_the_runs_stand_side_by_side() -> None:
    runs = [
        (replace(run, choices={"generator.model": name}), found)
        for name, (run, found) in zip("ab", sweep((1, 3)), strict=True)
    ]
    assert "plots/score_by_run.svg" in sweep_plots(runs)


def test_an_unknown_price_or_a_price_of_zero_makes_no_plot_of_cost() -> None:
    assert "plots/score_and_cost.svg" not in sweep_plots(sweep(cost=None))
    assert "plots/score_and_cost.svg" not in sweep_plots(sweep(cost="0"))


def test_a_sweep_in_which_nothing_was_scored_has_no_plots() -> None:
    records = [failed_record(number) for number in range(3)]
    assert sweep_plots([(full_run("lost", records), full_summary(records))]) == {}
    assert sweep_plots([]) == {}


def test_the_heat_map_shows_the_questions_that_differ_most() -> None:
    first, second = sweep((1, 3), questions=150)
    same = [replace(record, scores=first[0].records[k].scores) for k, record in enumerate(second[0].records)]
    judge = same[140].scores["grounding"]
    value = 1.0 if judge.value != 1.0 else 5.0
    same[140] = replace(same[140], scores={**same[140].scores, "grounding": replace(judge, value=value)})
    changed = replace(second[0], records=tuple(same))
    plot = sweep_plots([first, (changed, second[1])])["plots/questions_by_configuration.svg"]
    rows = [text for text in texts(plot) if text.startswith("q")]
    assert len(rows) == 100
    assert rows[0] == "q140"
    assert "100 of 150 questions" in texts(plot)[0]


def test_agreement_counts_answers_that_both_judges_pass_or_both_fail() -> None:
    (run, summary) = sweep((1,), questions=4)[0]
    passes = [(True, True), (True, False), (False, False), (False, True)]
    records = []
    for record, (one, other) in zip(run.records, passes, strict=True):
        scores = {
            "grounding": replace(record.scores["grounding"], passed=one),
            "topicality": replace(record.scores["topicality"], passed=other),
        }
        records.append(replace(record, scores=scores))
    shown = texts(sweep_plots([(replace(run, records=tuple(records)), summary)])["plots/agreement_of_judges.svg"])
    assert shown.count("50%") == 2
    assert "4 answers" in shown


def test_names_and_questions_are_text_and_nothing_else() -> None:
    hostile = '<script>alert(1)</script>\x1b[31m"&'
    runs = []
    for run, summary in sweep():
        records = [replace(r, question=replace(r.question, id=hostile + r.question.id)) for r in run.records]
        runs.append((replace(run, name=hostile + run.name, records=tuple(records)), summary))
    for plot in sweep_plots(runs).values():
        root = ET.fromstring(plot)
        assert not list(root.iter(f"{SVG}script"))
        assert "<script" not in plot
        assert "\x1b" not in plot


points = st.lists(st.tuples(st.floats(0, 10), st.floats(0, 5)), max_size=30)


@given(points)
def test_no_run_beats_one_on_the_front_and_every_other_is_beaten(found: list[tuple[float, float]]) -> None:
    front = pareto_front(found)
    for cost, score in found:
        beaten = any(
            other_cost <= cost and other_score >= score and (other_cost, other_score) != (cost, score)
            for other_cost, other_score in found
        )
        assert ((cost, score) in front) == (not beaten)
    assert front == sorted(front)
