"""Compares all jobs of a sweep on one metric: every pair of a family chosen beforehand, and who may be the best."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import combinations
from typing import TYPE_CHECKING, Any

from runner.errors import ConfigurationError
from runner.findings import Comparison, Interval, Measure, Optimism, Side, Standing, SweepComparison, Word
from runner.records import RunResult
from runner.statistics.best import (
    Resampled,
    confidence_set,
    critical_value,
    expected_drop,
    probability_best,
    resample,
)
from runner.statistics.clusters import BY_GOLD
from runner.statistics.compare import DEFAULT_SEED, drafts_of
from runner.statistics.confirming import Settings
from runner.statistics.confirming import confirm as confirm_best
from runner.statistics.costs import costs, pareto_front
from runner.statistics.drafts import Draft, possible
from runner.statistics.families import adjusted
from runner.statistics.pairs import measured
from runner.statistics.scores import ScoreTable, score_table
from runner.statistics.sentences import plural
from runner.statistics.sides import sides
from runner.statistics.signflip import RESAMPLES, RESAMPLES_IN_SWEEP

if TYPE_CHECKING:
    import numpy

    Array = numpy.ndarray[Any, Any]

FEW_PAIRS = 30
"""Up to this many pairs each gets the full number of permutations."""
SMALLEST_SHOWN = 0.0005
"""What rounds to 0 in three decimals is not said to be expected."""
TIE = 1e-12


def compare_sweep(
    runs: Iterable[RunResult],
    metric: str,
    *,
    baseline: str | None = None,
    measure: Measure | str = Measure.MEAN,
    cluster_by: str = BY_GOLD,
    margin: float | None = None,
    seed: int = DEFAULT_SEED,
    confirm: float | None = None,
) -> SweepComparison:
    """Compare all runs on one metric, at no cost.

    Parameters
    ----------
    runs
        Read one after the other; a generator keeps the memory small.
    baseline
        The name or job key of the run that all others are compared with; ``None``: all pairs. Choose before looking:
        the correction counts the pairs of the family (K-1 against a baseline, K(K-1)/2 for all pairs).
    metric, measure, cluster_by, margin, seed
        As in ``compare_runs``.
    confirm
        Besides, pick the best on the other questions and confirm it on this share of them (whole clusters, drawn with
        ``seed``): ``SweepComparison.confirmation``. Needs all runs in memory.

    Raises
    ------
    ConfigurationError
        Fewer than two runs, an unknown metric or baseline, or a question id twice in one run.
    """
    if confirm is not None:
        runs = list(runs)
    table = score_table(runs, metric, cluster_by)
    chosen = Measure(measure)
    pairs = _family(table, baseline)
    place = None if baseline is None else pairs[0][1]
    resamples = RESAMPLES if len(pairs) <= FEW_PAIRS else RESAMPLES_IN_SWEEP
    drafts = drafts_of(table, pairs, chosen, margin=margin, resamples=resamples, seed=seed)
    whole = _Whole(table, chosen, pairs, seed)
    comparisons = _finish(drafts, whole.critical)
    whole.agree_with(comparisons)
    shown = sides(table)
    standings = _standings(table, chosen, shown, whole)
    best = whole.best
    return SweepComparison(
        metric=metric,
        measure=chosen,
        family="all pairs" if baseline is None else f"against {table.names[pairs[0][1]]}",
        standings=standings,
        pairs=comparisons,
        best=None if best is None else table.names[best],
        indistinguishable=tuple(table.names[row] for row in whole.may_be_best),
        complete_questions=whole.questions,
        critical_value=whole.critical,
        optimism=whole.optimism(),
        sentences=tuple(_sentences(table, whole, comparisons, standings)),
        seed=seed,
        confirmation=None
        if confirm is None
        else confirm_best(list(runs), confirm, Settings(metric, chosen, cluster_by, margin, seed, place)),
    )


def _family(table: ScoreTable, baseline: str | None) -> list[tuple[int, int]]:
    count = len(table.names)
    if count < 2:
        raise ConfigurationError(f"comparing needs at least two runs, and there is {plural(count, 'run')}")
    if baseline is None:
        return list(combinations(range(count), 2))
    places = [k for k in range(count) if baseline in (table.names[k], table.job_keys[k])]
    if len(places) != 1:
        known = ", ".join(repr(name) for name in table.names)
        raise ConfigurationError(
            f"baseline {baseline!r} is {'no' if not places else 'more than one'} run; runs: {known}"
        )
    return [(k, places[0]) for k in range(count) if k != places[0]]


class _Whole:
    """What is said about all runs together, on the questions that all of them scored."""

    def __init__(self, table: ScoreTable, measure: Measure, pairs: Sequence[tuple[int, int]], seed: int) -> None:
        import numpy

        self._table = table
        complete: Array = numpy.logical_and.reduce(table.scored, axis=0)
        self.questions = int(complete.sum())
        first = numpy.zeros(len(complete), dtype=numpy.int64)
        first[table.starts] = 1
        cluster = numpy.cumsum(first)[complete]
        starts = numpy.flatnonzero(numpy.diff(cluster, prepend=0))
        self.clusters = len(starts)
        self.found: Resampled | None = None
        self.critical: float | None = None
        self.best: int | None = None
        self.may_be_best: list[int] = []
        if self.clusters < 2:
            return
        values = measured(table, measure)[:, complete]
        self.found = resample(values, starts, seed)
        self.critical = critical_value(values, starts, pairs, seed)
        self.may_be_best = confidence_set(self.found)
        self.best = self.may_be_best[0]

    def agree_with(self, comparisons: Sequence[Comparison]) -> None:
        """Bring the set into line with the verdicts against the best: the two must not contradict each other.

        Who is worse leaves it; who is in doubt only because scores failed, or because few clusters all came out alike,
        comes back, at the end.
        """
        if self.best is None:
            return
        names, best = self._table.names, self._table.names[self.best]
        against = {
            pair.a.name if pair.b.name == best else pair.b.name: pair for pair in comparisons if best in _names(pair)
        }
        beaten = {name for name, pair in against.items() if pair.verdict in (Word.BETTER, Word.WORSE)}
        doubtful = {
            name
            for name, pair in against.items()
            if name not in beaten and ((pair.bounds and not pair.bounds.agree) or not pair.standard_error)
        }
        kept = [row for row in self.may_be_best if names[row] not in beaten]
        self.may_be_best = kept + [row for row in range(len(names)) if names[row] in doubtful and row not in kept]

    def optimism(self) -> Optimism | None:
        """``None`` too where all runs are level: then nothing was picked."""
        if self.found is None or self.best is None or len(self.highest) == len(self._table.names):
            return None
        name, observed = self._table.names[self.best], float(self.found.means[self.best])
        drop = max(0.0, expected_drop(self.found))
        count = len(self._table.names)
        who = f"{name} is" if len(self.highest) == 1 else f"{', '.join(self.highest)} share"
        end = f"; picking the highest flatters it: on new questions expect about {drop:.3f} less."
        if drop < SMALLEST_SHOWN:
            end = "; picking the highest flatters it by less than 0.001 here."
        sentence = f"{who} the highest of {count} with {observed:.3f}{end}"
        return Optimism(name, observed, drop, sentence)

    @property
    def highest(self) -> list[str]:
        """Who has the highest number, or shares it."""
        if self.found is None:
            return []
        means = self.found.means
        return [self._table.names[row] for row in range(len(means)) if means[row] >= means.max() - TIE]


def _names(pair: Comparison) -> tuple[str, str]:
    return pair.a.name, pair.b.name


def _finish(drafts: Sequence[Draft], critical: float | None) -> tuple[Comparison, ...]:
    p_values = [draft.found.p for draft in drafts]
    holm, bh = adjusted(p_values, "holm"), adjusted(p_values, "bh")
    return tuple(
        draft.finish(holm[k], bh[k], _simultaneous(draft, critical), family=len(drafts))
        for k, draft in enumerate(drafts)
    )


def _simultaneous(draft: Draft, critical: float | None) -> Interval | None:
    found = draft.found
    if critical is None or found.clusters < 2 or found.error == 0:
        return None
    low, high = found.difference - critical * found.error, found.difference + critical * found.error
    # The critical value rests on the questions that all runs scored, and may come out below that of the one pair.
    widest = Interval(min(low, found.interval.low), max(high, found.interval.high)) if found.interval else None
    return possible(draft.table, draft.measure, widest)


def _standings(table: ScoreTable, measure: Measure, shown: Sequence[Side], whole: _Whole) -> tuple[Standing, ...]:
    money = costs(table)
    chances = probability_best(whole.found) if whole.found is not None else None
    scores = [side.pass_rate if measure == Measure.PASS_RATE else side.mean for side in shown]
    front = pareto_front(scores, [one.per_answer for one in money])
    return tuple(
        Standing(
            side=side,
            may_be_best=row in whole.may_be_best,
            probability_best=None if chances is None else chances[row],
            cost_per_answer=money[row].per_answer,
            cost_per_correct=money[row].per_correct,
            cost_per_correct_interval=money[row].interval,
            on_pareto_front=front[row],
        )
        for row, side in enumerate(shown)
    )


def _sentences(
    table: ScoreTable, whole: _Whole, comparisons: Sequence[Comparison], standings: Sequence[Standing]
) -> list[str]:
    found = []
    if whole.best is None:
        found.append(
            f"Nothing can be said about the best on {table.metric}: {plural(whole.questions, 'question')} of "
            f"{plural(whole.clusters, table.unit)} scored in every run, and at least two {table.unit}s are needed."
        )
    else:
        found.append(_best_sentence(table, whole))
        optimism = whole.optimism()
        if optimism is not None and len(table.names) > 2:
            found.append(optimism.sentence)
        elif len(whole.highest) == len(table.names) > 2:
            found.append(f"All {len(table.names)} are level on the questions that every run scored: none to pick.")
    if whole.questions < len(table.questions):
        found.append(
            f"{plural(whole.questions, 'question')} of {len(table.questions)} were scored in every run; the set of the "
            "best and the simultaneous intervals rest on those."
        )
    decided = [pair for pair in comparisons if pair.verdict in (Word.BETTER, Word.WORSE)]
    exploring = [pair for pair in comparisons if pair.p_bh is not None and pair.p_bh < 0.05]
    found.append(
        f"{len(decided)} of {plural(len(comparisons), 'pair')} are better or worse after Holm's correction over all of "
        f"them; {len(exploring)} are worth a look by Benjamini-Hochberg."
    )
    found += _unfair(comparisons)
    front = [one.side.name for one in standings if one.on_pareto_front]
    if front and len({one.cost_per_answer for one in standings}) > 1:
        found.append(f"Best for their money (score against cost of an answer): {', '.join(front)}.")
    return found


def _best_sentence(table: ScoreTable, whole: _Whole) -> str:
    names = [table.names[row] for row in whole.may_be_best]
    if len(names) == 1:
        return f"{names[0]} is the best on {table.metric}: every other run is told from it."
    if len(names) == len(table.names):
        return f"No run can be told from the best on {table.metric}: any of the {len(names)} may be it."
    others = f"{', '.join(names[1:6])}{' …' if len(names) > 6 else ''}"
    shares = "has" if len(whole.highest) == 1 else "shares"
    return (
        f"{names[0]} {shares} the highest {table.metric}, and {len(names) - 1} of {len(table.names) - 1} others "
        f"cannot be told from the best: {others}."
    )


def _unfair(comparisons: Sequence[Comparison]) -> list[str]:
    """The first pair that a retrieval metric cannot rank, if there is one."""
    notes = [note for pair in comparisons for note in pair.notes if "can only rise with the length" in note]
    return notes[:1]
