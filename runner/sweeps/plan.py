"""The plan of a run or a sweep: calls, tokens and dollars before anything is paid, with what the ledger holds.

A job is walked as a run would walk it, with a door that makes no call. Where an answer is in the ledger, the judges'
calls are known exactly; where it is not, they are counted with a stand-in for the answer, once as if every answer
were different (the high figure) and once as if all answers to one question were equal (the low one).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path

from runner.calls import ChatRequest, Door, open_door, request_key
from runner.config import Job
from runner.config.schema import Config
from runner.errors import ConfigurationError, NotInLedger
from runner.evaluation import Pipeline, is_final
from runner.journal import Journal
from runner.judging import AnswerJudge
from runner.records import Answer, AnswerStatus, Question, Record, Retrieved, Stage
from runner.sweeps.estimates import NOTHING, CallEstimate, Estimator, Range
from runner.sweeps.parts import Data, Parts
from runner.sweeps.warnings import sweep_warnings

USUAL_LATENCY_S = 1.5
"""Seconds of a hosted call, where the ledger has no past."""
LOCAL_LATENCY_S = 1.5
STAND_IN = "The answer is not known before it is made; it will have some sentences like this one. "


@dataclass(frozen=True, slots=True)
class JobPlan:
    """What one job, or a whole sweep, will ask for."""

    name: str
    calls_low: int
    calls_high: int
    unique_low: int
    """Distinct calls; equal requests are one call."""
    unique_high: int
    held_low: int
    """Of the distinct calls, those that the ledger answers."""
    held_high: int
    input_tokens: Range
    """Of the calls to be made."""
    output_tokens: Range
    cost: Range | None
    """US dollars of the calls to be made; ``None``: a price is unknown."""
    unknown_prices: tuple[str, ...]
    models: tuple[tuple[str, str], ...] = ()
    """(provider, model) of the calls to be made."""


@dataclass(frozen=True, slots=True)
class SweepPlan:
    """The plan of all jobs together."""

    jobs: tuple[JobPlan, ...]
    total: JobPlan
    """Calls that several jobs share are counted once."""
    seconds: float
    """About how long the calls take at the set limits."""
    grounds: str
    """What the estimates rest on."""
    warnings: tuple[str, ...]
    duplicates: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class _Walk:
    """The calls of one job, as the most and the fewest that they may be."""

    most: list[CallEstimate]
    fewest: list[CallEstimate]


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
        parts.check(jobs)
        estimator = Estimator(door.history(), first.prices)
        walks = [
            await _Planner(job, door, parts=parts, data=data, estimator=estimator, home=home).walk() for job in jobs
        ]
    plans = tuple(_summary(job.name, walk) for job, walk in zip(jobs, walks, strict=True))
    whole = _Walk([call for walk in walks for call in walk.most], [call for walk in walks for call in walk.fewest])
    pairs = {(call.stage, call.model) for call in whole.most}
    measured = [f"{model} ({stage})" for stage, model in sorted(pairs) if estimator.has_past(stage, model)]
    return SweepPlan(
        jobs=plans,
        total=_summary("all", whole),
        seconds=_seconds(whole.most, first, estimator),
        grounds=_grounds(measured, len(pairs)),
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

    async def walk(self) -> _Walk:
        config = self._job.config
        walk = _Walk([], [])
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
                await self._add_question(walk, pipeline, question, retrieved)
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
        config = self._job.config
        texts = [chunk.text for chunk in self._data.chunks(config)] + [question.text for question in questions]
        size = config.embedder.batch_size
        batches = [texts[start : start + size] for start in range(0, len(texts), size)]
        estimates = []
        for batch in batches:
            amount = sum(len(text.encode()) for text in batch)
            key = f"embed {config.embedder.model} {hash(tuple(batch))}"
            estimates.append(
                self._estimator.sized(
                    Stage.EMBED,
                    config.embedder.endpoint.provider,
                    config.embedder.model,
                    amount,
                    0,
                    key=key,
                    held=False,
                )
            )
        return estimates

    def _unknown_retrieval(self, question: Question) -> tuple[Retrieved, ...]:
        """Stands for what will be retrieved: the longest chunks, so that the prompt is not estimated too short."""
        chunks = sorted(self._data.chunks(self._job.config), key=lambda chunk: -len(chunk.text))
        top_k = self._job.config.retriever.top_k
        return tuple(Retrieved(chunk, rank, 0.0) for rank, chunk in enumerate(chunks[:top_k], 1))

    def _add_stored(self, walk: _Walk, record: Record) -> None:
        """A finished question: every call that it made is in the ledger."""
        for call in record.calls:
            estimate = CallEstimate(call.key, call.stage, call.model, call.provider, True, NOTHING, NOTHING, NOTHING)
            walk.most.append(estimate)
            walk.fewest.append(estimate)

    async def _add_question(
        self, walk: _Walk, pipeline: Pipeline, question: Question, retrieved: tuple[Retrieved, ...]
    ) -> None:
        assert pipeline.generator is not None
        requests = pipeline.generator.requests(question, retrieved)
        for estimate in self._estimates(requests, Stage.GENERATE):
            walk.most.append(estimate)
            walk.fewest.append(estimate)
        answer = await self._known_answer(pipeline, question, retrieved)
        judges = list(pipeline.judges.values())
        if answer is not None:
            for judge in judges:
                estimates = self._estimates(judge.requests(question, retrieved, answer), Stage.JUDGE)
                walk.most.extend(estimates)
                walk.fewest.extend(estimates)
            return
        keys = " ".join(request_key(request) for request in requests)
        self._add_unknown(walk.most, judges, question, retrieved, seed=keys)
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
        answer = Answer(status=AnswerStatus.ANSWERED, text=text, contexts=tuple(r.chunk.text for r in retrieved))
        for judge in judges:
            for request in judge.requests(question, retrieved, answer):
                calls.append(
                    self._estimator.estimate(request, Stage.JUDGE, key="unknown " + request_key(request), held=False)
                )

    async def _known_answer(
        self, pipeline: Pipeline, question: Question, retrieved: tuple[Retrieved, ...]
    ) -> Answer | None:
        assert pipeline.generator is not None
        try:
            return await pipeline.generator.answer(question, retrieved)
        except NotInLedger:
            return None

    def _estimates(self, requests: Sequence[ChatRequest], stage: str) -> list[CallEstimate]:
        keys = [request_key(request) for request in requests]
        held = self._door.held(keys)
        return [
            self._estimator.estimate(request, stage, key=key, held=key in held)
            for request, key in zip(requests, keys, strict=True)
        ]


def _summary(name: str, walk: _Walk) -> JobPlan:
    most = {call.key: call for call in walk.most}
    fewest = {call.key: call for call in walk.fewest}
    new_most = [call for call in most.values() if not call.held]
    new_fewest = [call for call in fewest.values() if not call.held]
    unknown = tuple(sorted({call.model for call in new_most if call.cost is None}))
    # Calls that stand on an answer that is not there yet may turn out to be in the ledger.
    uncertain = sum(call.key.startswith("unknown ") for call in most.values())
    held = sum(call.held for call in most.values())
    return JobPlan(
        name=name,
        calls_low=len(walk.fewest),
        calls_high=len(walk.most),
        unique_low=len(fewest),
        unique_high=len(most),
        held_low=held,
        held_high=held + uncertain,
        input_tokens=_span([c.input_tokens for c in new_fewest], [c.input_tokens for c in new_most]),
        output_tokens=_span([c.output_tokens for c in new_fewest], [c.output_tokens for c in new_most]),
        cost=None if unknown else _cost(new_fewest, new_most),
        unknown_prices=unknown,
        models=tuple(sorted({(call.provider, call.model) for call in new_most})),
    )


def _cost(fewest: Sequence[CallEstimate], most: Sequence[CallEstimate]) -> Range:
    return _span([call.cost or NOTHING for call in fewest], [call.cost or NOTHING for call in most])


def _span(fewest: Sequence[Range], most: Sequence[Range]) -> Range:
    low = sum((figure.low for figure in fewest), Decimal(0))
    expected = sum((figure.expected for figure in most), Decimal(0))
    high = sum((figure.high for figure in most), Decimal(0))
    return Range(low, expected, high)


def _seconds(calls: Sequence[CallEstimate], config: Config, estimator: Estimator) -> float:
    """The time of the busiest model: its calls side by side, or its requests a minute if these are fewer."""
    busiest = 0.0
    models = {(call.provider, call.model) for call in calls}
    for provider, model in models:
        distinct = {c.key: c for c in calls if c.model == model and not c.held}
        usual = LOCAL_LATENCY_S if provider == "embedded" else USUAL_LATENCY_S
        busy = sum(estimator.latency_s(call.stage, model, usual) for call in distinct.values())
        seconds = busy / (1 if provider == "embedded" else config.calls.concurrency)
        limit = _requests_per_minute(config, model)
        if limit is not None:
            seconds = max(seconds, len(distinct) / limit * 60)
        busiest = max(busiest, seconds)
    return math.ceil(busiest)


def _requests_per_minute(config: Config, model: str) -> int | None:
    endpoints = [(config.generator.model, config.generator.endpoint)]
    endpoints += [(judge.model, judge.endpoint) for judge in config.judges.values()]
    limits = [e.requests_per_minute for name, e in endpoints if name == model and e.requests_per_minute]
    return min(limits, default=None)


def _grounds(measured: Sequence[str], pairs: int) -> str:
    rule = "4 characters a token, a quarter of each output limit expected and all of it at most"
    if not pairs:
        return "no model is called"
    if not measured:
        return f"estimated by rule: {rule}"
    rest = f"; the rest by rule: {rule}" if len(measured) < pairs else ""
    return f"estimated from the ledger's past for {', '.join(measured)}{rest}"
