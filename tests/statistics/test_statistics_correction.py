"""Human labels: the correction's reference values, the blind random sample, and refusing what is no random sample."""

from __future__ import annotations

import csv
from collections.abc import Callable, Sequence
from itertools import combinations
from pathlib import Path

import numpy
import pytest

from runner.errors import ConfigurationError
from runner.findings import Interval
from runner.records import RunResult
from runner.statistics.biases import bias_readings
from runner.statistics.calibrate import calibrate
from runner.statistics.correction import ppi_mean, rogan_gladen
from runner.statistics.label_files import (
    COLUMNS,
    Scale,
    number_of,
    read_labels,
    read_rows,
    rows_of,
    scale_of,
    write_rows,
)
from runner.statistics.sampling import Design, draw_sample
from tests.fakes.runs import make_record, make_run, make_score
from tests.fakes.shared_data import labelled_systems

Y, F = [[float(c) for c in digits] for digits in ("1011011011", "1011111010")]
UNLABELLED = [1.0] * 60 + [0.0] * 40


@pytest.mark.parametrize(
    ("weight", "value", "low", "high"),
    [(0.0, 0.7, 0.415974, 0.984026), (1.0, 0.6, 0.306659, 0.893341), (None, 0.658383, 0.411263, 0.905502)],
)
def test_ppi_is_that_of_ppi_python(weight: float | None, value: float, low: float, high: float) -> None:
    found = ppi_mean(Y, F, UNLABELLED, weight=weight, small_sample=False)
    assert found is not None
    assert found.interval is not None
    assert (found.value, found.interval.low, found.interval.high) == pytest.approx((value, low, high), abs=1e-6)


def test_few_labels_get_a_wider_interval_and_a_note() -> None:
    small, large = ppi_mean(Y, F, UNLABELLED), ppi_mean(Y, F, UNLABELLED, small_sample=False)
    assert small is not None
    assert large is not None
    assert small.interval is not None
    assert large.interval is not None
    assert small.interval.low < large.interval.low
    assert "few" in small.note


def test_labels_of_one_cluster_or_one_label_give_nothing() -> None:
    assert ppi_mean([1.0], [1.0], UNLABELLED) is None
    assert ppi_mean(Y, F, UNLABELLED, clusters=["x"] * 10) is None


def test_without_unlabelled_answers_the_labels_alone_count() -> None:
    found = ppi_mean(Y, F, [])
    assert found is not None
    assert (found.value, found.weight) == (pytest.approx(0.7), 0.0)
    assert found.standard_error == pytest.approx(numpy.std(Y, ddof=1) / 10**0.5)


def test_rogan_gladen_of_lee() -> None:
    found = rogan_gladen(0.4, 1000, 0.9, 0.7, positives=200, negatives=200)
    assert found is not None
    assert found.interval is not None
    assert found.value == pytest.approx(1 / 6)
    assert (found.interval.low, found.interval.high) == pytest.approx((0.0563507, 0.2627330), abs=1e-7)
    course = rogan_gladen(379 / 395, 395, 0.97, 0.8, positives=50, negatives=50)
    assert course is not None
    assert course.interval is not None
    assert (course.value, course.interval.low, course.interval.high) == pytest.approx((0.9864, 0.9276, 1.0), abs=5e-5)
    assert rogan_gladen(0.5, 100, 0.5, 0.5, positives=10, negatives=10) is None, "a judge that says nothing"


def labelled_by_both() -> dict[str, dict[str, tuple[float, float]]]:
    """System → question → what people and what GPT-4 said."""
    judge = {
        run.name: {r.question.id: r.scores["m"].value for r in run.records} for run in labelled_systems("judge_gpt4")
    }
    found: dict[str, dict[str, tuple[float, float]]] = {}
    for run in labelled_systems("human"):
        for record in run.records:
            human, judged = record.scores["m"].value, judge[run.name][record.question.id]
            if human is not None and judged is not None:
                found.setdefault(run.name, {})[record.question.id] = human, judged
    return found


