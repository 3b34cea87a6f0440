"""The calls that one job's questions will make: exact where the answer is there, else about a stand-in for it."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

from runner.calls import ChatRequest, request_key
from runner.config import Job
from runner.config.schema import APPLICATIONS
from runner.errors import NotInLedger
from runner.evaluation import Pipeline
from runner.records import Answer, AnswerStatus, Question, Retrieved, Stage
from runner.sweeps.estimates import CallEstimate
from runner.sweeps.plan_calls import PlannedCalls
from runner.sweeps.plan_retrieval import Expected, StandIns
from runner.sweeps.plan_totals import Walk

STAND_IN = "The answer is not known before it is made; it will have some sentences like this one. "
REFUSAL = "I don't know."
"""The other short answer: judges that look at sentences ask nothing about it."""
UNKNOWN_PASSAGES = 3
"""How many passages of an answer's length stand for those that an application will find itself."""

Passages = tuple[Retrieved, ...]


@dataclass(frozen=True, slots=True)
class Unfinished:
    """A question that is to be evaluated."""

    question: Question
    expected: Expected
    failed: frozenset[str]
    """Judges whose verdicts are asked for again."""


class QuestionPlanner:
    """Plans the unfinished questions of one job."""

    def __init__(self, job: Job, pipeline: Pipeline, calls: PlannedCalls, stand_ins: StandIns) -> None:
        assert pipeline.generator is not None
        self._job = job
        self._generator = pipeline.generator
        self._judges = pipeline.judges
        self._calls = calls
        self._stand_ins = stand_ins

    async def add(self, walk: Walk, todo: Sequence[Unfinished]) -> None:
        """The calls of these questions."""
        requests = [self._requests(each.question, each.expected.retrieved) for each in todo]
        self._calls.look_up(request for some in requests for request in some)
        answers = await asyncio.gather(*(self._answer(each, some) for each, some in zip(todo, requests, strict=True)))
        judged = [self._judged(each, answer) for each, answer in zip(todo, answers, strict=True)]
        self._calls.look_up(request for some in judged for _, request in some or ())
        for each, asked, some in zip(todo, requests, judged, strict=True):
            self._add_one(walk, each, asked, some)

    def _requests(self, question: Question, retrieved: Passages | None) -> tuple[ChatRequest, ...]:
        return () if retrieved is None else self._generator.requests(question, retrieved)

    async def _answer(self, todo: Unfinished, requests: Sequence[ChatRequest]) -> Answer | None:
        """The answer from the ledger; ``None`` where it has none."""
        retrieved = todo.expected.retrieved
        if retrieved is None or getattr(self._generator, "own_application", False):
            return None
        if not all(self._calls.holds(request) for request in requests):
            return None
        try:
            return await self._generator.answer(todo.question, retrieved)
        except NotInLedger:
            return None

    def _judged(self, todo: Unfinished, answer: Answer | None) -> list[tuple[bool, ChatRequest]] | None:
        """What the judges will be asked about a known answer, and whether again."""
        if answer is None:
            return None
        retrieved = todo.expected.retrieved or ()
        return [
            (name in todo.failed, request)
            for name, judge in self._judges.items()
            for request in judge.requests(todo.question, retrieved, answer)
        ]

    def _add_one(
        self,
        walk: Walk,
        todo: Unfinished,
        requests: Sequence[ChatRequest],
        judged: Sequence[tuple[bool, ChatRequest]] | None,
    ) -> None:
        question, retrieved, certain = todo.question, todo.expected.retrieved, todo.expected.certain
        calls, name = self._calls, question.id
        # All are there and there is no answer: it failed, and is asked for again.
        again = judged is None and all(calls.holds(request) for request in requests)
        asked = [calls.exact(request, Stage.GENERATE, name, again=again) for request in requests]
        about = [calls.exact(request, Stage.JUDGE, name, again=wanted) for wanted, request in judged or ()]
        if certain and judged is not None:
            walk.add([*asked, *about])
            return
        seed = " ".join(request_key(request) for request in requests) or f"{self._job.key} {name}"
        if certain:
            assert retrieved is not None
            most = self._at_most(question, retrieved, seed)
            walk.add([*asked, *most], [*asked, *self._at_least(question, retrieved)])
            return
        # Chunks without a vector may come between: what is retrieved without them is a guess.
        origin = self._stand_ins.identity
        longest, shortest = self._stand_ins.longest, self._stand_ins.shortest
        most = [
            *(
                calls.unknown(request, Stage.GENERATE, name, seed=origin)
                for request in self._requests(question, longest)
            ),
            *self._at_most(question, longest, f"{origin} {seed}"),
        ]
        if judged is not None:
            walk.add(most, [*asked, *about], [*asked, *about])
            return
        fewest = [
            *(calls.unknown(request, Stage.GENERATE, name) for request in self._requests(question, shortest)),
            *self._at_least(question, shortest),
        ]
        likely = most if retrieved is None else [*asked, *self._at_most(question, retrieved, seed)]
        walk.add(most, fewest, likely)

    def _at_most(self, question: Question, retrieved: Passages, seed: str) -> list[CallEstimate]:
        """The judges' calls about a long answer that no other one is equal to."""
        length = int(self._job.config.generator.max_tokens * 1.5)
        text = f"[{seed}] " + STAND_IN * max(1, length // len(STAND_IN))
        answer = self._stand_in(question, retrieved, text, UNKNOWN_PASSAGES)
        return [
            self._calls.unknown(request, Stage.JUDGE, question.id)
            for judge in self._judges.values()
            for request in judge.requests(question, retrieved, answer)
        ]

    def _at_least(self, question: Question, retrieved: Passages) -> list[CallEstimate]:
        """The judges' calls about a short answer, the same for all who answer this question."""
        answers = [self._stand_in(question, retrieved, text, 1) for text in (f"[{question.id}] {STAND_IN}", REFUSAL)]
        return [
            self._calls.unknown(request, Stage.JUDGE, question.id)
            for judge in self._judges.values()
            for request in min((judge.requests(question, retrieved, answer) for answer in answers), key=len)
        ]

    def _stand_in(self, question: Question, retrieved: Passages, text: str, passages: int) -> Answer:
        if question.recorded is not None and self._job.config.generator.kind == "recorded":
            text = question.recorded.text
        contexts = tuple(each.chunk.text for each in retrieved)
        if not contexts and self._job.config.generator.kind in APPLICATIONS:
            contexts = (text,) * passages
        return Answer(status=AnswerStatus.ANSWERED, text=text, contexts=contexts)
