"""What can be read about a judge's biases without any label, at no cost: length, one value, repeats, families."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import combinations
from typing import TYPE_CHECKING, Any

from runner.findings import BiasReadings, FamilyCell, Interval
from runner.records import Record, RunResult, Score, VerdictStatus
from runner.statistics.clusters import BY_GOLD, cluster_of, mean
from runner.statistics.power import ALPHA
from runner.statistics.summary import is_scored

if TYPE_CHECKING:
    import numpy

    Array = numpy.ndarray[Any, Any]

RESAMPLES = 1_000
LONG_CORRELATION = 0.3
"""Rank correlation of score and length from which on the report warns."""
ONE_VALUE = 0.9
"""Share of one value from which on a rubric tells answers apart too little."""
UNSTEADY = 0.1
"""Share of answers whose pass turns between repeats from which on the report warns."""
FEWEST = 10


def bias_readings(
    runs: Sequence[RunResult],
    judge: str,
    *,
    family_of: Callable[[str], str] = str,
    cluster_by: str = BY_GOLD,
    seed: int = 7,
) -> BiasReadings:
    """Read one judge over the runs.

    Parameters
    ----------
    family_of
        The family of a model by its name.
    """
    scored = [
        (run, record, score) for run in runs for record in run.records if is_scored(score := record.scores.get(judge))
    ]
    correlation, interval = _length(runs, judge, cluster_by, seed)
    shown = Counter(score.label if score.label is not None else f"{score.value:g}" for _, _, score in scored)
    top = shown.most_common(1)[0] if shown else None
    retest, flips, deviation = _repeats([score for _, _, score in scored])
    families = _families([(run, score) for run, _, score in scored], family_of)
    found = BiasReadings(
        judge=judge,
        scored=len(scored),
        length_correlation=correlation,
        length_interval=interval,
        top_value=top[0] if top else None,
        top_share=top[1] / len(scored) if top else None,
        retest_share=retest,
        retest_flip_rate=flips,
        within_deviation=deviation,
        families=families,
        warnings=(),
    )
    return replace(found, warnings=tuple(_warnings(found)))


def _warnings(found: BiasReadings) -> list[str]:
    said = []
    if found.scored < FEWEST:
        return [f"{found.judge}: only {found.scored} scores, too few to read a bias from."]
    if found.top_share is not None and found.top_share >= ONE_VALUE:
        said.append(
            f"{found.judge}: {found.top_share:.0%} of the scores are {found.top_value}: the rubric tells these answers "
            "apart too little to compare configurations."
        )
    length, interval = found.length_correlation, found.length_interval
    if length is not None and interval is not None and abs(length) >= LONG_CORRELATION and 0 not in interval:
        which = "longer" if length > 0 else "shorter"
        said.append(
            f"{found.judge}: {which} answers score higher (rank correlation {length:.2f}, "
            f"95 % interval {interval.low:.2f} to {interval.high:.2f}): look whether they are better or only longer."
        )
    if found.retest_flip_rate is not None and found.retest_flip_rate >= UNSTEADY:
        said.append(
            f"{found.judge}: asked again, it turns pass to fail or back on {found.retest_flip_rate:.0%} of the answers."
        )
    own = [cell for cell in found.families if cell.same]
    others = [cell for cell in found.families if not cell.same]
    if own and others and max(cell.mean for cell in own) > max(cell.mean for cell in others):
        said.append(f"{found.judge}: it scores generators of its own family ({own[0].judge_family}) highest.")
    return said


def _length(runs: Sequence[RunResult], judge: str, cluster_by: str, seed: int) -> tuple[float | None, Interval | None]:
    """Spearman within runs: ranks are taken and centred within each run, then pooled."""
    import numpy
    from scipy.stats import rankdata

    parts: dict[object, Array] = defaultdict(lambda: numpy.zeros(3))
    count = 0
    for run in runs:
        kept: list[tuple[Record, Score]] = [
            (record, score)
            for record in run.records
            if is_scored(score := record.scores.get(judge)) and record.answer.text
        ]
        if len(kept) < 2:
            continue
        count += len(kept)
        scores = rankdata([score.value for _, score in kept])
        lengths = rankdata([len(record.answer.text) for record, _ in kept])
        x, y = (scores - scores.mean()) / len(kept), (lengths - lengths.mean()) / len(kept)
        for (record, _), a, b in zip(kept, x, y, strict=True):
            parts[cluster_of(record.question, cluster_by)] += (a * b, a * a, b * b)
    if count < FEWEST:
        return None, None
    sums = numpy.array(list(parts.values()))
    whole = _correlation(sums.sum(axis=0))
    if whole is None or len(sums) < 2:
        return whole, None
    weights = numpy.random.default_rng(seed).multinomial(len(sums), numpy.full(len(sums), 1 / len(sums)), RESAMPLES)
    drawn = [value for row in weights @ sums if (value := _correlation(row)) is not None]
    if len(drawn) < RESAMPLES / 2:
        return whole, None
    low, high = numpy.quantile(drawn, [ALPHA / 2, 1 - ALPHA / 2])
    return whole, Interval(float(low), float(high))


def _correlation(sums: Array) -> float | None:
    below = math.sqrt(float(sums[1]) * float(sums[2]))
    return float(sums[0]) / below if below > 0 else None


def _repeats(scores: Sequence[Score]) -> tuple[float | None, float | None, float | None]:
    """Share of equal pairs of repeats, share of answers whose pass turns, and the deviation within answers."""
    equal = pairs = turned = marked = 0
    variances = []
    for score in scores:
        values = [v.score for v in score.verdicts if v.status == VerdictStatus.SCORED and v.score is not None]
        if len(values) < 2:
            continue
        for left, right in combinations(values, 2):
            pairs += 1
            equal += left == right
        middle = mean(values)
        variances.append(math.fsum((value - middle) ** 2 for value in values) / (len(values) - 1))
        if score.pass_at is not None:
            marked += 1
            turned += len({value >= score.pass_at for value in values}) > 1
    if not pairs:
        return None, None, None
    return equal / pairs, turned / marked if marked else None, math.sqrt(mean(variances))


def _families(scored: Sequence[tuple[RunResult, Score]], family_of: Callable[[str], str]) -> tuple[FamilyCell, ...]:
    cells: dict[tuple[str, str], list[float]] = defaultdict(list)
    for run, score in scored:
        kind = str(run.choices.get("generator.kind", "model"))
        generator = family_of(str(run.choices.get("generator.model", ""))) if kind == "model" else kind
        cells[generator or "unknown", family_of(score.model) if score.model else "unknown"].append(score.value or 0.0)
    return tuple(
        FamilyCell(generator, judge, mean(values), len(values), generator == judge != "unknown")
        for (generator, judge), values in sorted(cells.items())
    )
