"""Reference values of the statistics: from papers, from libraries, and from data that nobody here wrote."""

from __future__ import annotations

from itertools import pairwise

import numpy
import pytest
from scipy.stats import t

from runner.statistics import compare_runs
from runner.statistics.clusters import clustered_standard_error
from runner.statistics.families import adjusted
from runner.statistics.moments import design_effect, intraclass_correlation, moments
from runner.statistics.power import (
    binary_variance,
    design_effect_of,
    design_help,
    detectable_difference,
    questions_needed,
    z_sum,
)
from runner.statistics.proportions import mcnemar, newcombe, pass_interval, tango, unseen_rate, wilson
from runner.statistics.signflip import sign_flip
from tests.fakes.runs import make_record, make_run, make_score
from tests.fakes.shared_data import rows

DARWIN = [49, -67, 8, 16, 6, 23, 28, 41, 14, 29, 56, 24, 75, 60, -48]
BENJAMINI_HOCHBERG_1995 = [
    0.0001, 0.0004, 0.0019, 0.0095, 0.0201, 0.0278, 0.0298, 0.0344, 0.0459, 0.3240, 0.4262, 0.5719, 0.6528, 0.7590, 1.0,
]  # fmt: skip


def test_questions_needed_is_millers_about_one_thousand() -> None:
    assert z_sum() == pytest.approx(2.801585, abs=1e-6)
    assert z_sum() ** 2 * (1 / 9) / 0.03**2 == pytest.approx(968.997, abs=1e-3)
    assert questions_needed(0.03, 1 / 9) == 969
    from statsmodels.stats.power import TTestPower

    assert TTestPower().solve_power(0.09, alpha=0.05, power=0.8) == pytest.approx(970.92, abs=5e-3)


@pytest.mark.parametrize(
    ("difference", "discordance", "expected"),
    [
        (0.05, 0.05, 150),
        (0.05, 0.1, 307),
        (0.05, 0.2, 621),
        (0.05, 0.3, 935),
        (0.1, 0.05, 32),
        (0.1, 0.1, 71),
        (0.1, 0.2, 150),
        (0.1, 0.3, 228),
    ],
)
def test_questions_needed_for_paired_pass_rates(difference: float, discordance: float, expected: int) -> None:
    assert questions_needed(difference, binary_variance(discordance, difference)) == expected


def test_repeats_lower_the_noise_and_not_the_spread_of_questions() -> None:
    assert questions_needed(0.1, 0.2, noise_a=0.3, noise_b=0.3) == questions_needed(0.1, 0.8)
    assert questions_needed(0.1, 0.2, noise_a=0.3, repeats_a=3, noise_b=0.3, repeats_b=3) == questions_needed(0.1, 0.4)
    assert detectable_difference(969, 1 / 9) == pytest.approx(0.03, abs=1e-5)


def test_five_questions_a_document_cost_what_the_correlation_says() -> None:
    assert design_effect_of(5, 0.1) == pytest.approx(1.4)
    assert design_effect_of(5, 0.3) == pytest.approx(2.2)


def test_design_help_says_what_a_set_can_show() -> None:
    help_text = design_help(60, 60)
    # delta = q sqrt((.2 - delta^2) / 60), with q the quantiles of t with 59 degrees instead of 2.801585.
    delta = help_text.pass_rate_difference
    quantiles = t.ppf(0.975, 59) + t.ppf(0.8, 59)
    assert delta == pytest.approx(quantiles * (binary_variance(0.2, delta) / 60) ** 0.5, abs=1e-9)
    assert (
        "60 questions about 60 documents can show a difference of about 15 points in a pass rate" in help_text.sentence
    )
    assert help_text.score_difference == pytest.approx(quantiles * 1.0 / 60**0.5)
    many = design_help(621, 621)
    assert many.pass_rate_difference == pytest.approx(0.05, abs=2e-4), "the inverse of the questions needed"
    few = design_help(60, 12)
    assert few.pass_rate_difference > help_text.pass_rate_difference
    effective = 60 / design_effect_of(5, 0.1)
    quantiles = t.ppf(0.975, 11) + t.ppf(0.8, 11)
    assert few.score_difference == pytest.approx(quantiles / effective**0.5)
    assert design_help(4, 2).pass_rate_difference < 1
    assert "can show no difference" in design_help(5, 1).sentence


def course_verdicts() -> tuple[list[float], list[str]]:
    found = rows("course_faq/rag-evaluations-new.csv")
    found.sort(key=lambda row: row["document"])
    return [float(row["score"] == "good") for row in found], [row["document"] for row in found]