def coverage(
    populations: Sequence[numpy.ndarray], labels: int, draws: int, estimate: Callable[[numpy.ndarray], Interval | None]
) -> tuple[float, float]:
    """Share of resampled worlds in which the interval holds the truth, and its mean width; of those that have one."""
    generator = numpy.random.default_rng(labels)
    covered, widths = [], []
    for values in populations:
        truth = values[:, 0].mean()
        for _ in range(draws):
            interval = estimate(values[generator.integers(0, len(values), len(values))])
            if interval is not None:
                covered.append(truth in interval)
                widths.append(interval.high - interval.low)
    # Without variance among the labels there is none.
    assert len(covered) > 0.95 * draws * len(populations)
    return float(numpy.mean(covered)), float(numpy.mean(widths))


def by_ppi(labels: int, weight: float | None) -> Callable[[numpy.ndarray], Interval | None]:
    def estimate(drawn: numpy.ndarray) -> Interval | None:
        labelled = drawn[:labels]
        found = ppi_mean(labelled[:, 0].tolist(), labelled[:, 1].tolist(), drawn[labels:, 1].tolist(), weight=weight)
        return None if found is None else found.interval

    return estimate


def by_judge(drawn: numpy.ndarray) -> Interval:
    middle, half = drawn[:, 1].mean(), 1.96 * drawn[:, 1].std(ddof=1) / len(drawn) ** 0.5
    return Interval(middle - half, middle + half)


def by_rogan_gladen(labels: int) -> Callable[[numpy.ndarray], Interval | None]:
    def estimate(drawn: numpy.ndarray) -> Interval | None:
        people, judged = drawn[:labels, 0] == 1, drawn[:labels, 1] == 1
        positives, negatives = int(people.sum()), int((~people).sum())
        nothing_said = Interval(0.0, 1.0)
        if not positives or not negatives:
            return nothing_said
        sensitivity, specificity = judged[people].mean(), 1 - judged[~people].mean()
        rest = drawn[labels:, 1]
        found = rogan_gladen(
            float(rest.mean()),
            len(rest),
            float(sensitivity),
            float(specificity),
            positives=positives,
            negatives=negatives,
        )
        return nothing_said if found is None else found.interval

    return estimate


RECORDED = {
    # labels: humans alone, PPI, PPI++, Rogan-Gladen by the same labels; each coverage, width
    30: ((0.935, 0.324), (0.940, 0.286), (0.923, 0.243), (0.969, 0.473)),
    60: ((0.938, 0.230), (0.949, 0.224), (0.942, 0.182), (0.960, 0.348)),
    100: ((0.945, 0.178), (0.945, 0.198), (0.940, 0.149), (0.951, 0.295)),
}


@pytest.mark.parametrize("labels", sorted(RECORDED))
def test_ppi_covers_the_true_accuracy_where_the_judge_alone_does_not(labels: int) -> None:
    """The recorded experiment in small, on 12 systems. Student's t makes ours a little wider at 30 labels."""
    populations = [numpy.array(list(system.values())) for system in labelled_by_both().values()]
    alone, width = coverage(populations, labels, 60, by_judge)
    assert alone == pytest.approx(0.684, abs=0.06)
    assert width == pytest.approx(0.108, abs=0.005)
    for (covered, wide), estimate in zip(
        RECORDED[labels],
        (by_ppi(labels, 0.0), by_ppi(labels, 1.0), by_ppi(labels, None), by_rogan_gladen(labels)),
        strict=True,
    ):
        found, found_width = coverage(populations, labels, 60, estimate)
        assert found == pytest.approx(covered, abs=0.035)
        assert found_width == pytest.approx(wide, rel=0.1)


