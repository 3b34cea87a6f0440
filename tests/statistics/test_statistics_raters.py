"""Judges against judges, and a judge against itself."""

from __future__ import annotations

import pytest

from runner.errors import ConfigurationError
from runner.records import Score, Verdict, VerdictStatus
from runner.statistics import between_judges, between_repeats
from tests.fakes.runs import make_record, make_run, make_score


def test_two_judges_on_the_same_answers() -> None:
    records = [make_record(f"q{k}", {"one": float(k % 5 + 1), "two": float(k % 5 + 1)}) for k in range(20)]
    records.append(make_record("failed", {"one": 5.0, "two": None}))
    found = between_judges([make_run("a", records)], ["one", "two"])
    assert found.items == 20
    assert found.coefficients["krippendorff_ordinal"].value == pytest.approx(1.0)
    assert found.confusion is not None
    assert (found.confusion.true_positive, found.confusion.true_negative) == (8, 12)


def test_an_unknown_or_single_judge_is_refused() -> None:
    runs = [make_run("a", [make_record("q", {"one": 5.0})])]
    with pytest.raises(ConfigurationError, match="no run has two; the runs have: one"):
        between_judges(runs, ["one", "two"])
    with pytest.raises(ConfigurationError, match="two different judges"):
        between_judges(runs, ["one", "one"])


def repeated(values: list[float | None]) -> Score:
    verdicts = tuple(
        Verdict(VerdictStatus.SCORED if v is not None else VerdictStatus.FAILED, score=v, repeat=k)
        for k, v in enumerate(values)
    )
    return make_score("g", 3.0, verdicts=verdicts)


def test_repeats_are_raters_and_failed_ones_are_missing() -> None:
    values = [[5.0, 5.0, 5.0], [1.0, 1.0, None], [3.0, 4.0, 3.0], [2.0, 2.0, 2.0]]
    runs = [make_run("a", [make_record(f"q{k}", {"g": repeated(v)}) for k, v in enumerate(values)])]
    found = between_repeats(runs, "g")
    assert found is not None
    assert (len(found.raters), found.items, found.ratings) == (3, 4, 11)
    assert found.coefficients["percent"].value == pytest.approx((1 + 1 + 1 / 3 + 1) / 4)
    assert between_repeats([make_run("a", [make_record("q", {"g": 5.0})])], "g") is None