def test_clustered_errors_of_the_course_verdicts() -> None:
    values, documents = course_verdicts()
    array = numpy.array(values)
    starts = numpy.flatnonzero(numpy.array([True, *(a != b for a, b in pairwise(documents))]))
    count, rate = len(values), array.mean()
    assert (count, len(starts), rate) == (395, 79, pytest.approx(0.959494, abs=1e-6))
    simple = array.std(ddof=1) / count**0.5
    clustered = clustered_standard_error(values, documents)
    assert clustered is not None
    assert simple == pytest.approx(0.009932, abs=1e-6)
    assert (rate * (1 - rate) / count) ** 0.5 == pytest.approx(0.009919, abs=1e-6)
    assert clustered == pytest.approx(0.010430, abs=1e-6)
    assert clustered * (78 / 79) ** 0.5 == pytest.approx(0.010364, abs=1e-6)  # without the small-sample factor
    within = numpy.add.reduceat(array - rate, starts)
    millers = simple**2 + ((within**2).sum() - ((array - rate) ** 2).sum()) / count**2
    assert millers**0.5 == pytest.approx(0.010376, abs=1e-6)
    assert intraclass_correlation(array, starts) == pytest.approx(0.0256, abs=1e-4)
    assert design_effect_of(5, 0.0256) == pytest.approx(1.103, abs=1e-3)
    assert design_effect(array, starts) == pytest.approx(clustered**2 / simple**2)
    assert moments(array[None], numpy.ones((1, 395), dtype=bool), starts).error[0] == pytest.approx(clustered)


@pytest.mark.parametrize(
    ("method", "low", "high"),
    [
        ("normal", 0.94005, 0.97894),
        ("wilson", 0.93522, 0.97492),
        ("beta", 0.93505, 0.97667),
        ("jeffreys", 0.93659, 0.97571),
    ],
)
def test_intervals_of_one_pass_rate(method: str, low: float, high: float) -> None:
    found = pass_interval(379, 395, method)
    assert (found.low, found.high) == pytest.approx((low, high), abs=6e-6)
    if method == "wilson":
        own = wilson(379, 395)
        assert (own.low, own.high) == pytest.approx((found.low, found.high), abs=1e-12)


@pytest.mark.parametrize(
    ("count", "rate", "method", "expected"),
    [
        (8, 0.95, "normal", 0.336),
        (8, 0.95, "wilson", 0.943),
        (50, 0.99, "normal", 0.395),
        (50, 0.99, "wilson", 0.911),
        (50, 0.99, "beta", 0.986),
        (100, 0.95, "normal", 0.877),
        (100, 0.95, "wilson", 0.966),
    ],
)
def test_exact_coverage_is_why_wilson_is_the_default(count: int, rate: float, method: str, expected: float) -> None:
    from scipy.stats import binom

    passes = numpy.arange(count + 1)
    covered = [rate in pass_interval(int(k), count, method) for k in passes]
    assert float(binom.pmf(passes, count, rate)[covered].sum()) == pytest.approx(expected, abs=1e-3)


def test_single_questions_have_the_simple_standard_error_exactly() -> None:
    values = [5.0, 4, 1, 2, 5, 3, 3]
    simple = float(numpy.std(values, ddof=1)) / 7**0.5
    assert clustered_standard_error(values, list("abcdefg")) == pytest.approx(simple, rel=1e-15)
    mask, starts = numpy.ones((1, 7), dtype=bool), numpy.arange(7)
    assert moments(numpy.array([values]), mask, starts).error[0] == pytest.approx(simple, rel=1e-15)


def test_pairing_is_worth_what_the_correlation_says() -> None:
    """SE_paired = sqrt(SE_A^2 + SE_B^2 - 2 SE_A SE_B corr)."""
    generator = numpy.random.default_rng(5)
    a = generator.integers(1, 6, 40).astype(float)
    b = (a + generator.integers(-1, 2, 40)).clip(1, 5)
    left, right = (
        make_run(name, [make_record(str(k), {"m": v}) for k, v in enumerate(values)])
        for name, values in (("a", a), ("b", b))
    )
    found = compare_runs(left, right, "m")
    (one, two) = (values.std(ddof=1) / 40**0.5 for values in (a, b))
    paired = (one**2 + two**2 - 2 * one * two * numpy.corrcoef(a, b)[0, 1]) ** 0.5
    assert found.standard_error == pytest.approx(paired)
    assert found.a.standard_error == pytest.approx(one)


def test_the_rule_of_three() -> None:
    assert unseen_rate(8) == pytest.approx(0.312, abs=5e-4)
    assert unseen_rate(395) == pytest.approx(0.0076, abs=5e-5)


def test_corrections_of_benjamini_and_hochbergs_fifteen() -> None:
    counts = {
        method: sum((p or 0) < 0.05 for p in adjusted(BENJAMINI_HOCHBERG_1995, method))
        for method in ("bonferroni", "holm", "bh", "by")
    }
    assert counts == {"bonferroni": 3, "holm": 3, "bh": 4, "by": 3}
    assert adjusted(BENJAMINI_HOCHBERG_1995, "bh")[3] == pytest.approx(0.035625)
    assert adjusted(BENJAMINI_HOCHBERG_1995, "holm")[3] == pytest.approx(0.114)
    assert adjusted([0.04, None, 0.01]) == [pytest.approx(0.04), None, pytest.approx(0.02)]
    assert adjusted([None, None]) == [None, None]


