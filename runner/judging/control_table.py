"""Puts the controls to the judges and says which judges can be trusted."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from runner.calls.requests import ChatRequest
from runner.judging.asking import side_by_side
from runner.judging.control_cases import Control, ControlCase
from runner.judging.opening import AnswerJudge
from runner.records import Call, ControlRow, Reason, Score, VerdictStatus

ENOUGH = 0.75
"""Share of the cases of one kind that must come out as expected: two slips in eight are borne."""


class Expectation(StrEnum):
    """What a judge that can be trusted does with a control."""

    PASSES = "lets it pass"
    FAILS = "does not let it pass"
    FAILS_OR_NONE = "gives no verdict, or does not let it pass"
    PASSES_OR_NONE = "lets it pass, or gives no verdict"


_EVERY = {
    Control.REFERENCE: Expectation.PASSES,
    Control.OTHER: Expectation.FAILS,
    Control.EMPTY: Expectation.FAILS_OR_NONE,
    Control.ORDER: Expectation.FAILS,
    Control.SYSTEM_TURN: Expectation.FAILS,
    Control.DELIMITER: Expectation.FAILS,
    Control.VERDICT: Expectation.FAILS,
    Control.COLON: Expectation.FAILS_OR_NONE,
}
"""What every rubric must do: these depend on no property in particular."""
_WITH_CONTEXT = {
    Control.INVENTED: Expectation.FAILS,
    Control.NUMBER: Expectation.FAILS,
    Control.REFUSAL_RIGHT: Expectation.PASSES_OR_NONE,
}
_WITH_REFERENCE = {Control.NUMBER: Expectation.FAILS, Control.REFUSAL_WRONG: Expectation.FAILS_OR_NONE}
_WITHOUT_EITHER = {Control.REFUSAL_WRONG: Expectation.FAILS_OR_NONE}


def expectation(control: Control, inputs: Sequence[str]) -> Expectation | None:
    """What is expected of a rubric with these inputs; ``None`` where either verdict can be right.

    Whether a refusal is grounded depends on how the rubric takes it; whether a number is right cannot be seen
    without context or reference; an invented fact beside the right answer is fine for a comparison with a reference.
    A rubric that does not see the answer has no controls.
    """
    if "answer" not in inputs:
        return None
    special: dict[Control, Expectation] = {}
    if "context" in inputs:
        special |= _WITH_CONTEXT
    if "reference" in inputs:
        special |= _WITH_REFERENCE
    if "context" not in inputs and "reference" not in inputs:
        special |= _WITHOUT_EITHER
    if "question" not in inputs and "reference" not in inputs:
        # Without the question nobody can tell that an answer belongs to another one, unless the context gives it away.
        visible = _EVERY if "context" in inputs else {Control.EMPTY: Expectation.FAILS_OR_NONE}
        return (visible | special).get(control)
    return (_EVERY | special).get(control)


def met(expected: Expectation, score: Score) -> bool:
    """Whether a score is as expected; a failed verdict never is."""
    if score.status is VerdictStatus.FAILED:
        return False
    if score.status is VerdictStatus.NOT_APPLICABLE:
        # An answer without statements gets no verdict from judges that look at statements; that lets nothing pass.
        return expected is not Expectation.PASSES and score.reason in (Reason.NO_ANSWER, Reason.ABSTAINED)
    wanted = expected in (Expectation.PASSES, Expectation.PASSES_OR_NONE)
    return score.passed is wanted


@dataclass(frozen=True, slots=True)
class ControlReport:
    """How all judges did."""

    rows: tuple[ControlRow, ...]
    calls: tuple[Call, ...]

    def trusted(self, judge: str) -> bool:
        """Whether a judge did well enough on every kind of control."""
        return all(row.passed for row in self.rows if row.judge == judge)

    @property
    def sentences(self) -> tuple[str, ...]:
        """What failed, in words; empty where every judge can be trusted."""
        return tuple(
            f"{row.judge}: {row.control.replace('_', ' ')}: {row.as_expected} of {row.cases} as expected "
            f"(a judge that can be trusted {row.expected}); {row.example}"
            for row in self.rows
            if not row.passed
        )


async def run_controls(judges: Mapping[str, AnswerJudge], cases: Sequence[ControlCase]) -> ControlReport:
    """Has every judge score the cases that its rubric can be held to; one row a judge and kind.

    Equal requests are one call (the door sees to it): the answers of the run and a second look cost nothing again.
    """
    rows: list[ControlRow] = []
    calls: list[Call] = []
    for name, judge in judges.items():
        held = [(case, expected) for case in cases if (expected := expectation(case.control, judge.inputs))]
        scores: list[Score] = await side_by_side(
            judge.score(case.question, case.retrieved, case.answer) for case, _ in held
        )
        calls.extend(call for score in scores for call in score.calls)
        judged = [(case, expected, score) for (case, expected), score in zip(held, scores, strict=True)]
        for control in Control:
            of_kind = [each for each in judged if each[0].control is control and not _beside_the_point(each[2])]
            if of_kind:
                rows.append(_row(name, control, of_kind))
    return ControlReport(tuple(rows), tuple(calls))


def control_requests(
    judges: Mapping[str, AnswerJudge], cases: Sequence[ControlCase]
) -> tuple[tuple[ControlCase, ChatRequest], ...]:
    """What ``run_controls`` would ask the models, with the case that each request is about; nothing is sent."""
    return tuple(
        (case, request)
        for judge in judges.values()
        for case in cases
        if expectation(case.control, judge.inputs)
        for request in judge.requests(case.question, case.retrieved, case.answer)
    )


def _beside_the_point(score: Score) -> bool:
    """Nothing to learn of the judge where the question brings no context, reference or metadata."""
    missing = (Reason.NO_CONTEXT, Reason.NO_REFERENCE, Reason.NO_METADATA)
    return score.status is VerdictStatus.NOT_APPLICABLE and score.reason in missing


def _row(judge: str, control: Control, judged: Sequence[tuple[ControlCase, Expectation, Score]]) -> ControlRow:
    wrong = [(case, score) for case, expected, score in judged if not met(expected, score)]
    values = [score.value for _, _, score in judged if score.value is not None]
    as_expected = len(judged) - len(wrong)
    return ControlRow(
        judge=judge,
        control=control,
        expected=judged[0][1],
        cases=len(judged),
        as_expected=as_expected,
        failed=sum(score.status is VerdictStatus.FAILED for _, _, score in judged),
        mean=statistics.fmean(values) if values else None,
        passed=as_expected >= ENOUGH * len(judged),
        example=_example(*wrong[0]) if wrong else "",
    )


def _example(case: ControlCase, score: Score) -> str:
    given = f"{score.status} ({score.reason})" if score.value is None else f"{score.value:.3g}"
    text = " ".join(case.answer.text.split())
    return f'question {case.question.id}, answer "{text[:80]}{"..." if len(text) > 80 else ""}": {given}'
