"""Agreement coefficients against published tables, other programs' recorded values, and real raters."""

from __future__ import annotations

import json
import re
from collections import defaultdict

import numpy
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runner.findings import Agreement
from runner.statistics.agreement import agreement
from runner.statistics.coefficients import WEIGHTS, Items, conger, gwet, krippendorff
from runner.statistics.confusion import confusion_of_counts
from runner.statistics.correction import ppi_mean
from runner.statistics.correlation import kendall, pearson, spearman
from tests.fakes.shared_data import reference_values, rows, shared

_ = None
KRIPPENDORFF: dict[str, list[float | None]] = {
    "A": [1, 2, 3, 3, 2, 1, 4, 1, 2, _, _, _],
    "B": [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, _, _],
    "C": [_, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, 3],
    "D": [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, _],
}


def value(found: Agreement, name: str) -> float:
    number = found.coefficients[name].value
    assert number is not None
    return number


def table_ratings(table: list[list[int]]) -> dict[str, list[float | None]]:
    """Two raters whose values are counted in a table."""
    pairs = [(r, c) for r, row in enumerate(table) for c, count in enumerate(row) for _ in range(count)]
    return {"one": [float(r) for r, _ in pairs], "two": [float(c) for _, c in pairs]}


def test_krippendorffs_example_with_missing_ratings() -> None:
    found = agreement(KRIPPENDORFF)
    expected = {
        "krippendorff_nominal": 0.743421,
        "krippendorff_ordinal": 0.815388,
        "krippendorff_interval": 0.849107,
        "ac1": 0.77544,
        "fleiss": 0.76117,
        "cohen": 0.76282,
        "brennan_prediger": 0.77273,
        "ac2_quadratic": 0.914,
        "ac2_linear": 0.85874,
        "ac2_ordinal": 0.89894,
    }
    assert {name: value(found, name) for name in expected} == pytest.approx(expected, abs=6e-6)
    table = numpy.array([[numpy.nan if v is None else v for v in ratings] for ratings in KRIPPENDORFF.values()]).T
    items = Items(table)
    assert krippendorff(items.sums(items.rows.sum(axis=0)), items.categories, "ratio") == pytest.approx(
        0.797403, abs=1e-6
    )
    # irrCAC calls "krippendorff, ordinal weights" what weighs by the ranks of the values alone: not this coefficient.
    assert abs(value(found, "krippendorff_ordinal") - 0.83364) > 0.01
    assert found.items == 11, "one unit has a single rating and pairs with nothing"


def test_cohens_kappa_of_a_two_by_two_table() -> None:
    from statsmodels.stats.inter_rater import cohens_kappa

    found = agreement(table_ratings([[20, 5], [10, 15]]), pass_at=1)
    assert value(found, "cohen") == pytest.approx(0.4)
    oracle = cohens_kappa(numpy.array([[20, 5], [10, 15]]))
    assert (oracle.std_kappa, oracle.kappa_low, oracle.kappa_upp) == pytest.approx(
        (0.126996, 0.15109, 0.64891), abs=1e-5
    )
    interval = found.coefficients["cohen"].interval
    assert interval is not None
    assert (interval.low, interval.high) == pytest.approx((oracle.kappa_low, oracle.kappa_upp), abs=0.03)


@pytest.mark.parametrize(
    ("name", "expected"), [("cohen", 0.283747), ("cohen_linear", 0.210526), ("cohen_quadratic", 0.127726)]
)
def test_weighted_kappa_of_statsmodels_three_by_three(name: str, expected: float) -> None:
    table = [[45, 10, 5], [6, 16, 3], [10, 5, 0]]
    assert value(agreement(table_ratings(table)), name) == pytest.approx(expected, abs=1e-6)


def test_fleiss_ten_subjects_by_fourteen_raters() -> None:
    counts = [
        [0, 0, 0, 0, 14], [0, 2, 6, 4, 2], [0, 0, 3, 5, 6], [0, 3, 9, 2, 0], [2, 2, 8, 1, 1],
        [7, 7, 0, 0, 0], [3, 2, 6, 3, 0], [2, 5, 3, 2, 2], [6, 5, 2, 1, 0], [0, 2, 2, 3, 7],
    ]  # fmt: skip
    by_item = [[float(k) for k, count in enumerate(row) for _ in range(count)] for row in counts]
    found = agreement({f"r{r}": [item[r] for item in by_item] for r in range(14)})
    assert value(found, "fleiss") == pytest.approx(0.209931, abs=1e-6)


