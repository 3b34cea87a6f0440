"""The calls that the controls of one job will make: known to the letter as soon as it is known what is retrieved."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from itertools import chain

from runner.config.schema import Controls
from runner.evaluation import Pipeline
from runner.judging import (
    Control,
    ControlCase,
    Sample,
    control_cases,
    control_requests,
    draw,
    is_complete,
    may_be_drawn,
    unanswerable_drawn,
)
from runner.judging.blame import answerable
from runner.records import Question, Stage
from runner.sweeps.estimates import NOTHING, CallEstimate
from runner.sweeps.plan_calls import PlannedCalls
from runner.sweeps.plan_retrieval import Expected, StandIns
from runner.sweeps.plan_totals import Walk

LEAST = 2
"""Questions: with one there is no other question whose answer could be put to the judge."""
_OF_OTHERS = (Control.OTHER, Control.ORDER, Control.SYSTEM_TURN, Control.DELIMITER, Control.VERDICT)
"""Depend on which other questions are drawn."""


class ControlPlanner:
    """Plans the controls of one job."""

    def __init__(
        self, pipeline: Pipeline, controls: Controls, seed: int, calls: PlannedCalls, stand_ins: StandIns
    ) -> None:
        self._judges = pipeline.judges
        self._size = max(controls.sample, LEAST)
        self._seed = seed
        self._calls = calls
        self._stand_ins = stand_ins

    def add(self, walk: Walk, questions: Sequence[Question], expected: Sequence[Expected]) -> None:
        """The calls of the controls on these questions."""
        pairs = list(zip(questions, expected, strict=True))
        guessed = frozenset(question.id for question, each in pairs if each.retrieved is not None)
        samples = [
            Sample(question, self._stand_ins.with_gold(question) if each.retrieved is None else each.retrieved)
            for question, each in pairs
        ]
        drawn = self._calls_of(control_cases(draw(samples, self._size, self._seed)), guessed)
        likely = list(chain.from_iterable(drawn.values()))
        certain = frozenset(question.id for question, each in pairs if each.certain)
        if len(certain) == len(pairs):
            walk.add(likely)
        else:
            walk.add(self._at_most(samples, certain), self._at_least(samples, certain), likely)

    def _at_most(self, samples: Sequence[Sample], certain: frozenset[str]) -> list[CallEstimate]:
        """Who is drawn depends on what is retrieved for all: the dearest of those that may be drawn."""
        optimistic = [
            each if each.question.id in certain else Sample(each.question, self._stand_ins.with_gold(each.question))
            for each in samples
        ]
        fit, without = _groups(optimistic)
        few = unanswerable_drawn(len(without), self._size)
        found: list[CallEstimate] = []
        for some, count in ((fit, self._size - few), (without, few)):
            by_question = self._calls_of(control_cases(some), certain, of_others_known=False)
            ranked = sorted(by_question.values(), key=lambda calls: _new(calls, most=True), reverse=True)
            found.extend(chain.from_iterable(ranked[:count]))
        return found

    def _at_least(self, samples: Sequence[Sample], certain: frozenset[str]) -> list[CallEstimate]:
        """The cheapest of those that are surely drawn, without what depends on the other ones."""
        shortest = self._stand_ins.shortest
        fit, without = _groups(samples)
        sure = [each for each in fit if each.question.id in certain]
        unsure = sum(may_be_drawn(each.question) and each.question.id not in certain for each in samples)
        least = [each if each.question.id in certain else Sample(each.question, shortest) for each in without]
        few = unanswerable_drawn(len(without), self._size)
        # Those of whom nobody knows whether they can be drawn may take as many places.
        many = max(0, min(self._size - few, len(sure) + unsure) - unsure)
        found: list[CallEstimate] = []
        for some, count in ((sure, many), (least, few)):
            alone = [case for each in some for case in control_cases((each,))]
            ranked = sorted(self._calls_of(alone, certain).values(), key=lambda calls: _new(calls, most=False))
            found.extend(chain.from_iterable(ranked[:count]))
        return found

    def _calls_of(
        self, cases: Sequence[ControlCase], certain: frozenset[str], *, of_others_known: bool = True
    ) -> dict[str, list[CallEstimate]]:
        """By question; those without a call stand there too."""
        asked = control_requests(self._judges, cases)
        self._calls.look_up(request for _, request in asked)
        found: dict[str, list[CallEstimate]] = {case.question.id: [] for case in cases}
        for case, request in asked:
            name = case.question.id
            known = name in certain and (of_others_known or case.control not in _OF_OTHERS)
            estimate = self._calls.exact if known else self._calls.unknown
            found[name].append(estimate(request, Stage.JUDGE, name))
        return found


def _groups(samples: Sequence[Sample]) -> tuple[list[Sample], list[Sample]]:
    """Those that can be drawn for their reference answers, and those without an answer."""
    fit = [each for each in samples if is_complete(each)]
    return fit, [each for each in samples if answerable(each.question) is False]


def _new(calls: Sequence[CallEstimate], *, most: bool) -> tuple[Decimal, int]:
    """What is to be paid at most or at least for these calls, and how many are to be made."""
    new = [call for call in calls if not call.held]
    costs = [call.cost or NOTHING for call in new]
    return sum((cost.high if most else cost.low for cost in costs), Decimal(0)), len(new)
