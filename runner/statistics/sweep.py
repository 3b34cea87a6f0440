"""Compares all jobs of a sweep on one metric: every pair of a family chosen beforehand, and who may be the best."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import combinations

from runner.errors import ConfigurationError
from runner.findings import Comparison, Interval, Measure, Side, Standing, SweepComparison, Word
from runner.records import RunResult
from runner.statistics.best import probability_best, probability_bounds
from runner.statistics.clusters import BY_GOLD
from runner.statistics.compare import DEFAULT_SEED, drafts_of
from runner.statistics.confirming import Settings
from runner.statistics.confirming import confirm as confirm_best
from runner.statistics.costs import costs, pareto_front
from runner.statistics.drafts import Draft, possible
from runner.statistics.families import adjusted
from runner.statistics.scores import ScoreTable, score_table
from runner.statistics.sentences import plural
from runner.statistics.sides import sides
from runner.statistics.signflip import RESAMPLES, RESAMPLES_IN_SWEEP
from runner.statistics.together import Together

FEW_PAIRS = 30
"""Up to this many pairs each gets the full number of permutations."""


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
    whole = Together(table, chosen, pairs, seed)
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
        complete_questions=whole.scored,
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


def _standings(table: ScoreTable, measure: Measure, shown: Sequence[Side], whole: Together) -> tuple[Standing, ...]:
    money = costs(table)
    chances = _chances(whole)
    scores = [_lowest(side, measure) for side in shown]
    front = pareto_front(scores, [one.per_answer for one in money])
    return tuple(
        Standing(
            side=side,
            may_be_best=row in whole.may_be_best,
            probability_best=None if chances is None else chances[row][0],
            probability_best_highest=None if chances is None else chances[row][1],
            cost_per_answer=money[row].per_answer,
            cost_per_correct=money[row].per_correct,
            cost_per_correct_interval=money[row].interval,
            on_pareto_front=front[row],
        )
        for row, side in enumerate(shown)
    )


def _chances(whole: Together) -> Sequence[tuple[float, float | None]] | None:
    if whole.found is None:
        return None
    if whole.flattered is None:
        return [(one, None) for one in probability_best(whole.found)]
    return probability_bounds(whole.found, whole.flattered)


def _lowest(side: Side, measure: Measure) -> float | None:
    """The run's number with what failed or has no answer counted as the lowest, where there is any."""
    worst, plain = side.worst_case, side.mean
    if measure == Measure.PASS_RATE:
        worst, plain = side.pass_worst_case, side.pass_rate
    return plain if worst is None else worst


def _sentences(
    table: ScoreTable, whole: Together, comparisons: Sequence[Comparison], standings: Sequence[Standing]
) -> list[str]:
    found = []
    if whole.best is None:
        found.append(
            f"Nothing can be said about the best on {table.metric}: {plural(whole.scored, 'question')} of "
            f"{plural(whole.clusters, table.unit)} scored in every run, and at least two {table.unit}s are needed."
        )
    else:
        found.append(_best_sentence(table, whole))
        optimism = whole.optimism()
        if optimism is not None and len(table.names) > 2:
            found.append(optimism.sentence)
        elif len(whole.highest) == len(table.names) > 2:
            found.append(f"All {len(table.names)} are level on the questions that every run scored: none to pick.")
    if whole.scored < len(table.questions):
        rest = "the set of the best and the simultaneous intervals rest on those."
        if whole.open:
            rest = (
                f"the simultaneous intervals rest on those, the set of the best on "
                f"{plural(whole.questions, 'question')} with failed scores and missing answers as the lowest."
            )
        found.append(f"{plural(whole.scored, 'question')} of {len(table.questions)} were scored in every run; {rest}")
    decided = [pair for pair in comparisons if pair.verdict in (Word.BETTER, Word.WORSE)]
    exploring = [pair for pair in comparisons if pair.p_bh is not None and pair.p_bh < 0.05]
    found.append(
        f"{len(decided)} of {plural(len(comparisons), 'pair')} are better or worse after Holm's correction over all of "
        f"them; {len(exploring)} are worth a look by Benjamini-Hochberg."
    )
    found += _unfair(comparisons)
    found += _certain(comparisons)
    front = [one.side.name for one in standings if one.on_pareto_front]
    if front and len({one.cost_per_answer for one in standings}) > 1:
        found.append(f"Best for their money (score against cost of an answer): {', '.join(front)}.")
    return found


def _best_sentence(table: ScoreTable, whole: Together) -> str:
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
    said = ("can only rise with the length", ": it retrieves ")
    notes = [note for pair in comparisons for note in pair.notes if any(part in note for part in said)]
    return notes[:1]


def _certain(comparisons: Sequence[Comparison]) -> list[str]:
    """How many pairs cannot differ, by the reason why."""
    reasons = [one for pair in comparisons if (one := pair.certain)]
    return [f"{plural(count, 'pair')}: {reason}." for reason, count in Counter(reasons).items()]
