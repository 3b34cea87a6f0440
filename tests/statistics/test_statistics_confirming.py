"""Pick on one part of the questions, confirm on the other: disjoint, seeded, not flattered; sentences for odd data."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Sequence

import numpy
import pytest

from runner.errors import ConfigurationError
from runner.findings import Confirmation, ConfirmationWord, Measure
from runner.records import RunResult
from runner.statistics import compare_sweep
from runner.statistics.confirming import Settings, confirm, confirming_questions
from runner.statistics.scores import score_table
from tests.fakes.runs import run_of
from tests.fakes.shared_data import labelled_systems

SETTINGS = Settings("grounding", Measure.MEAN, "gold", None, 7)


def runs_of(levels: Sequence[float], questions: int = 60, seed: int = 1, per_document: int = 2) -> list[RunResult]:
    generator = numpy.random.default_rng(seed)
    hard = generator.normal(0, 0.7, questions)
    clusters = [f"d{k // per_document}" for k in range(questions)]
    return [
        run_of(f"run {k}", (level + hard + generator.normal(0, 0.6, questions)).round().clip(1, 5), clusters)
        for k, level in enumerate(levels)
    ]


def confirmed(runs: Sequence[RunResult], share: float = 0.5, **options: object) -> Confirmation:
    found = compare_sweep(runs, "grounding", confirm=share, **options).confirmation  # type: ignore[arg-type]
    assert found is not None
    return found


def test_the_parts_are_whole_documents_disjoint_and_the_same_in_any_order() -> None:
    runs = runs_of([3, 3, 3])
    table = score_table(runs, "grounding")
    chosen = confirming_questions(table, 0.5, 7)
    assert len(chosen) == 30
    document = {record.question.id: record.question.gold[0] for record in runs[0].records}
    inside, outside = ({document[q] for q in document if (q in chosen) == side} for side in (True, False))
    assert not inside & outside
    backwards = [dataclasses.replace(run, records=tuple(reversed(run.records))) for run in reversed(runs)]
    assert confirming_questions(score_table(backwards, "grounding"), 0.5, 7) == chosen
    assert confirming_questions(table, 0.5, 8) != chosen
    assert len(confirming_questions(table, 0.25, 7)) == 16


def test_a_clear_winner_is_confirmed_against_all_others() -> None:
    found = confirmed(runs_of([2.0, 4.5, 2.2]))
    assert (found.picked, found.word) == ("run 1", ConfirmationWord.CONFIRMED)
    assert (found.select_questions, found.confirm_questions) == (30, 30)
    assert (found.select_clusters, found.confirm_clusters) == (15, 15)
    assert found.sentence.startswith("run 1 was picked on 30 questions of 15 documents as the highest of 3 with ")
    assert "on the other 30 questions of 15 documents, which had no part in picking" in found.sentence
    assert found.sentence.endswith("Confirmed: there it is better than run 0, run 2.")
    assert [(pair.a.name, pair.b.name) for pair in found.pairs] == [("run 1", "run 0"), ("run 1", "run 2")]
    for pair in found.pairs:
        assert pair.questions == 30
        assert pair.p is not None
        assert pair.p_holm is not None
        assert pair.p_holm >= pair.p
    assert found.interval is not None
    assert found.confirmed is not None
    assert found.confirmed in found.interval


def test_equal_systems_are_not_confirmed() -> None:
    found = confirmed(runs_of([3.0] * 5, seed=3))
    assert found.word == ConfirmationWord.OPEN
    assert "Not confirmed as the one best: there it is not told from" in found.sentence


def test_a_pick_that_loses_on_the_other_part_is_contradicted() -> None:
    runs = runs_of([3.0, 3.0])
    chosen = confirming_questions(score_table(runs, "grounding"), 0.5, 7)
    ids = [record.question.id for record in runs[0].records]
    clusters = [record.question.gold[0] for record in runs[0].records]
    lucky = run_of("lucky", [1.0 if q in chosen else 5.0 for q in ids], clusters)
    steady = run_of("steady", [4.0 + k % 2 if q in chosen else 2.0 for k, q in enumerate(ids)], clusters)
    found = confirmed([lucky, steady])
    assert (found.picked, found.word) == ("lucky", ConfirmationWord.CONTRADICTED)
    assert "Contradicted: there it is worse than steady, so picking lucky was luck." in found.sentence


def test_with_a_baseline_the_pick_is_confirmed_against_it_alone() -> None:
    runs = runs_of([2.0, 4.4, 4.2])
    found = confirmed(runs, baseline="run 0")
    assert [(pair.a.name, pair.b.name) for pair in found.pairs] == [("run 1", "run 0")]
    assert found.pairs[0].p_holm == found.pairs[0].p
    own = confirmed(runs, baseline="run 1")
    assert len(own.pairs) == 2, "where the baseline itself is the pick, it stands against all others"


def test_on_new_questions_the_winner_of_twelve_is_lower_and_the_confirming_part_shows_it() -> None:
    """Over many splits the pick's number on its own part is too high; the number on the other part is not."""
    runs = labelled_systems("human")
    settings = Settings("m", Measure.PASS_RATE, "question", None, 0)
    truth = {one.side.name: one.side.pass_rate for one in compare_sweep(runs, "m").standings}
    observed, shown = [], []
    for seed in range(25):
        found = confirm(runs, 0.75, dataclasses.replace(settings, seed=seed))
        assert found.picked is not None
        assert found.observed is not None
        assert found.confirmed is not None
        true = truth[found.picked]
        assert true is not None
        observed.append(found.observed - true)
        shown.append(found.confirmed - true)
    assert numpy.mean(observed) > 0.02
    assert abs(numpy.mean(shown)) < 0.015


@pytest.mark.parametrize(
    ("runs", "expected"),
    [
        ([run_of("a", [5, 4]), run_of("b", [4, 4])], "needs two documents"),
        ([run_of("a", [5] * 8, ["x"] * 8), run_of("b", [4] * 8, ["x"] * 8)], "Nothing can be picked"),
        ([run_of("a", [5, None] * 6), run_of("b", [None, 5] * 6)], "needs two documents"),
        ([run_of("a", [5] * 12), run_of("b", [5] * 12)], "the first of 2 that share the highest place"),
    ],
)
def test_odd_data_give_a_sentence_and_no_nan(runs: list[RunResult], expected: str) -> None:
    found = confirmed(runs)
    assert expected in found.sentence
    assert "NaN" not in json.dumps(dataclasses.asdict(found))


def test_no_interval_of_a_mean_leaves_the_scale() -> None:
    found = confirmed([run_of("a", [5, 1, 5, 1, 5, 1]), run_of("b", [4, 1, 4, 1, 4, 1])])
    assert found.interval is not None
    assert 1 <= found.interval.low <= found.interval.high <= 5


def test_pass_rates_are_said_in_percent_and_points() -> None:
    found = confirmed(runs_of([2.0, 4.5], per_document=1), measure="pass_rate")
    assert "% (95 % interval" in found.sentence
    assert "points" in found.sentence
    assert "30 questions as the highest of 2" in found.sentence, "no documents where each question is one"


@pytest.mark.parametrize("share", [0.0, 1.0, -0.5, 1.5, float("nan")])
def test_a_share_that_is_none_is_refused(share: float) -> None:
    with pytest.raises(ConfigurationError, match="give one between 0 and 1"):
        compare_sweep(runs_of([3, 3]), "grounding", confirm=share)
