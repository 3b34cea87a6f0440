"""The plan of a run or a sweep: calls, tokens and dollars before anything is paid, with what the ledger holds.

A job is walked as a run would walk it, with a door that makes no call. Where an answer is in the ledger, the judges'
calls are known exactly; where it is not, they are counted with a stand-in for the answer, once as if every answer
were different (the high figure) and once as if all answers to one question were equal (the low one).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from runner.calls import ChatRequest, Door, open_door, request_key
from runner.config import Job
from runner.config.schema import APPLICATIONS
from runner.errors import ConfigurationError, NotInLedger
from runner.evaluation import Pipeline, is_final
from runner.journal import Journal
from runner.judging import AnswerJudge
from runner.records import Answer, AnswerStatus, Question, Record, Retrieved, Stage, VerdictStatus
from runner.sweeps.estimates import NOTHING, CallEstimate, Estimator
from runner.sweeps.parts import Data, Parts
from runner.sweeps.plan_totals import UNKNOWN, SweepPlan, Walk, grounds, seconds, summary
from runner.sweeps.warnings import sweep_warnings

STAND_IN = "The answer is not known before it is made; it will have some sentences like this one. "
UNKNOWN_PASSAGES = 3
"""How many passages of an answer's length stand for those that an application will find itself."""


async def plan_sweep(
    jobs: Sequence[Job], duplicates: Mapping[str, str], home: Path, data: Data | None = None
) -> SweepPlan:
    """Plans the jobs without a call. Raises ConfigurationError with everything that is wrong with them.

    ``data``: what is read already, so that nothing is read twice.
    """
    data = data or Data()
    problems = data.problems(tuple(jobs))
    if problems:
        raise ConfigurationError(problems)
    first = jobs[0].config
    async with open_door(first.calls, first.budget, first.prices, home=home, offline=True) as door:
        parts = Parts(door, home, data)
        parts.check_opening(jobs)
        estimator = Estimator(door.history(), first.prices)
        walks = [
            await _Planner(job, door, parts=parts, data=data, estimator=estimator, home=home).walk() for job in jobs
        ]
    plans = tuple(summary(job.name, walk) for job, walk in zip(jobs, walks, strict=True))
    whole = Walk([call for walk in walks for call in walk.most], [call for walk in walks for call in walk.fewest])
    pairs = {(call.stage, call.model) for call in whole.most}
    measured = [f"{model} ({stage})" for stage, model in sorted(pairs) if estimator.has_past(stage, model)]
    return SweepPlan(
        jobs=plans,
        total=summary("all", whole),
        seconds=seconds(whole.most, first, estimator),
        grounds=grounds(measured, len(pairs)),
        warnings=sweep_warnings(jobs, [data.questions(job.config) for job in jobs]),
        duplicates=duplicates,
    )


