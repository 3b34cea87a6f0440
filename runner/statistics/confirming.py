"""Picks the best of many on one part of the questions and looks at it again on the other part, which had no say.

The highest of many is flattered by having been picked (by 5.7 points of 12 labelled systems on 60 questions); questions
that had no part in picking do not flatter it. The parts are whole clusters, drawn with a seed; nothing is asked anew.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from runner.errors import ConfigurationError
from runner.findings import Comparison, Confirmation, ConfirmationWord, Interval, Measure, Word
from runner.records import RunResult
from runner.statistics.compare import drafts_of
from runner.statistics.families import adjusted
from runner.statistics.missing import Whole
from runner.statistics.moments import moments
from runner.statistics.power import ALPHA
from runner.statistics.scores import ScoreTable, score_table
from runner.statistics.sentences import change, interval_text, questions_of
from runner.statistics.sides import pass_interval
from runner.statistics.signflip import RESAMPLES
from runner.statistics.together import COUNTED_LOWEST
from runner.statistics.verdicts import t_quantile

LEAST_CLUSTERS = 2
"""In each part."""


@dataclass(frozen=True, slots=True)
class Settings:
    """How the runs are compared; as in ``compare_sweep``."""

    metric: str
    measure: Measure
    cluster_by: str
    margin: float | None
    seed: int
    baseline: int | None = None
    """Place of the run that the pick is confirmed against; ``None``: against all others."""


@dataclass(frozen=True, slots=True)
class _Pick:
    row: int
    observed: float
    tied: int
    questions: int
    clusters: int
    open: bool
    """Whether some of them failed, or have no answer."""


def confirm(runs: Sequence[RunResult], share: float, settings: Settings) -> Confirmation:
    """Pick on ``1 - share`` of the clusters, confirm on ``share`` of them.

    Raises ConfigurationError where the share is not between 0 and 1. Too little data give a sentence.
    """
    if not 0 < share < 1:
        raise ConfigurationError(f"confirm: {share:g} is no share of the questions; give one between 0 and 1, as 0.5")
    whole = score_table(runs, settings.metric, settings.cluster_by)
    chosen = confirming_questions(whole, share, settings.seed)
    try:
        select, check = (
            score_table(_part(runs, chosen, inside), settings.metric, settings.cluster_by) for inside in (False, True)
        )
    except ConfigurationError:
        return _nothing(f"one of the two parts of the questions holds no score of {settings.metric}.")
    pick = _pick(select, settings.measure)
    if pick is None:
        return _nothing(f"the part to pick on needs two {select.unit}s with questions that every run scored.")
    return _confirmed(check, pick, settings)


def confirming_questions(table: ScoreTable, share: float, seed: int) -> frozenset[str]:
    """The questions that confirm: the same for equal questions, seed and share, in whatever order the runs come."""
    ends = [*table.starts.tolist(), len(table.questions)]
    clusters = sorted(sorted(table.questions[start:end]) for start, end in pairwise(ends))
    random.Random(f"{seed} confirm").shuffle(clusters)
    return frozenset(question for cluster in clusters[: round(share * len(clusters))] for question in cluster)


def _part(runs: Sequence[RunResult], chosen: frozenset[str], inside: bool) -> list[RunResult]:
    return [
        replace(run, records=tuple(one for one in run.records if (one.question.id in chosen) == inside)) for run in runs
    ]


def _pick(table: ScoreTable, measure: Measure) -> _Pick | None:
    """The run with the highest number on the questions that apply to all, what is open counted as the lowest; the
    first of several."""
    import numpy

    whole = Whole(table, measure)
    complete, scored = whole.shared, numpy.logical_and.reduce(table.scored, axis=0)
    clusters, scored_clusters = (
        int((numpy.add.reduceat(mask, table.starts, dtype=numpy.int64) > 0).sum()) for mask in (complete, scored)
    )
    if scored_clusters < LEAST_CLUSTERS:
        return None
    means = whole.worst[:, complete].mean(axis=1)
    row = int(means.argmax())
    tied = int((means >= means[row] - 1e-12).sum())
    return _Pick(row, float(means[row]), tied, int(complete.sum()), clusters, bool(whole.open[row, complete].any()))


def _confirmed(table: ScoreTable, pick: _Pick, settings: Settings) -> Confirmation:
    row, measure = pick.row, settings.measure
    against = [k for k in range(len(table.names)) if k != row]
    if settings.baseline is not None and settings.baseline != row:
        against = [settings.baseline]
    pairs = [(row, other) for other in against]
    drafts = drafts_of(table, pairs, measure, margin=settings.margin, resamples=RESAMPLES, seed=settings.seed)
    p_values = [draft.found.p for draft in drafts]
    holm, bh = adjusted(p_values, "holm"), adjusted(p_values, "bh")
    compared = tuple(draft.finish(holm[k], bh[k], family=len(drafts)) for k, draft in enumerate(drafts))
    value, interval, questions, clusters = _number(table, row, measure)
    word = _word(compared)
    return Confirmation(
        picked=table.names[row],
        observed=pick.observed,
        select_questions=pick.questions,
        select_clusters=pick.clusters,
        confirmed=value,
        interval=interval,
        confirm_questions=questions,
        confirm_clusters=clusters,
        pairs=compared,
        word=word,
        sentence=_sentence(table, pick, measure, compared, word),
    )


def _number(table: ScoreTable, row: int, measure: Measure) -> tuple[float | None, Interval | None, int, int]:
    """The run's number on the confirming questions that apply to it, with its interval; open ones as the lowest."""
    whole = Whole(table, measure)
    found = moments(whole.worst[[row]], whole.applies[[row]], table.starts)
    questions, clusters = int(found.count[0]), int(found.clusters[0])
    if questions == 0:
        return None, None, 0, 0
    value, error = float(found.mean[0]), float(found.error[0])
    if measure == Measure.PASS_RATE:
        return value, pass_interval(table, row, whole.applies[row]), questions, clusters
    if clusters < LEAST_CLUSTERS or error == 0:
        return value, None, questions, clusters
    half = t_quantile(1 - ALPHA / 2, clusters - 1) * error
    low, high = value - half, value + half
    if table.lowest is not None and table.highest is not None:
        low, high = max(low, table.lowest), min(high, table.highest)
    return value, Interval(low, high), questions, clusters


