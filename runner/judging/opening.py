"""The registry of judge kinds. A new kind is one file with ``score`` and ``requests``, and one line here."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Protocol

from runner.calls.requests import ChatRequest
from runner.config.schema import Judge
from runner.errors import ConfigurationError, Problem
from runner.judging.evidence import EvidenceJudge
from runner.judging.lint import lint_rubric
from runner.judging.model_judge import ModelJudge
from runner.judging.sentence_judge import SentenceJudge
from runner.records import Answer, Question, Retrieved, Score

if TYPE_CHECKING:
    from runner.calls import Door


class AnswerJudge(Protocol):
    """What every kind offers."""

    name: str
    rubric_hash: str
    """Hash of what the judge is told by its rubric."""
    inputs: tuple[str, ...]
    """What its rubric lists."""

    async def score(self, question: Question, retrieved: tuple[Retrieved, ...], answer: Answer) -> Score:
        """The score of one answer; failures are in its status, never raised."""

    def requests(self, question: Question, retrieved: tuple[Retrieved, ...], answer: Answer) -> tuple[ChatRequest, ...]:
        """What a model would be asked about this answer, for the plan; nothing is sent."""


KINDS: Mapping[tuple[str, str], Callable[[str, Judge, Door], AnswerJudge]] = {
    ("model", "verdict"): ModelJudge,
    ("model", "probability"): ModelJudge,
    ("model", "sentences"): SentenceJudge,
    ("evidence", ""): EvidenceJudge,
}
"""(kind, scoring) → judge; kinds without a model have no scoring."""


def judge_problems(name: str, judge: Judge) -> list[Problem]:
    """What keeps this judge from being opened: an unknown kind, a rubric in error, a scoring its scale cannot have."""
    where = f"judges.{name}"
    problems = [
        Problem(f"{where}.rubric.{found.where}", found.what, found.remedy)
        for found in lint_rubric(judge.rubric)
        if found.severity == "error"
    ]
    if _kind(judge) not in KINDS:
        what = f"there is no kind {judge.kind!r} with scoring {judge.scoring!r}"
        known = ", ".join(dict.fromkeys(f"{kind} {scoring}".strip() for kind, scoring in KINDS))
        problems.append(Problem(f"{where}.kind", what, f"known: {known}"))
    if judge.kind == "model" and judge.scoring == "probability" and judge.rubric.scale.kind == "continuous":
        what = "a continuous scale has no values whose probabilities could be weighted"
        problems.append(Problem(f"{where}.scoring", what, "say scoring=verdict, or give the rubric an ordinal scale"))
    if judge.kind == "model" and judge.scoring == "sentences" and "answer" not in judge.rubric.inputs:
        what = "scoring by sentences needs a rubric that lists the answer among its inputs"
        problems.append(Problem(f"{where}.scoring", what, "say scoring=verdict"))
    return problems


def _kind(judge: Judge) -> tuple[str, str]:
    return (judge.kind, judge.scoring if judge.kind == "model" else "")


def open_judge(name: str, judge: Judge, door: Door) -> AnswerJudge:
    """The judge that this part of the configuration describes.

    Raises ConfigurationError, with every problem, where it cannot work.
    """
    problems = judge_problems(name, judge)
    if problems:
        raise ConfigurationError(problems)
    return KINDS[_kind(judge)](name, judge, door)