@pytest.mark.parametrize(("labels", "covered", "wide"), [(30, 0.923, 0.243), (60, 0.945, 0.183), (100, 0.943, 0.149)])
def test_ppi_covers_the_true_difference_of_pairs(labels: int, covered: float, wide: float) -> None:
    systems = labelled_by_both()
    populations = [
        numpy.array([numpy.subtract(systems[a][q], systems[b][q]) for q in systems[a] if q in systems[b]])
        for a, b in combinations(systems, 2)
    ]
    assert len(populations) == 66
    alone, width = coverage(populations, labels, 10, by_judge)
    assert alone == pytest.approx(0.86, abs=0.05)
    assert width == pytest.approx(0.108, rel=0.12)
    found, found_width = coverage(populations, labels, 10, by_ppi(labels, None))
    assert found == pytest.approx(covered, abs=0.035)
    assert found_width == pytest.approx(wide, rel=0.12)


def example_runs(count: int = 3, questions: int = 30, seed: int = 1) -> tuple[list[RunResult], dict[str, float]]:
    """Runs with a lenient judge, and the truth by answer text."""
    generator = numpy.random.default_rng(seed)
    truth, runs = {}, []
    for place in range(count):
        records = []
        for k in range(questions):
            true = float(generator.integers(1, max(3, 6 - place)))
            text = f"answer {place} {k}"
            truth[text] = true
            score = make_score("grounding", min(5.0, true + float(generator.random() < 0.5)), pass_at=4.0)
            records.append(make_record(f"q{k}", {"grounding": score}, [f"d{k // 2}"], text=text))
        runs.append(make_run(f"run {place}", records))
    return runs, truth


def labelled_file(
    path: Path, runs: Sequence[RunResult], truth: dict[str, float], count: int, done: int, **options: object
) -> Path:
    rows = rows_of(draw_sample(runs, count, 7, **options))  # type: ignore[arg-type]
    for row in rows[:done]:
        row["label"] = f"{truth[row['answer']]:g}"
    write_rows(path, rows)
    return path


def test_the_file_is_blind_and_the_same_seed_draws_the_same() -> None:
    runs, _ = example_runs()
    first, second = rows_of(draw_sample(runs, 20, 7)), rows_of(draw_sample(list(reversed(runs)), 20, 7))
    assert first == second
    assert rows_of(draw_sample(runs, 20, 8)) != first
    text = "\n".join(str({**row, "answer": ""}) for row in first)
    assert not any(run.name in text or run.job_key in text for run in runs)
    assert set(first[0]) == set(COLUMNS)


def test_the_sample_is_spread_over_questions_and_runs() -> None:
    runs, _ = example_runs(count=6, questions=50)
    draw = draw_sample(runs, 120, 7)
    assert draw.design == Design.ANSWERS
    counts = [sum(unit.run == place for unit in draw.units) for place in range(6)]
    assert min(counts) > 8
    whole = draw_sample(runs, 60, 7, Design.QUESTIONS)
    assert len({unit.record.question.id for unit in whole.units}) == 10


def test_equal_answers_to_one_question_are_labelled_once() -> None:
    runs = [make_run(name, [make_record(f"q{k}", {"g": 5}, text="same") for k in range(5)]) for name in "ab"]
    draw = draw_sample(runs, 10, 7)
    assert (len(draw.units), len(rows_of(draw))) == (10, 5)


def test_a_random_sample_corrects_means_and_paired_differences(tmp_path: Path) -> None:
    runs, truth = example_runs()
    path = labelled_file(tmp_path / "anna.csv", runs, truth, 60, 60)
    found = calibrate(runs, "grounding", [read_labels(path, scale_of(runs, "grounding"))])
    assert found.random_sample
    assert found.warnings == ()
    assert found.labelled == 60
    assert found.judge_human is not None
    assert found.judge_human.bias == pytest.approx(0.4, abs=0.2), "the judge is lenient"
    for place, one in enumerate(found.means):
        assert one.corrected is not None
        assert one.corrected.interval is not None
        true = float(numpy.mean([truth[f"answer {place} {k}"] for k in range(30)]))
        assert abs(one.corrected.value - true) < abs(one.judge - true)
        assert true in one.corrected.interval
    assert len(found.differences) == 3
    paired = found.differences[0].corrected
    assert paired is not None
    assert paired.labelled == 20, "labelled in both"
    assert paired.note != "from labels on different questions, so wider than paired labels would make it"