def test_three_raters_of_the_labelled_systems() -> None:
    found = rows("nq301/human_raters.csv")
    code = {"Yes": 1.0, "No": 0.0, "": None}
    ratings = {f"rater{k}": [code.get(row[f"rater{k}"]) for row in found] for k in (1, 2, 3)}
    expected = reference_values()
    three = agreement(ratings)
    assert value(three, "krippendorff_nominal") == pytest.approx(expected["nq301_3raters"]["alpha_nominal"], abs=1e-6)
    assert value(three, "ac1") == pytest.approx(expected["nq301_3raters"]["AC1"], abs=6e-6)
    two = agreement({name: ratings[name] for name in ("rater1", "rater2")})
    assert two.items == expected["nq301_raters12"]["n"]
    assert value(two, "percent") == pytest.approx(expected["nq301_raters12"]["agree"], abs=6e-6)
    assert value(two, "cohen") == pytest.approx(expected["nq301_raters12"]["kappa"], abs=1e-6)


def test_the_prevalence_paradox_is_shown_and_said() -> None:
    items: dict[tuple[str, str], list[float]] = defaultdict(list)
    for row in rows("xsum/factuality_ratings.csv"):
        if row["is_factual"] in ("yes", "no"):
            items[row["bbcid"], row["system"]].append(float(row["is_factual"] == "yes"))
    width = max(len(item) for item in items.values())
    ratings = {f"r{r}": [item[r] if r < len(item) else None for item in items.values()] for r in range(width)}
    found, expected = agreement(ratings), reference_values()["xsum_factuality"]
    assert found.items == pytest.approx(expected["items"], abs=2)
    assert value(found, "krippendorff_nominal") == pytest.approx(expected["alpha_nominal"], abs=1e-6)
    assert value(found, "ac1") == pytest.approx(expected["AC1"], abs=6e-6)
    assert value(found, "percent") == pytest.approx(expected["pct"], abs=6e-6)
    assert found.prevalence["1"] == pytest.approx(expected["share_yes"], abs=1e-3)
    three = [item for item in items.values() if len(item) == 3]
    assert len(three) == expected["items_3raters"]
    complete = agreement({f"r{r}": [item[r] for item in three] for r in range(3)})
    assert value(complete, "fleiss") == pytest.approx(expected["fleiss"], abs=1e-6)
    assert "read them together with AC1" in found.notes[0]


JUDGES = "GPT-4 Gemma-2B JudgeLM Llama-7B Llama-13B Llama-70B Llama3-8B Llama3-70B Mistral-7B"


@pytest.mark.parametrize("judge", JUDGES.split())
def test_judges_against_humans_on_trivia(judge: str) -> None:
    counts = dict.fromkeys(("tp", "fp", "fn", "tn"), 0)
    for row in rows("judges/triviaqa_judge_confusions.csv"):
        if row["judge"] == judge:
            counts = {name: counts[name] + int(row[name]) for name in counts}
    expected = reference_values()[f"triviaqa_{judge}"]
    assert counts == {name: expected[name] for name in counts}
    truth = confusion_of_counts(*counts.values())
    assert truth.true_positive_rate == pytest.approx(expected["TPR"], abs=1e-6)
    assert truth.true_negative_rate == pytest.approx(expected["TNR"], abs=1e-6)
    found = agreement(table_ratings([[counts["tn"], counts["fn"]], [counts["fp"], counts["tp"]]]), pass_at=1)
    assert found.confusion == truth
    assert value(found, "percent") == pytest.approx(expected["agree"], abs=1e-6)
    assert value(found, "cohen") == pytest.approx(expected["kappa"], abs=1e-6)
    assert value(found, "fleiss") == pytest.approx(expected["scott_pi"], abs=1e-6)
    assert value(found, "ac1") == pytest.approx(expected["AC1"], abs=1e-6)