def test_mcnemar_exact() -> None:
    from statsmodels.stats.contingency_tables import mcnemar as oracle

    table = [[794, 86], [150, 570]]
    assert mcnemar(numpy.array([86]), numpy.array([150]))[0] == pytest.approx(3.716e-5, rel=1e-3)
    assert oracle(table, exact=False, correction=False).statistic == pytest.approx(17.3559, abs=1e-4)
    assert oracle(table, exact=False, correction=True).statistic == pytest.approx(16.8178, abs=1e-4)
    assert mcnemar(numpy.array([0, 3, 5]), numpy.array([0, 3, 0])).tolist() == [1.0, 1.0, 2 / 32]


def test_paired_intervals_of_two_labelled_systems() -> None:
    # EMDR2 against FiD on 269 questions: 170 right in both, 45 and 12 in one, 42 in none.
    a = [1.0] * 215 + [0.0] * 54
    b = [1.0] * 170 + [0.0] * 45 + [1.0] * 12 + [0.0] * 42
    left, right = (
        make_run(name, [make_record(str(k), {"m": make_score("m", v, pass_at=1.0)}) for k, v in enumerate(values)])
        for name, values in (("a", a), ("b", b))
    )
    result = compare_runs(left, right, "m", measure="pass_rate")
    rates = result.pass_rates
    assert rates is not None
    assert (rates.both, rates.only_a, rates.only_b, rates.neither) == (170, 45, 12, 42)
    assert result.p == pytest.approx(1.3127e-5, rel=1e-3)
    assert result.difference == pytest.approx(0.122677, abs=1e-6)
    assert result.standard_error == pytest.approx(0.027102, abs=1e-6)
    assert (rates.newcombe.low, rates.newcombe.high) == pytest.approx((0.06896, 0.17610), abs=6e-6)
    assert (rates.interval.low, rates.interval.high) == pytest.approx((0.06991, 0.17855), abs=6e-6)


def test_paired_intervals_against_a_published_example() -> None:
    # Airway hyper-responsiveness before and after transplantation (Bentur 2009; Fagerland, Lydersen, Laake 2014).
    low, high = tango(numpy.array([1.0]), numpy.array([7.0]), numpy.array([21.0]), correction=0.0)
    assert (low[0], high[0]) == pytest.approx((-0.517, -0.026), abs=5e-4)
    found = newcombe(1, 1, 7, 12)
    assert (found.low, found.high) == pytest.approx((-0.507, -0.026), abs=5e-4)


def test_without_discordant_pairs_the_interval_still_has_a_width() -> None:
    low, high = tango(numpy.array([0.0]), numpy.array([0.0]), numpy.array([20.0]))
    assert low[0] == pytest.approx(-high[0])
    assert 0.1 < high[0] < 0.25


def test_newcombe_without_discordance_is_symmetric() -> None:
    interval = newcombe(5, 0, 0, 5)
    assert interval.low == pytest.approx(-interval.high)


def test_darwins_plants_by_sign_flip_t_and_wilcoxon() -> None:
    from scipy.stats import permutation_test, ttest_1samp, wilcoxon

    p, exact = sign_flip(numpy.array(DARWIN, dtype=float))
    assert exact
    assert p == pytest.approx(1726 / 32768)
    assert p == pytest.approx(0.05267334, abs=1e-8)
    oracle = permutation_test((numpy.array(DARWIN),), numpy.mean, permutation_type="samples", n_resamples=numpy.inf)
    assert p == pytest.approx(oracle.pvalue)
    assert ttest_1samp(DARWIN, 0).pvalue == pytest.approx(0.0497, abs=5e-5)
    found = wilcoxon(DARWIN)
    assert (found.statistic, found.pvalue) == (24, pytest.approx(0.04126, abs=5e-6))


def test_sampled_sign_flips_agree_with_all_of_them() -> None:
    sums = numpy.array([*DARWIN, 0.0, 0.0, 31.0, -12.0, 40.0])
    sampled, exact = sign_flip(sums, 20_000, seed=1)
    assert not exact
    assert sign_flip(sums, 20_000, seed=1)[0] == sampled
    everything = numpy.array([0.0])
    for value in sums:
        everything = numpy.concatenate([everything + value, everything - value])
    assert sampled == pytest.approx(float((numpy.abs(everything) >= abs(sums.sum())).mean()), abs=0.006)


def test_zero_sums_change_nothing_and_all_zero_is_p_1() -> None:
    assert sign_flip(numpy.array([*DARWIN, *[0.0] * 100], dtype=float))[0] == pytest.approx(1726 / 32768)
    assert sign_flip(numpy.zeros(50)) == (1.0, True)