def test_pass_rates_are_corrected_too(tmp_path: Path) -> None:
    runs, truth = example_runs()
    path = labelled_file(tmp_path / "anna.csv", runs, truth, 60, 60)
    found = calibrate(runs, "grounding", [read_labels(path, scale_of(runs, "grounding"))], measure="pass_rate")
    assert all(0 <= one.judge <= 1 for one in found.means)
    assert found.means[0].corrected is not None
    assert found.means[0].corrected.value < found.means[0].judge


def test_the_beginning_of_the_order_is_a_random_sample_and_a_hole_is_not(tmp_path: Path) -> None:
    runs, truth = example_runs()
    scale = scale_of(runs, "grounding")
    path = labelled_file(tmp_path / "part.csv", runs, truth, 60, 35)
    assert calibrate(runs, "grounding", [read_labels(path, scale)]).random_sample
    rows = read_rows(path)
    rows[3]["label"] = ""
    write_rows(path, rows)
    holed = calibrate(runs, "grounding", [read_labels(path, scale)])
    assert not holed.random_sample
    assert "1 items before the last labelled one" in holed.warnings[0]
    assert all(one.corrected is None for one in (*holed.means, *holed.differences))
    assert "not a random sample" in holed.means[0].sentence
    assert holed.judge_human is not None, "agreement needs no random sample"
    rows[3]["label"] = "?"
    write_rows(path, rows)
    assert calibrate(runs, "grounding", [read_labels(path, scale)]).random_sample


def test_labels_of_other_runs_are_not_used_to_correct_these(tmp_path: Path) -> None:
    runs, truth = example_runs()
    path = labelled_file(tmp_path / "l.csv", runs, truth, 60, 60)
    other, _ = example_runs(count=2)
    found = calibrate(other, "grounding", [read_labels(path, scale_of(other, "grounding"))])
    assert not found.random_sample
    assert "from other runs" in found.warnings[0]


def test_labels_from_elsewhere_are_joined_by_text_and_never_correct(tmp_path: Path) -> None:
    runs, truth = example_runs()
    path = tmp_path / "theirs.csv"
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["question", "answer", "label"])
        for record in runs[0].records[:10]:
            writer.writerow([record.question.text, record.answer.text, f"{truth[record.answer.text]:g}"])
    found = calibrate(runs, "grounding", [read_labels(path, scale_of(runs, "grounding"))])
    assert found.judge_human is not None
    assert found.judge_human.items == 10
    assert not found.random_sample
    assert found.means[0].corrected is None


def test_two_people_show_the_ceiling(tmp_path: Path) -> None:
    runs, truth = example_runs()
    paths = [labelled_file(tmp_path / f"{name}.csv", runs, truth, 40, 40) for name in ("anna", "ben")]
    rows = read_rows(paths[1])
    rows[0]["label"] = "1" if rows[0]["label"] != "1" else "2"
    write_rows(paths[1], rows)
    scale = scale_of(runs, "grounding")
    found = calibrate(runs, "grounding", [read_labels(path, scale) for path in paths])
    assert found.human_human is not None
    assert found.human_human.coefficients["percent"].value == pytest.approx(39 / 40)


def test_a_label_off_the_scale_is_named_with_its_row(tmp_path: Path) -> None:
    runs, truth = example_runs()
    path = labelled_file(tmp_path / "l.csv", runs, truth, 10, 10)
    rows = read_rows(path)
    rows[1]["label"], rows[4]["label"] = "7", "dunno"
    write_rows(path, rows)
    with pytest.raises(ConfigurationError) as error:
        read_labels(path, scale_of(runs, "grounding"))
    assert "row 3" in str(error.value)
    assert "row 6" in str(error.value)
    assert "give 1 to 5" in str(error.value)