@pytest.mark.parametrize("aspect", ["correctness", "completeness", "overall"])
def test_human_pairs_of_answer_preferences(aspect: str) -> None:
    found = rows("ragchecker/pairs_labels.csv")
    humans = {f"rater{k}": [float(row[f"{aspect}_rater{k}"]) for row in found] for k in (1, 2)}
    expected = reference_values()[f"ragchecker_{aspect}"]
    both = agreement(humans)
    assert value(both, "pearson") * 100 == pytest.approx(expected["human_pearson"], abs=6e-3)
    assert value(both, "spearman") * 100 == pytest.approx(expected["human_spearman"], abs=6e-3)
    for ours, theirs in [
        ("cohen", "kappa"),
        ("cohen_quadratic", "kappa_quadratic"),
        ("cohen_linear", "kappa_linear"),
        ("krippendorff_ordinal", "alpha_ordinal"),
    ]:
        assert value(both, ours) == pytest.approx(expected[theirs], abs=1e-6), ours
    tool = [float(row[f"{aspect}_ragchecker_2"]) - float(row[f"{aspect}_ragchecker_1"]) for row in found]
    judged = agreement({"tool": [*tool, *tool], "humans": [*humans["rater1"], *humans["rater2"]]})
    assert value(judged, "pearson") * 100 == pytest.approx(expected["metric_pearson"], abs=6e-3)
    assert value(judged, "spearman") * 100 == pytest.approx(expected["metric_spearman"], abs=0.02)


def test_gpt4_against_humans_on_the_labelled_systems() -> None:
    with shared("nq301/answers.jsonl").open(encoding="utf-8") as file:
        answers = [json.loads(line) for line in file]
    judge = [None if one["judge_gpt4"] is None else float(one["judge_gpt4"]) for one in answers]
    human = [float(one["human"]) for one in answers]
    found = agreement({"gpt4": judge, "human": human}, clusters=[one["qid"] for one in answers], pass_at=1)
    assert found.items == sum(score is not None for score in judge)
    assert found.bias is not None
    assert found.bias_interval is not None
    assert found.bias in found.bias_interval
    interval = found.coefficients["cohen"].interval
    assert interval is not None
    assert value(found, "cohen") in interval


scores = st.one_of(st.none(), st.integers(1, 5).map(float))


@settings(max_examples=15, deadline=None)
@given(st.lists(st.tuples(scores, scores), min_size=1, max_size=40))
def test_coefficients_agree_with_scikit_learn_and_scipy(pairs: list[tuple[float | None, float | None]]) -> None:
    from scipy.stats import kendalltau, spearmanr
    from sklearn.metrics import cohen_kappa_score

    found = agreement({"a": [a for a, _ in pairs], "b": [b for _, b in pairs]})
    complete = [(a, b) for a, b in pairs if a is not None and b is not None]
    assert found.items == len(complete)
    if not complete:
        assert found.notes
        return
    a, b = [x for x, _ in complete], [y for _, y in complete]
    if len(complete) == len(pairs) and len({*a, *b}) > 1:
        for name, weights in [("cohen", None), ("cohen_linear", "linear"), ("cohen_quadratic", "quadratic")]:
            labels = list(range(int(min(*a, *b)), int(max(*a, *b)) + 1))
            theirs = cohen_kappa_score(a, b, labels=labels, weights=weights)
            if len(set(a)) == 1 or len(set(b)) == 1:
                # It is 0 whatever the other says, which is no measure of anything.
                assert (theirs, found.coefficients[name].value) == (0, None)
            else:
                assert value(found, name) == pytest.approx(theirs, abs=1e-9)
    if len(set(a)) > 1 and len(set(b)) > 1:
        assert value(found, "spearman") == pytest.approx(spearmanr(a, b).statistic, abs=1e-9)
        assert value(found, "kendall") == pytest.approx(kendalltau(a, b).statistic, abs=1e-9)
    assert not re.search(r"\bnan\b|\binf\b", str(found))


def test_equal_ratings_give_a_sentence_and_no_nan() -> None:
    found = agreement({"a": [5.0] * 10, "b": [5.0] * 10})
    assert value(found, "percent") == 1
    assert found.coefficients["cohen"].value is None
    assert "all ratings are equal" in found.coefficients["cohen"].note
    assert "Every rating is 5" in found.notes[0]
    assert not re.search(r"\bnan\b|\binf\b", str(found))


def test_a_judge_between_the_marks_is_said_to_agree_rarely_by_its_scale() -> None:
    found = agreement({"judge": [2.5, 3.6, 4.1, 4.4, 4.9, 3.2], "human": [2.0, 4, 4, 5, 5, 3]})
    assert "between the marks of the scale" in " ".join(found.notes)
    marks = agreement({"judge": [2.0, 4, 4, 4, 5, 3], "human": [2.0, 4, 4, 5, 5, 3]})
    assert "between the marks" not in " ".join(marks.notes)


