"""Sets a judge against human labels, and corrects its means and differences where the labels are a random sample."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

from runner.errors import ConfigurationError
from runner.findings import Agreement, Calibration, Corrected, Estimate, Measure
from runner.records import Record, RunResult
from runner.statistics.agreement import agreement
from runner.statistics.clusters import BY_GOLD, cluster_of, mean
from runner.statistics.correction import difference_of, ppi_mean
from runner.statistics.label_files import LabelFile, Scale, scale_of
from runner.statistics.sample_checks import draw_again, sample_warnings, units_by_text
from runner.statistics.sampling import Unit
from runner.statistics.summary import is_scored

LEAST_PAIRED = 10
"""Questions labelled in both runs from which on their difference is corrected by pairs."""
LEAST_BY_JOB = 5


def calibrate(
    runs: Sequence[RunResult],
    judge: str,
    files: Sequence[LabelFile],
    *,
    measure: Measure | str = Measure.MEAN,
    cluster_by: str = BY_GOLD,
    seed: int = 7,
) -> Calibration:
    """Compare the judge with the labels of one or more people, and correct its numbers by PPI++.

    A number is corrected only where the labelled answers are the beginning of the random order that ``label`` drew
    from these very runs; anything else is said in a warning.

    Raises
    ------
    ConfigurationError
        No run has the judge, or there is no answer to label.
    """
    runs = sorted(runs, key=lambda run: run.job_key)
    labelling = _Labelling(
        runs, judge, files, measure=Measure(measure), cluster_by=cluster_by, scale=scale_of(runs, judge)
    )
    warnings = list(labelling.warnings)
    by_job = {
        run.name: found
        for place, run in enumerate(runs)
        if (found := labelling.against_humans(seed, place)) is not None and found.items >= LEAST_BY_JOB
    }
    means = tuple(labelling.corrected_mean(place) for place in range(len(runs)))
    pairs = list(combinations(range(len(runs)), 2))
    return Calibration(
        judge=judge,
        labelled=labelling.labelled,
        skipped=labelling.skipped,
        random_sample=labelling.random_sample,
        judge_human=labelling.against_humans(seed),
        by_job=by_job,
        human_human=labelling.among_humans(seed),
        means=means,
        differences=tuple(labelling.corrected_difference(a, b, means) for a, b in pairs),
        warnings=tuple(warnings),
    )


@dataclass(frozen=True, slots=True)
class _Pair:
    truth: float
    judged: float
    cluster: Hashable


class _Labelling:
    """The labels joined to the answers that they are of."""

    def __init__(
        self,
        runs: Sequence[RunResult],
        judge: str,
        files: Sequence[LabelFile],
        *,
        measure: Measure,
        cluster_by: str,
        scale: Scale,
    ) -> None:
        self._runs, self._judge, self._files, self._measure = runs, judge, files, measure
        self._cluster_by, self._scale = cluster_by, scale
        if measure == Measure.PASS_RATE and scale.pass_at is None:
            raise ConfigurationError(
                f"judge {judge!r}: its pass mark is not stored, so labels cannot pass; use the mean"
            )
        self._human = _means([file.labels for file in files])
        draw = draw_again(runs, files)
        units = draw.units if draw is not None else units_by_text(runs, files)
        self.warnings = sample_warnings(draw, files, self._human)
        self.random_sample = draw is not None and not self.warnings
        self.skipped = len(frozenset().union(*(file.skipped for file in files)) - set(self._human))
        self._by_run = self._join(units)
        self.labelled = sum(len(found) for found in self._by_run)
        self._units = units

    def _join(self, units: Sequence[Unit]) -> list[dict[str, _Pair]]:
        """For each run: question → human and judge, where both spoke."""
        found: list[dict[str, _Pair]] = [{} for _ in self._runs]
        for unit in units:
            judged = self._judged(unit.record)
            if unit.item in self._human and judged is not None:
                cluster = cluster_of(unit.record.question, self._cluster_by)
                pair = _Pair(self._measured(self._human[unit.item]), judged, cluster)
                found[unit.run][unit.record.question.id] = pair
        return found

    def _judged(self, record: Record) -> float | None:
        score = record.scores.get(self._judge)
        if not is_scored(score) or score.value is None:
            return None
        return float(bool(score.passed)) if self._measure == Measure.PASS_RATE else score.value

    def _measured(self, value: float) -> float:
        if self._measure == Measure.PASS_RATE and self._scale.pass_at is not None:
            return float(value >= self._scale.pass_at)
        return value

    def against_humans(self, seed: int, run: int | None = None) -> Agreement | None:
        places = range(len(self._runs)) if run is None else [run]
        rows = []
        for unit in self._units:
            score = unit.record.scores.get(self._judge)
            if unit.run in places and unit.item in self._human and is_scored(score):
                rows.append((score.value, self._human[unit.item], cluster_of(unit.record.question, self._cluster_by)))
        if not rows:
            return None
        return agreement(
            {"judge": [row[0] for row in rows], "humans": [row[1] for row in rows]},
            clusters=[row[2] for row in rows],
            pass_at=self._scale.pass_at,
            seed=seed,
        )

    def among_humans(self, seed: int) -> Agreement | None:
        if len(self._files) < 2:
            return None
        first = {unit.item: cluster_of(unit.record.question, self._cluster_by) for unit in self._units}
        items = list(dict.fromkeys(item for file in self._files for item in file.labels))
        names = [f"{file.name} #{k + 1}" for k, file in enumerate(self._files)]
        ratings = {
            name: [file.labels.get(item) for item in items] for name, file in zip(names, self._files, strict=True)
        }
        clusters = [first.get(item, item) for item in items]
        return agreement(ratings, clusters=clusters, pass_at=self._scale.pass_at, seed=seed)

    def corrected_mean(self, place: int) -> Corrected:
        pairs = self._by_run[place]
        others = self._others(place, set(pairs))
        judged = [pair.judged for pair in pairs.values()] + [value for value, _ in others]
        estimate = _estimate(list(pairs.values()), others) if self.random_sample else None
        return _corrected(
            self._runs[place].name,
            mean(judged) if judged else 0.0,
            mean([pair.truth for pair in pairs.values()]) if pairs else None,
            estimate,
            self.random_sample,
        )

    def _others(self, place: int, labelled: set[str]) -> list[tuple[float, Hashable]]:
        return [
            (value, cluster_of(record.question, self._cluster_by))
            for record in self._runs[place].records
            if record.question.id not in labelled and (value := self._judged(record)) is not None
        ]

    def corrected_difference(self, a: int, b: int, means: Sequence[Corrected]) -> Corrected:
        """By pairs where enough questions are labelled in both, else from the two means."""
        left, right = self._scores(a), self._scores(b)
        both = [question for question in left if question in right]
        paired = [question for question in self._by_run[a] if question in self._by_run[b]]
        truth = [
            _Pair(
                self._by_run[a][question].truth - self._by_run[b][question].truth,
                left[question][0] - right[question][0],
                left[question][1],
            )
            for question in paired
        ]
        others = [(left[q][0] - right[q][0], left[q][1]) for q in both if q not in set(paired)]
        estimate: Estimate | None = None
        one, two = means[a].corrected, means[b].corrected
        if self.random_sample and len(paired) >= LEAST_PAIRED:
            estimate = _estimate(truth, others)
        elif self.random_sample and one is not None and two is not None:
            estimate = difference_of(one, two)
        return _corrected(
            f"{self._runs[a].name} − {self._runs[b].name}",
            mean([left[q][0] - right[q][0] for q in both]) if both else 0.0,
            mean([pair.truth for pair in truth]) if truth else None,
            estimate,
            self.random_sample,
        )

    def _scores(self, place: int) -> dict[str, tuple[float, Hashable]]:
        return {
            record.question.id: (value, cluster_of(record.question, self._cluster_by))
            for record in self._runs[place].records
            if (value := self._judged(record)) is not None
        }


def _estimate(pairs: Sequence[_Pair], others: Sequence[tuple[float, Hashable]]) -> Estimate | None:
    return ppi_mean(
        [pair.truth for pair in pairs],
        [pair.judged for pair in pairs],
        [value for value, _ in others],
        clusters=[pair.cluster for pair in pairs],
        unlabelled_clusters=[cluster for _, cluster in others],
    )


def _corrected(
    name: str, judged: float, humans: float | None, estimate: Estimate | None, random_sample: bool
) -> Corrected:
    if estimate is not None and estimate.interval is not None:
        low, high = estimate.interval.low, estimate.interval.high
        sentence = (
            f"{name}: the judge says {judged:.3f}; corrected by {estimate.labelled} labels {estimate.value:.3f} "
            f"(95 % interval {low:.3f} to {high:.3f})."
        )
    elif estimate is not None:
        sentence = (
            f"{name}: the judge says {judged:.3f}; corrected by {estimate.labelled} labels {estimate.value:.3f}, "
            "without an interval: the labels show no variance, which so few of them do not make certain."
        )
    elif not random_sample:
        sentence = f"{name}: the judge says {judged:.3f}; not corrected, as the labels are not a random sample."
    else:
        sentence = f"{name}: the judge says {judged:.3f}; too few labels to correct it."
    return Corrected(name, judged, humans, estimate, sentence)


def _means(labels: Sequence[Mapping[str, float]]) -> dict[str, float]:
    """What people said of each item on average."""
    items = dict.fromkeys(item for one in labels for item in one)
    return {item: mean([one[item] for one in labels if item in one]) for item in items}
