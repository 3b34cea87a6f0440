"""One pair of runs from its numbers to a ``Comparison``; the last step waits for the correction over the family."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from runner.findings import Bounds, Comparison, Interval, Measure, PassRates, Side, Word
from runner.statistics.certain import same_run, why_certain
from runner.statistics.lengths import unfair_reason
from runner.statistics.missing import ends
from runner.statistics.pairs import End, PairNumbers, pair_numbers
from runner.statistics.power import ALPHA
from runner.statistics.proportions import mcnemar, newcombe, tango, unseen_rate
from runner.statistics.scores import ScoreTable
from runner.statistics.sentences import Subject, bounds_sentence, left_out_sentence, open_text, plural, verdict_sentence
from runner.statistics.unvaried import Kind, Unvaried, unvaried
from runner.statistics.verdicts import (
    Inference,
    decide,
    equivalence_p,
    infer,
    minimum_detectable,
    questions_to_decide,
    t_p,
    t_quantile,
)

METHOD_T = "paired t, clustered"
METHOD_MCNEMAR = "McNemar exact"
METHOD_SIGN_FLIP = "sign-flip permutation"
METHOD_NONE = "none"
FEW_CLUSTERS = 10
"""Below this the t interval rests on little: said in a note."""


@dataclass(frozen=True, slots=True)
class Draft:
    """A pair whose word is not said yet."""

    table: ScoreTable
    measure: Measure
    numbers: PairNumbers
    a: Side
    b: Side
    margin: float | None
    found: Inference
    method: str
    rates: PassRates | None

    def finish(
        self,
        p_holm: float | None = None,
        p_bh: float | None = None,
        simultaneous: Interval | None = None,
        *,
        family: int = 1,
    ) -> Comparison:
        """Decide, by the corrected p where there is one, and say it in words; ``family``: how many tests it is of."""
        numbers, found = self.numbers, self.found
        word = decide(found, self.margin, p_holm)
        bounds = self._bounds(p_holm)
        unfair = unfair_reason(self.table, numbers.a, numbers.b)
        notes = [*self.table.notes, *_notes(self.table, numbers, found)]
        blocked = ""
        if unfair:
            word, blocked = Word.UNDECIDED, "the metric cannot rank lists of different length"
            notes.insert(0, unfair)
        needed = None
        if bounds is not None and not unfair and {bounds.word_lowest, bounds.word_highest} != {word}:
            # Nor would more questions decide an open verdict while half of the answers are missing.
            what = open_text(numbers.left, numbers.open)
            word, blocked = Word.UNDECIDED, f"{what} could turn it"
            notes.insert(0, bounds_sentence(bounds, what, self.measure))
        elif word == Word.UNDECIDED and not unfair:
            needed = questions_to_decide(found, self.margin, _correction(found.p, p_holm, family))
        what = f"{self.table.metric} (pass rate)" if self.measure == Measure.PASS_RATE else self.table.metric
        asked = numbers.questions > 0
        inferred = numbers.clusters > 1
        certain = why_certain(self.table, numbers) if inferred else ""
        return Comparison(
            metric=self.table.metric,
            measure=self.measure,
            a=self.a,
            b=self.b,
            questions=numbers.questions,
            clusters=numbers.clusters,
            only_in_a=numbers.only_in_a,
            only_in_b=numbers.only_in_b,
            mean_a=numbers.mean_a if asked else None,
            mean_b=numbers.mean_b if asked else None,
            difference=numbers.difference if asked else None,
            standard_error=numbers.error if inferred else None,
            interval=found.interval,
            p=found.p,
            method=self.method,
            p_permutation=numbers.p_permutation if inferred else None,
            permutation_exact=numbers.exact,
            minimum_detectable=minimum_detectable(found),
            margin=self.margin,
            p_equivalence=equivalence_p(found, self.margin),
            pass_rates=self.rates,
            bounds=bounds,
            verdict=word,
            questions_needed=needed,
            sentence=self._sentence(
                Subject(self.a.name, self.b.name, what, self.measure, self.table.unit, blocked, certain), word, needed
            ),
            notes=tuple(notes),
            p_holm=p_holm,
            p_bh=p_bh,
            simultaneous=simultaneous,
            unit=self.table.unit,
            certain=certain,
        )

    def _sentence(self, subject: Subject, word: Word, needed: int | None) -> str:
        numbers = self.numbers
        said = verdict_sentence(subject, self.found, word, self.margin, needed)
        names, only = (self.a.name, self.b.name), (numbers.only_in_a, numbers.only_in_b)
        left_out = left_out_sentence(numbers.left, numbers.questions, names, only, self.table.metric)
        return f"{said} {left_out}".rstrip()

    def _bounds(self, p_holm: float | None) -> Bounds | None:
        numbers = self.numbers
        if numbers.lowest is None or numbers.highest is None or same_run(self.table, numbers):
            return None
        all_equal = _all_equal(self.table, self.measure, numbers, self.margin)
        # A family corrects the bounds as much as it corrects the pair itself.
        factor = p_holm / max(self.found.p, 1e-300) if p_holm is not None and self.found.p is not None else 1.0
        words = []
        for end in (numbers.lowest, numbers.highest):
            found = _end_inference(numbers, end, self.measure, all_equal)
            words.append(decide(found, self.margin, None if found.p is None else min(1.0, found.p * factor)))
        low, high = numbers.lowest, numbers.highest
        return Bounds(low.difference, high.difference, words[0], words[1], low.error, numbers.bound_clusters)


def _end_inference(
    numbers: PairNumbers, end: End, measure: Measure, all_equal: Callable[[float, int], Unvaried]
) -> Inference:
    """The test of the pair itself, on one of the two extreme cases."""
    questions, clusters = numbers.bound_questions, numbers.bound_clusters
    # Of equal differences only two of all patterns of signs are as extreme.
    flipped = min(1.0, 2.0 ** (1 - clusters))
    found = infer(questions, clusters, end.difference, end.error, p_permutation=flipped, all_equal=all_equal)
    if found.p is None or measure != Measure.PASS_RATE or clusters != questions:
        return found
    import numpy

    only_a, only_b, count = (numpy.array([one], dtype=float) for one in (end.only_a, end.only_b, questions))
    low, high = tango(only_a, only_b, count)
    return replace(found, p=float(mcnemar(only_a, only_b)[0]), interval=Interval(float(low[0]), float(high[0])))


def _correction(p: float | None, p_holm: float | None, family: int) -> float:
    """What Holm multiplied p by; all of the family where it was cut at 1, so that the factor is lost."""
    if p is None or p_holm is None or p <= 0 or p_holm >= 1:
        return float(family)
    return max(1.0, p_holm / p)


def draft_pairs(
    table: ScoreTable,
    pairs: Sequence[tuple[int, int]],
    measure: Measure,
    *,
    sides: Sequence[Side],
    margin: float | None,
    resamples: int,
    seed: int,
) -> list[Draft]:
    """Every pair of rows of the table up to its own p and interval."""
    numbers = pair_numbers(table, pairs, measure, resamples, seed)
    rates = _pass_rates(numbers)
    drafts = []
    for one, rate in zip(numbers, rates, strict=True):
        found, method = _inference(table, measure, one, rate, margin)
        drafts.append(Draft(table, measure, one, sides[one.a], sides[one.b], margin, found, method, rate))
    return drafts


def _inference(
    table: ScoreTable, measure: Measure, numbers: PairNumbers, rates: PassRates | None, margin: float | None
) -> tuple[Inference, str]:
    found = infer(
        numbers.questions,
        numbers.clusters,
        numbers.difference,
        numbers.error,
        p_permutation=numbers.p_permutation,
        all_equal=_all_equal(table, measure, numbers, margin),
    )
    if found.p is None:
        return found, METHOD_NONE
    single = numbers.clusters == numbers.questions and not same_run(table, numbers)
    if measure == Measure.PASS_RATE and rates is not None and single:
        return replace(found, interval=rates.interval, p=rates.p), METHOD_MCNEMAR
    found = replace(found, interval=possible(table, measure, found.interval))
    return found, METHOD_T if found.error > 0 else METHOD_SIGN_FLIP


def possible(table: ScoreTable, measure: Measure, interval: Interval | None) -> Interval | None:
    """The part of an interval of a difference that the scale allows: t knows no ends, and is wide with few clusters."""
    spread = _spread(table, measure)
    if interval is None or spread is None:
        return interval
    return Interval(max(interval.low, -spread), min(interval.high, spread))


def _spread(table: ScoreTable, measure: Measure) -> float | None:
    known = ends(table, measure)
    return None if known is None else known[1] - known[0]


def _all_equal(
    table: ScoreTable, measure: Measure, numbers: PairNumbers, margin: float | None
) -> Callable[[float, int], Unvaried]:
    kind = Kind(_spread(table, measure), measure == Measure.PASS_RATE, same_run(table, numbers), numbers.alike)
    return lambda difference, clusters: unvaried(difference, clusters, kind, margin)


def _pass_rates(numbers: Sequence[PairNumbers]) -> list[PassRates | None]:
    """McNemar and the paired intervals of all pairs, in one go."""
    import numpy

    live = [one for one in numbers if one.questions > 0]
    only_a = numpy.array([one.only_a for one in live], dtype=float)
    only_b = numpy.array([one.only_b for one in live], dtype=float)
    count = numpy.array([one.questions for one in live], dtype=float)
    p = mcnemar(only_a, only_b)
    low, high = tango(only_a, only_b, count)
    made = iter([_one_rate(one, float(p[k]), Interval(float(low[k]), float(high[k]))) for k, one in enumerate(live)])
    return [next(made) if one.questions > 0 else None for one in numbers]


def _one_rate(one: PairNumbers, p: float, interval: Interval) -> PassRates:
    clustered, clustered_p = None, None
    if one.clusters > 1 and one.pass_error > 0:
        half = t_quantile(1 - ALPHA / 2, one.clusters - 1) * one.pass_error
        clustered = Interval(one.pass_difference - half, one.pass_difference + half)
        clustered_p = t_p(one.pass_difference / one.pass_error, one.clusters - 1)
    return PassRates(
        both=one.both,
        only_a=one.only_a,
        only_b=one.only_b,
        neither=one.neither,
        difference=one.pass_difference,
        p=p,
        interval=interval,
        newcombe=newcombe(one.both, one.only_a, one.only_b, one.neither),
        clustered=clustered,
        clustered_p=clustered_p,
    )


def _notes(table: ScoreTable, numbers: PairNumbers, found: Inference) -> list[str]:
    notes, unit = [], table.unit
    if numbers.open and numbers.lowest is None:
        notes.append(
            f"{plural(numbers.open, 'question')} failed or has no answer in one of the runs, and the ends of the scale "
            "are not known, so no bounds can be given."
        )
    if found.unvaried is not None and not same_run(table, numbers):
        unseen = unseen_rate(found.clusters)
        what = "Every question shows" if numbers.alike else f"Every {unit} shows"
        notes.append(
            f"{what} the same difference, so there is no variance; {plural(found.clusters, unit)} do not rule out "
            f"another difference for up to {unseen:.1%} of all {unit}s."
        )
    elif found.unvaried is None and 2 <= found.clusters < FEW_CLUSTERS:
        notes.append(f"Only {plural(found.clusters, unit)}: take the interval as exploring.")
    if found.p is not None and found.error > 0 and (found.p < ALPHA) != (numbers.p_permutation < ALPHA):
        notes.append(
            f"The permutation test disagrees (p = {numbers.p_permutation:.3g} against {found.p:.3g}): the result is at "
            "the edge."
        )
    return notes