def test_words_and_numbers_are_labels() -> None:
    scale = Scale({"good": 1.0, "bad": 0.0}, 0.0, 1.0, 1.0)
    assert [number_of(text, scale) for text in ("Good", " bad ", "1", "0,5", "2", "nan", "")] == [
        1,
        0,
        1,
        0.5,
        None,
        None,
        None,
    ]


def test_a_cell_that_a_spreadsheet_would_run_is_made_harmless(tmp_path: Path) -> None:
    runs = [
        make_run(
            "a", [make_record("q", {"g": 5}, text="=cmd|' /C calc'!A0"), make_record("r", {"g": 5}, text='"a",\n🦉')]
        )
    ]
    rows = rows_of(draw_sample(runs, 5, 7))
    assert all(not row["answer"].startswith("=") for row in rows)
    write_rows(tmp_path / "l.csv", rows)
    assert read_rows(tmp_path / "l.csv") == rows


def test_a_judge_that_prefers_length_is_unmasked() -> None:
    generator = numpy.random.default_rng(1)
    lengths = generator.integers(10, 500, 60)
    fond = make_run(
        "a", [make_record(f"q{k}", {"g": float(1 + n // 100)}, text="x" * n) for k, n in enumerate(lengths)]
    )
    found = bias_readings([fond], "g")
    assert found.length_correlation == pytest.approx(1.0, abs=0.05)
    assert any("longer answers score higher" in warning for warning in found.warnings)
    fair = make_run(
        "b",
        [
            make_record(f"q{k}", {"g": float(v)}, text="x" * n)
            for k, (n, v) in enumerate(zip(lengths, generator.integers(1, 6, 60), strict=True))
        ],
    )
    assert bias_readings([fair], "g").warnings == ()


def test_a_judge_that_says_five_to_everyone_is_unmasked() -> None:
    run = make_run("a", [make_record(f"q{k}", {"g": 5.0}, text="x" * (k + 1)) for k in range(20)])
    found = bias_readings([run], "g")
    assert (found.top_value, found.top_share, found.length_correlation) == ("5", 1.0, None)
    assert "100% of the scores are 5" in found.warnings[0]


def test_repeats_that_disagree_are_counted() -> None:
    from runner.records import Verdict, VerdictStatus

    def repeated(values: list[float]) -> object:
        verdicts = tuple(Verdict(VerdictStatus.SCORED, score=value, repeat=k) for k, value in enumerate(values))
        return make_score("g", sum(values) / len(values), verdicts=verdicts, pass_at=4.0)

    steady = [make_record(f"q{k}", {"g": repeated([5, 5, 5])}) for k in range(8)]  # type: ignore[dict-item]
    shaky = [make_record(f"r{k}", {"g": repeated([5, 3, 5])}) for k in range(4)]  # type: ignore[dict-item]
    runs = [make_run("a", [*steady, *shaky])]
    found = bias_readings(runs, "g")
    assert found.retest_share == pytest.approx((8 * 3 + 4) / (12 * 3))
    assert found.retest_flip_rate == pytest.approx(4 / 12)
    assert any("turns pass to fail" in warning for warning in found.warnings)
    assert found.within_deviation == pytest.approx((4 / 12 * 4 / 3) ** 0.5)


def test_families_show_who_favours_whom() -> None:
    def run(model: str, value: float) -> RunResult:
        records = [make_record(f"q{k}", {"g": make_score("g", value, model="gpt-9")}) for k in range(10)]
        return make_run(model, records, choices={"generator.kind": "model", "generator.model": model})

    found = bias_readings([run("gpt-8", 5.0), run("llama-9", 3.0)], "g", family_of=lambda name: name.split("-")[0])
    assert [(cell.generator_family, cell.same, cell.mean) for cell in found.families] == [
        ("gpt", True, 5),
        ("llama", False, 3),
    ]
    assert any("own family" in warning for warning in found.warnings)
