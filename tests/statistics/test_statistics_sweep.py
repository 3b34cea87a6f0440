"""A sweep: corrected families, who may be the best, the optimism of picking, money, and sentences for odd data."""

from __future__ import annotations

import dataclasses

import numpy
import pytest
from scipy.stats import norm

from runner.errors import ConfigurationError
from runner.findings import Word
from runner.records import RunResult
from runner.statistics import compare_sweep
from runner.statistics.best import confidence_set, expected_drop, probability_best, resample
from runner.statistics.costs import pareto_front, ratio_interval
from runner.statistics.families import adjusted
from runner.statistics.scores import score_table
from tests.fakes.runs import make_call, make_record, make_run, make_score, run_of
from tests.fakes.shared_data import labelled_systems


def sweep_runs(count: int = 4, questions: int = 40, seed: int = 1) -> list[RunResult]:
    generator = numpy.random.default_rng(seed)
    base = generator.integers(1, 6, questions)
    clusters = [f"d{k // 2}" for k in range(questions)]
    return [
        run_of(f"run {k}", (base + generator.integers(-1, 2, questions) + k // 2).clip(1, 5).astype(float), clusters)
        for k in range(count)
    ]


def test_significant_pairs_of_the_labelled_systems_are_those_recorded() -> None:
    sweep = compare_sweep(labelled_systems("human"), "m", measure="pass_rate", cluster_by="question")
    raw = [pair.p for pair in sweep.pairs]
    assert len(raw) == 66
    assert {pair.method for pair in sweep.pairs} == {"McNemar exact"}
    assert [sum(p < 0.05 for p in raw if p is not None)] == [27]
    assert sum((pair.p_holm or 0) < 0.05 for pair in sweep.pairs) == 5
    assert sum((pair.p_bh or 0) < 0.05 for pair in sweep.pairs) == 16
    assert sum((p or 0) < 0.05 for p in adjusted(raw, "by")) == 10
    assert sum((p or 0) < 0.05 for p in adjusted(raw, "bonferroni")) <= 5
    assert sum(pair.verdict in (Word.BETTER, Word.WORSE) for pair in sweep.pairs) == 5


def test_the_judge_sees_other_significant_pairs_than_the_humans() -> None:
    human = compare_sweep(labelled_systems("human"), "m", measure="pass_rate", cluster_by="question").pairs
    judge = compare_sweep(labelled_systems("judge_gpt4"), "m", measure="pass_rate", cluster_by="question").pairs
    # Recorded with another handful of answers left out: 24, and 9 below.
    assert sum((pair.p or 0) < 0.05 for pair in judge) == pytest.approx(24, abs=1)
    assert sum((pair.p_holm or 0) < 0.05 for pair in judge) == 4
    assert sum((pair.p_bh or 0) < 0.05 for pair in judge) == 12
    only = [j for j, h in zip(judge, human, strict=True) if (j.p or 0) < 0.05 <= (h.p or 0)]
    assert len(only) == 5
    signs = [numpy.sign([j.difference, h.difference]) for j, h in zip(judge, human, strict=True)]
    assert sum(one != other for one, other in signs) == pytest.approx(9, abs=1), "the judge sees another order"


def test_who_may_be_best_of_the_labelled_systems() -> None:
    sweep = compare_sweep(labelled_systems("human"), "m", measure="pass_rate", cluster_by="question", baseline="EMDR2")
    assert sweep.complete_questions == 222
    assert sweep.best == "EMDR2"
    best = next(standing for standing in sweep.standings if standing.side.name == "EMDR2")
    assert sweep.optimism is not None
    assert sweep.optimism.observed == pytest.approx(0.797, abs=5e-4)
    table = score_table(labelled_systems("human"), "m", "question")
    values = table.values[:, table.scored.all(axis=0)]
    assert len(confidence_set(resample(values, numpy.arange(values.shape[1]), 7))) == 10
    worse = {pair.a.name for pair in sweep.pairs if pair.verdict == Word.WORSE}
    assert len(worse) == 6
    assert not worse & set(sweep.indistinguishable), "who is worse than the best cannot be the best"
    assert sweep.indistinguishable[0] == "EMDR2"
    assert best.probability_best == pytest.approx(0.59, abs=0.05)
    assert sweep.critical_value == pytest.approx(2.787, abs=0.06)
    assert norm.isf(0.05 / 22) == pytest.approx(2.838, abs=5e-4)
    assert 1.96 < sweep.critical_value < 2.838 + 0.03, "between naive and Bonferroni (t makes it a little wider)"


def test_simultaneous_intervals_of_the_best_exclude_three_rivals_and_naive_ones_four() -> None:
    runs = labelled_systems("human")
    table = score_table(runs, "m", "question")
    complete = {table.questions[k] for k in numpy.flatnonzero(table.scored.all(axis=0))}
    kept = [make_run(run.name, [one for one in run.records if one.question.id in complete]) for run in runs]
    sweep = compare_sweep(kept, "m", cluster_by="question", baseline="EMDR2")
    assert sum(0 not in pair.simultaneous for pair in sweep.pairs if pair.simultaneous) == 3
    assert sum(0 not in pair.interval for pair in sweep.pairs if pair.interval) == 4


def test_the_winner_of_twelve_on_sixty_questions_is_overstated_by_about_five_points() -> None:
    table = score_table(labelled_systems("human"), "m", "question")
    values = table.values[:, table.scored.all(axis=0)]
    drop = expected_drop(resample(values, numpy.arange(values.shape[1]), 1, 2000, draws=60))
    generator = numpy.random.default_rng(1)
    held_out = []
    for _ in range(4000):
        order = generator.permutation(values.shape[1])
        picked = values[:, order[:60]].mean(axis=1)
        held_out.append(picked.max() - values[picked.argmax(), order[60:]].mean())
    assert numpy.mean(held_out) == pytest.approx(0.057, abs=0.006)
    assert drop == pytest.approx(numpy.mean(held_out), abs=0.01)


def test_a_baseline_makes_a_smaller_family_than_all_pairs() -> None:
    runs = sweep_runs()
    assert len(compare_sweep(runs, "grounding").pairs) == 6
    against = compare_sweep(runs, "grounding", baseline="run 0")
    assert [(pair.a.name, pair.b.name) for pair in against.pairs] == [(f"run {k}", "run 0") for k in (1, 2, 3)]
    assert against.family == "against run 0"
    with pytest.raises(ConfigurationError, match="baseline 'run 9' is no run; runs: 'run 0'"):
        compare_sweep(runs, "grounding", baseline="run 9")


def test_the_verdict_of_a_sweep_follows_holm() -> None:
    generator = numpy.random.default_rng(2)
    runs = [run_of(f"r{k}", generator.integers(1, 6, 30).astype(float)) for k in range(12)]
    sweep = compare_sweep(runs, "grounding")
    for pair in sweep.pairs:
        assert pair.p is not None
        assert pair.p_holm is not None
        assert pair.p_holm >= pair.p
        assert (pair.verdict in (Word.BETTER, Word.WORSE)) == (pair.p_holm < 0.05)
    assert any((pair.p or 1) < 0.05 <= (pair.p_holm or 0) for pair in sweep.pairs), "a test that cannot fail"


def test_questions_to_decide_in_a_family_are_more_than_one_more_than_there_are() -> None:
    """A pair that Holm alone keeps open said "about n + 1 questions would decide"."""
    sweep = compare_sweep(labelled_systems("human"), "m", measure="pass_rate", cluster_by="question")
    (pair,) = [one for one in sweep.pairs if one.p is not None and one.p < 0.05 and 0.05 < (one.p_holm or 0) < 0.06]
    assert pair.verdict == Word.UNDECIDED
    assert pair.questions_needed is not None
    assert pair.p_holm is not None
    assert pair.p is not None
    # n (z_{alpha/2m} + z_{80})^2 (SE / d)^2, with m what Holm multiplied by.
    z = norm.isf(0.025 / (pair.p_holm / pair.p)) + norm.isf(0.2)
    assert pair.difference is not None
    assert pair.standard_error is not None
    expected = pair.questions * (z * pair.standard_error / pair.difference) ** 2
    assert expected <= pair.questions_needed <= expected * 1.1 + 10
    assert pair.questions_needed > 1.3 * pair.questions


def test_one_run_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="at least two runs, and there is 1 run"):
        compare_sweep([run_of("a", [5])], "grounding")


def test_no_common_question_gives_sentences() -> None:
    sweep = compare_sweep([run_of("a", [5, None, 4]), run_of("b", [None, 5, None])], "grounding")
    assert sweep.best is None
    assert sweep.indistinguishable == ()
    assert "Nothing can be said about the best" in sweep.sentences[0]


def test_equal_runs_all_may_be_the_best() -> None:
    sweep = compare_sweep([run_of(name, [5, 4, 3, 5]) for name in "abc"], "grounding")
    assert set(sweep.indistinguishable) == {"a", "b", "c"}
    assert [standing.probability_best for standing in sweep.standings] == pytest.approx([1 / 3] * 3)
    assert sweep.critical_value is None


def test_optimism_of_picking_among_equals_is_not_said() -> None:
    sweep = compare_sweep([run_of(name, [5, 4, 3, 5]) for name in "abc"], "grounding")
    assert sweep.optimism is None
    said = " ".join(sweep.sentences)
    assert "All 3 are level on the questions that every run scored" in said
    assert "flatters" not in said
    two = compare_sweep([run_of("a", [5, 4, 3, 5]), run_of("b", [5, 4, 3, 5]), run_of("c", [1, 2, 1, 3])], "grounding")
    assert two.optimism is not None
    assert two.optimism.sentence.startswith("a, b share the highest of 3 with 4.250")
    assert two.sentences[0].startswith("a shares the highest grounding"), two.sentences[0]


def test_a_clear_winner_is_not_said_to_lose_0_000_on_new_questions() -> None:
    sweep = compare_sweep([run_of("a", [5] * 9), run_of("b", [1, 2, 1] * 3), run_of("c", [2, 1, 2] * 3)], "grounding")
    assert sweep.optimism is not None
    assert "0.000" not in sweep.optimism.sentence
    assert "flatters it by less than 0.001 here" in sweep.optimism.sentence


def test_a_rival_that_few_clusters_cannot_tell_from_the_best_stays_in_the_set() -> None:
    clusters = [f"d{k // 3}" for k in range(12)]
    runs = [run_of(name, values, clusters) for name, values in (("a", [5] * 12), ("b", [1] * 12), ("c", [5, 1] * 6))]
    sweep = compare_sweep(runs, "grounding")
    (pair,) = [pair for pair in sweep.pairs if {pair.a.name, pair.b.name} == {"a", "b"}]
    assert pair.verdict == Word.UNDECIDED
    assert "b" in sweep.indistinguishable


def test_holm_does_not_wait_for_a_collection_of_everything_in_memory() -> None:
    import gc

    alive = [[k] for k in range(300_000)]
    before = gc.get_count()[2], gc.get_freeze_count()
    collected: list[int] = []
    gc.callbacks.append(lambda phase, info: collected.append(info["generation"]) if phase == "stop" else None)
    try:
        seen = {}
        gc.callbacks.append(lambda phase, info: seen.setdefault(phase, gc.get_freeze_count()))
        assert adjusted([0.01, 0.04], "holm") == pytest.approx([0.02, 0.04])
    finally:
        del gc.callbacks[-2:]
    assert collected.count(2) == 1, "statsmodels calls gc.collect() for Holm; if it no longer does, drop the freeze"
    assert seen["start"] >= len(alive), "what was alive is hidden from that collection"
    assert gc.get_freeze_count() == before[1] == 0
    assert adjusted([0.03]) == [0.03], "a family of one needs no correction"


def test_who_is_in_doubt_only_for_failed_scores_may_still_be_the_best() -> None:
    good, bad = [5.0, 4.0, 5.0, 5.0, 4.0] * 4, [2.0, 2.0, 1.0, 2.0, 3.0] * 4
    assert compare_sweep([run_of("good", good), run_of("bad", bad)], "grounding").indistinguishable == ("good",)
    failing = compare_sweep([run_of("good", good), run_of("bad", [*bad[:4], *[None] * 16])], "grounding")
    assert failing.pairs[0].verdict == Word.UNDECIDED
    assert set(failing.indistinguishable) == {"good", "bad"}


def test_an_interval_that_holds_for_all_pairs_is_not_narrower_than_one_that_holds_for_its_own() -> None:
    runs = sweep_runs(3, 24, seed=5)
    partly = make_run("partly", [one for k, one in enumerate(runs[2].records) if k % 3])
    for measure in ("mean", "pass_rate"):
        for pair in compare_sweep([*runs[:2], partly], "grounding", measure=measure, cluster_by="question").pairs:
            assert pair.interval is not None
            assert pair.simultaneous is not None
            assert pair.simultaneous.low <= pair.interval.low
            assert pair.simultaneous.high >= pair.interval.high


def test_a_clear_winner_stands_alone() -> None:
    generator = numpy.random.default_rng(4)
    runs = [run_of("good", generator.integers(4, 6, 50)), *(run_of(n, generator.integers(1, 3, 50)) for n in "xy")]
    sweep = compare_sweep(runs, "grounding")
    assert sweep.indistinguishable == ("good",)
    assert "good is the best on grounding" in sweep.sentences[0]


def test_the_frame_has_one_row_a_pair_and_survives_missing_numbers() -> None:
    sweep = compare_sweep([*sweep_runs(), run_of("none", [None] * 40)], "grounding")
    frame = sweep.to_frame()
    assert len(frame) == 10
    assert {"difference", "low", "high", "p_holm", "p_bh", "verdict", "minimum_detectable"} <= set(frame.columns)
    assert len(sweep.standings_frame()) == 5


def test_the_same_seed_gives_the_same_numbers() -> None:
    first, second = (compare_sweep(sweep_runs(), "grounding", seed=3) for _ in range(2))
    assert first == second


def priced(name: str, passes: list[bool], cost: str | None) -> RunResult:
    records = [
        make_record(
            f"q{k}",
            {"grounding": 5.0 if good else 1.0},
            [f"d{k}"],
            answer_calls=(make_call(f"{name}{k}", "generate", cost),),
        )
        for k, good in enumerate(passes)
    ]
    return make_run(name, records)


def test_cost_per_correct_answer_and_the_pareto_front() -> None:
    dear = priced("dear", [True] * 18 + [False] * 2, "0.02")
    cheap = priced("cheap", [True] * 10 + [False] * 10, "0.001")
    poor = priced("poor", [True] * 10 + [False] * 10, "0.01")
    unknown = priced("unknown", [True] * 20, None)
    standings = compare_sweep([dear, cheap, poor, unknown], "grounding").standings
    assert [one.cost_per_correct for one in standings] == pytest.approx([0.4 / 18, 0.002, 0.02, None])
    assert [one.on_pareto_front for one in standings] == [True, True, False, False]
    interval = standings[0].cost_per_correct_interval
    assert interval is not None
    assert interval.low < 0.4 / 18 < interval.high


def test_a_verdict_that_failed_does_not_make_a_correct_answer_dearer() -> None:
    whole, failing = priced("a", [True, False] * 10, "0.01"), priced("b", [True, False] * 10, "0.01")
    records = [
        dataclasses.replace(one, scores={"grounding": make_score("grounding", None)}) if k >= 10 else one
        for k, one in enumerate(failing.records)
    ]
    standings = compare_sweep([whole, make_run("b", records)], "grounding").standings
    assert [one.cost_per_correct for one in standings] == pytest.approx([0.02, 0.02])
    assert [one.cost_per_answer for one in standings] == pytest.approx([0.01, 0.01])


def test_nothing_correct_has_no_cost_per_correct_answer() -> None:
    standings = compare_sweep(
        [priced("a", [False] * 4, "1"), priced("b", [True, False] * 2, "1")], "grounding"
    ).standings
    assert standings[0].cost_per_correct is None
    assert standings[1].cost_per_correct == 2.0
    assert standings[1].cost_per_correct_interval is None, "half of four right: the rate may be 0, so no upper end"


def test_a_cost_per_correct_answer_is_not_certain_because_all_passed() -> None:
    runs = [priced("a", [True] * 10, "0.01"), priced("b", [True] * 10, "0.02")]
    (one, _) = compare_sweep(runs, "grounding").standings
    assert one.cost_per_correct_interval is not None
    assert one.cost_per_correct_interval.low == pytest.approx(0.01)
    assert one.cost_per_correct_interval.high == pytest.approx(0.01 / 0.05 ** (1 / 10))


def test_fieller_covers_a_known_ratio() -> None:
    generator = numpy.random.default_rng(0)
    hits = 0
    for _ in range(300):
        lower = (generator.random(60) < 0.6).astype(float)
        upper = generator.exponential(0.02, 60)
        interval = ratio_interval(upper, lower, numpy.ones(60, dtype=bool), numpy.arange(60))
        assert interval is not None
        hits += 0.02 / 0.6 in interval
    assert 0.91 <= hits / 300 <= 0.985


def test_pareto_front_keeps_ties_and_drops_the_dominated() -> None:
    assert pareto_front([1, 1, 2, None], [1.0, 1.0, 3.0, 0.0]) == [True, True, True, False]
    assert pareto_front([1, 2], [1.0, 1.0]) == [False, True]


def test_resampling_draws_whole_clusters() -> None:
    values = numpy.array([[0.0, 0.0, 1.0, 1.0]])
    found = resample(values, numpy.array([0, 2]), 1, 500)
    assert set(numpy.unique(found.resampled)) == {0.0, 0.5, 1.0}
    assert probability_best(found) == [1.0]
    assert confidence_set(found) == [0]