def _word(pairs: Sequence[Comparison]) -> ConfirmationWord:
    words = {pair.verdict for pair in pairs}
    if Word.WORSE in words:
        return ConfirmationWord.CONTRADICTED
    return ConfirmationWord.CONFIRMED if words == {Word.BETTER} else ConfirmationWord.OPEN


def _sentence(
    table: ScoreTable, pick: _Pick, measure: Measure, pairs: Sequence[Comparison], word: ConfirmationWord
) -> str:
    name, unit = table.names[pick.row], table.unit
    value, interval, questions, clusters = _number(table, pick.row, measure)
    among = f"the highest of {len(table.names)}"
    if pick.tied > 1:
        among = f"the first of {pick.tied} that share the highest place among {len(table.names)}"
    first = (
        f"{name} was picked on {questions_of(pick.questions, pick.clusters, unit)} as {among} with "
        f"{_level(pick.observed, measure)}"
    )
    if value is None or clusters < LEAST_CLUSTERS:
        return f"{first}; the other part holds too few of its scores to confirm it."
    doubt = "" if interval is None else interval_text(interval, measure).replace("+", "")
    second = (
        f"on the other {questions_of(questions, clusters, unit)}, which had no part in picking, it "
        f"has {_level(value, measure)}{doubt}, {change(value - pick.observed, measure)}"
    )
    if pick.open or Whole(table, measure).open[pick.row].any():
        second += COUNTED_LOWEST
    return f"{first}; {second}. {_outcome(name, pairs, word)}"


def _outcome(name: str, pairs: Sequence[Comparison], word: ConfirmationWord) -> str:
    by_word = {one: [pair.b.name for pair in pairs if pair.verdict == one] for one in Word}
    if word == ConfirmationWord.CONFIRMED:
        return f"Confirmed: there it is better than {_names(by_word[Word.BETTER])}."
    if word == ConfirmationWord.CONTRADICTED:
        return f"Contradicted: there it is worse than {_names(by_word[Word.WORSE])}, so picking {name} was luck."
    parts = []
    if by_word[Word.BETTER]:
        parts.append(f"better than {_names(by_word[Word.BETTER])}")
    if by_word[Word.EQUIVALENT]:
        parts.append(f"equivalent to {_names(by_word[Word.EQUIVALENT])}")
    parts.append(f"not told from {_names(by_word[Word.UNDECIDED])}" if by_word[Word.UNDECIDED] else "")
    return f"Not confirmed as the one best: there it is {', '.join(part for part in parts if part)}."


def _names(names: Sequence[str]) -> str:
    return f"{', '.join(names[:5])}{f' and {len(names) - 5} more' if len(names) > 5 else ''}"


def _level(value: float, measure: Measure) -> str:
    return f"{value:.1%}" if measure == Measure.PASS_RATE else f"{value:.3f}"


def _nothing(why: str) -> Confirmation:
    return Confirmation(
        picked=None,
        observed=None,
        select_questions=0,
        select_clusters=0,
        confirmed=None,
        interval=None,
        confirm_questions=0,
        confirm_clusters=0,
        pairs=(),
        word=ConfirmationWord.OPEN,
        sentence=f"Nothing can be picked and confirmed: {why}",
    )