def test_one_cluster_gives_values_without_intervals() -> None:
    found = agreement({"a": [1.0, 2, 3], "b": [1.0, 2, 2]}, clusters=["x"] * 3)
    assert value(found, "percent") == pytest.approx(2 / 3)
    assert all(one.interval is None for one in found.coefficients.values())
    assert "One cluster only" in found.notes[-1]


def test_a_continuous_scale_gets_no_kappa_and_exact_correlations() -> None:
    generator = numpy.random.default_rng(2)
    a = generator.random(200)
    b = a + generator.normal(0, 0.2, 200)
    found = agreement({"a": a.tolist(), "b": b.tolist()})
    from scipy.stats import spearmanr

    assert "cohen" not in found.coefficients
    assert value(found, "spearman") == pytest.approx(spearmanr(a, b).statistic)
    interval = found.coefficients["spearman"].interval
    assert interval is not None
    assert value(found, "spearman") in interval


def test_all_resamples_at_once_are_what_each_is_by_itself() -> None:
    generator = numpy.random.default_rng(3)
    ratings = generator.integers(1, 5, (30, 2)).astype(float)
    items = Items(ratings)
    drawn = generator.multinomial(30, numpy.full(30, 1 / 30), size=20).astype(float)
    drawn[0] = ratings[:, 0] == 1  # one rater without variety
    sums = items.sums(drawn @ items.rows)
    for k, row in enumerate(drawn):
        alone = items.sums(row @ items.rows)
        place = WEIGHTS.index("quadratic")
        for function in (gwet, conger):
            together = function(sums, items.weights[place], place)[k]
            assert together == pytest.approx(float(function(alone, items.weights[place], place)), nan_ok=True)
        for metric in ("nominal", "ordinal", "interval"):
            together = krippendorff(sums, items.categories, metric)[k]
            assert together == pytest.approx(float(krippendorff(alone, items.categories, metric)), nan_ok=True)
    tables = generator.integers(0, 4, (20, 4, 4)).astype(float)
    tables[0, 1:] = 0
    for measure in (spearman, kendall):
        assert numpy.isnan(measure(tables)[0])
        assert list(measure(tables)[1:]) == pytest.approx([float(measure(table)) for table in tables[1:]])


def test_a_rater_who_never_varies_has_no_correlation_whatever_the_rounding() -> None:
    table = numpy.zeros((3, 3))
    table[1] = (3, 1, 3)
    values = numpy.array([0.0, 0.1, 0.7])
    assert numpy.isnan(pearson(table, values, values))


def test_one_rater_with_one_word_makes_kappa_undefined_in_words() -> None:
    found = agreement({"judge": [5, 4, 5, 3], "humans": [5, 5, 5, 5]})
    for name in ("cohen", "cohen_linear", "cohen_quadratic"):
        assert (found.coefficients[name].value, found.coefficients[name].interval) == (None, None)
        assert "says nothing" in found.coefficients[name].note
    assert any(note.startswith("humans gave every answer the same rating") for note in found.notes)


@pytest.mark.parametrize("judge", [[5, 4, 5, 3], [5, 5, 5, 5], [1, 1, 1, 1], [4, 4, 4, 4]])
@pytest.mark.parametrize("humans", [[5, 4, 5, 3], [5, 5, 5, 5]])
def test_few_labels_give_no_interval_of_width_0(judge: list[int], humans: list[int]) -> None:
    found = agreement({"judge": judge, "humans": humans}, pass_at=4)
    shown = [one.interval for one in found.coefficients.values()] + [found.bias_interval]
    assert all(one is None or one.low < one.high for one in shown)
    percent = found.coefficients["percent"]
    if judge == humans:
        assert percent.value == 1
        assert percent.interval is not None
        assert percent.interval.low == pytest.approx(0.05 ** (1 / 4))
    if judge == humans and len(set(judge)) > 1:
        assert any(note.startswith("No interval for cohen") for note in found.notes)


def test_labels_without_variance_correct_without_an_interval() -> None:
    found = ppi_mean([5, 5, 5, 5], [5, 5, 5, 5], [5, 5, 5])
    assert found is not None
    assert (found.value, found.interval, found.note) == (5, None, "4 labels without any variance: no interval")