class _Planner:
    """Walks one job."""

    def __init__(self, job: Job, door: Door, *, parts: Parts, data: Data, estimator: Estimator, home: Path) -> None:
        self._job = job
        self._door = door
        self._parts = parts
        self._data = data
        self._estimator = estimator
        self._home = home

    async def walk(self) -> Walk:
        config = self._job.config
        walk = Walk()
        questions = self._data.questions(config)
        stored = Journal(self._home, self._job.key).load()
        finished = {
            key: record for key, record in stored.items() if is_final(record, retry_failed=config.calls.retry_failed)
        }
        pipeline, retrievals = await self._retrieve(questions)
        if retrievals is None:
            for estimate in self._embedding(questions):
                walk.most.append(estimate)
                walk.fewest.append(estimate)
        for at, question in enumerate(questions):
            record = finished.get(question.id)
            if record is not None:
                self._add_stored(walk, record)
            elif pipeline.generator is not None:
                retrieved = self._unknown_retrieval(question) if retrievals is None else retrievals[at]
                failed = _failed_judges(stored.get(question.id)) if config.calls.retry_failed else frozenset()
                await self._add_question(walk, pipeline, question, retrieved, failed)
        return walk

    async def _retrieve(self, questions: Sequence[Question]) -> tuple[Pipeline, list[tuple[Retrieved, ...]] | None]:
        """The job's parts and what is retrieved for each question, where no paid call is needed for that."""
        try:
            pipeline = await self._parts.pipeline(self._job)
            found = await pipeline.retriever.retrieve(questions, pipeline.top_k)
        except NotInLedger:
            return self._parts.pipeline_without_index(self._job), None
        return pipeline, [tuple(retrieval.retrieved) for retrieval in found]

    def _embedding(self, questions: Sequence[Question]) -> list[CallEstimate]:
        """The embedding calls for the texts that have no stored vector yet."""
        config = self._job.config
        embedder = self._parts.embedder(config)
        size = config.embedder.batch_size
        batches: list[tuple[str, ...]] = []
        for texts in ([chunk.text for chunk in self._data.chunks(config)], [question.text for question in questions]):
            missing = embedder.missing(texts)
            batches.extend(missing[start : start + size] for start in range(0, len(missing), size))
        return [
            self._estimator.sized(
                Stage.EMBED,
                config.embedder.endpoint.provider,
                config.embedder.model,
                sum(len(text.encode()) for text in batch),
                0,
                key=f"embed {embedder.identity} {hash(batch)}",
                held=False,
            )
            for batch in batches
        ]

    def _unknown_retrieval(self, question: Question) -> tuple[Retrieved, ...]:
        """Stands for what will be retrieved: the longest chunks, so that the prompt is not estimated too short."""
        chunks = sorted(self._data.chunks(self._job.config), key=lambda chunk: -len(chunk.text))
        top_k = self._job.config.retriever.top_k
        return tuple(Retrieved(chunk, rank, 0.0) for rank, chunk in enumerate(chunks[:top_k], 1))

    def _add_stored(self, walk: Walk, record: Record) -> None:
        """A finished question: every call that it made is in the ledger."""
        for call in record.calls:
            estimate = CallEstimate(call.key, call.stage, call.model, call.provider, True, NOTHING, NOTHING, NOTHING)
            walk.most.append(estimate)
            walk.fewest.append(estimate)

    async def _add_question(
        self,
        walk: Walk,
        pipeline: Pipeline,
        question: Question,
        retrieved: tuple[Retrieved, ...],
        failed: frozenset[str],
    ) -> None:
        assert pipeline.generator is not None
        requests = pipeline.generator.requests(question, retrieved)
        for estimate in self._estimates(requests, Stage.GENERATE):
            walk.most.append(estimate)
            walk.fewest.append(estimate)
        answer = await self._known_answer(pipeline, question, retrieved)
        judges = list(pipeline.judges.values())
        if answer is not None:
            by_judge = {name: judge.requests(question, retrieved, answer) for name, judge in pipeline.judges.items()}
            for again in (False, True):
                wanted = [request for name, some in by_judge.items() if (name in failed) is again for request in some]
                estimates = self._estimates(wanted, Stage.JUDGE, again=again)
                walk.most.extend(estimates)
                walk.fewest.extend(estimates)
            return
        keys = " ".join(request_key(request) for request in requests)
        self._add_unknown(walk.most, judges, question, retrieved, seed=keys or f"{self._job.key} {question.id}")
        self._add_unknown(walk.fewest, judges, question, retrieved, seed=question.id)

    def _add_unknown(
        self,
        calls: list[CallEstimate],
        judges: Sequence[AnswerJudge],
        question: Question,
        retrieved: tuple[Retrieved, ...],
        *,
        seed: str,
    ) -> None:
        """The judges' calls about an answer that is not there yet; equal seeds stand for equal answers."""
        length = int(self._job.config.generator.max_tokens * 1.5)
        text = f"[{seed}] " + STAND_IN * max(1, length // len(STAND_IN))
        contexts = tuple(r.chunk.text for r in retrieved)
        if not contexts and self._job.config.generator.kind in APPLICATIONS:
            contexts = (text,) * UNKNOWN_PASSAGES
        answer = Answer(status=AnswerStatus.ANSWERED, text=text, contexts=contexts)
        for judge in judges:
            for request in judge.requests(question, retrieved, answer):
                calls.append(
                    self._estimator.estimate(request, Stage.JUDGE, key=UNKNOWN + request_key(request), held=False)
                )

    async def _known_answer(
        self, pipeline: Pipeline, question: Question, retrieved: tuple[Retrieved, ...]
    ) -> Answer | None:
        assert pipeline.generator is not None
        if getattr(pipeline.generator, "own_application", False):
            return None
        try:
            return await pipeline.generator.answer(question, retrieved)
        except NotInLedger:
            return None

    def _estimates(self, requests: Sequence[ChatRequest], stage: str, *, again: bool = False) -> list[CallEstimate]:
        """``again``: what the ledger holds is not what is wanted."""
        keys = [request_key(request) for request in requests]
        held = set() if again or not keys else self._door.held(keys)
        return [
            self._estimator.estimate(request, stage, key=key, held=key in held)
            for request, key in zip(requests, keys, strict=True)
        ]


def _failed_judges(record: Record | None) -> frozenset[str]:
    scores = {} if record is None else record.scores
    return frozenset(name for name, score in scores.items() if score.status is VerdictStatus.FAILED)
