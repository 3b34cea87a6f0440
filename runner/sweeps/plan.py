"""The plan of a run or a sweep: calls, tokens and dollars before anything is paid, with what the ledger holds.

A job is walked as a run would walk it, with a door that makes no call. Where an answer is in the ledger, the judges'
calls are known exactly; where it is not, they are counted with a stand-in for the answer, once as if every answer
were different (the high figure) and once as if all answers to one question were equal (the low one).
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

from runner.calls import Door, open_door
from runner.config import Job
from runner.config.rules import missing_api_keys
from runner.errors import ConfigurationError
from runner.evaluation import is_final
from runner.journal import Journal
from runner.records import Record, Stage, VerdictStatus
from runner.sweeps.estimates import NOTHING, CallEstimate, Estimator
from runner.sweeps.parts import Data, Parts
from runner.sweeps.plan_calls import PlannedCalls
from runner.sweeps.plan_controls import ControlPlanner
from runner.sweeps.plan_questions import QuestionPlanner, Unfinished
from runner.sweeps.plan_retrieval import RetrievalPlan, StandIns, plan_retrieval
from runner.sweeps.plan_totals import JobPlan, SweepPlan, Walk, grounds, seconds, summary, together
from runner.sweeps.warnings import sweep_warnings


async def plan_sweep(
    jobs: Sequence[Job], duplicates: Mapping[str, str], home: Path, data: Data | None = None
) -> SweepPlan:
    """Plans the jobs without a call. Raises ConfigurationError with everything that is wrong with them.

    ``data``: what is read already, so that nothing is read twice.
    """
    data = data or Data()
    async with _planning(jobs, home, data) as planner:
        walks = [await planner.job(job) for job in jobs]
        answered = planner.door.answered()
    plans = tuple(summary(job.name, walk, answered) for job, walk in zip(jobs, walks, strict=True))
    whole = together(walks)
    pairs = {(call.stage, call.model) for call in whole.most}
    measured = [f"{model} ({stage})" for stage, model in sorted(pairs) if planner.estimator.has_past(stage, model)]
    return SweepPlan(
        jobs=plans,
        total=summary("all", whole, answered),
        seconds=seconds(whole.likely, jobs[0].config, planner.estimator),
        grounds=grounds(measured, len(pairs)),
        warnings=(*_missing_keys(jobs), *sweep_warnings(jobs, [data.questions(job.config) for job in jobs])),
        duplicates=duplicates,
    )


def _missing_keys(jobs: Sequence[Job]) -> list[str]:
    missing = missing_api_keys([job.config for job in jobs])
    return [f"{problem.where} is not set: the run will need it" for problem in missing]


async def plan_controls(job: Job, home: Path, data: Data) -> JobPlan:
    """Plans the controls of one configuration alone, with the embedding that they need. Raises as ``plan_sweep``."""
    async with _planning((job,), home, data) as planner:
        return summary(job.name, await planner.controls(job), planner.door.answered())


@asynccontextmanager
async def _planning(jobs: Sequence[Job], home: Path, data: Data) -> AsyncIterator[_Planner]:
    problems = data.problems(tuple(jobs))
    if problems:
        raise ConfigurationError(problems)
    first = jobs[0].config
    async with open_door(first.calls, first.budget, first.prices, home=home, offline=True) as door:
        parts = Parts(door, home, data)
        parts.check_opening(jobs)
        yield _Planner(door, parts, data, Estimator(door.history(), first.prices), home)


class _Planner:
    """Walks jobs."""

    def __init__(self, door: Door, parts: Parts, data: Data, estimator: Estimator, home: Path) -> None:
        self.door = door
        self.estimator = estimator
        self._parts = parts
        self._data = data
        self._home = home
        self._calls = PlannedCalls(door, estimator)

    async def job(self, job: Job) -> Walk:
        """All calls of a job."""
        config = job.config
        walk = Walk()
        retrieval = await self._retrieval(job, walk)
        stand_ins = StandIns(config, self._data.chunks(config))
        stored = Journal(self._home, job.key).load()
        todo: list[Unfinished] = []
        for question, expected in zip(self._data.questions(config), retrieval.expected, strict=True):
            record = stored.get(question.id)
            if record is not None and is_final(record, retry_failed=config.calls.retry_failed):
                walk.add(_stored(record))
            else:
                failed = _failed_judges(record) if config.calls.retry_failed else frozenset()
                todo.append(Unfinished(question, expected, failed))
        if retrieval.pipeline.generator is not None and todo:
            await QuestionPlanner(job, retrieval.pipeline, self._calls, stand_ins).add(walk, todo)
        if config.controls.enabled:
            self._add_controls(job, walk, retrieval, stand_ins)
        return walk

    async def controls(self, job: Job) -> Walk:
        """The calls that its controls need."""
        walk = Walk()
        retrieval = await self._retrieval(job, walk)
        self._add_controls(job, walk, retrieval, StandIns(job.config, self._data.chunks(job.config)))
        return walk

    async def _retrieval(self, job: Job, walk: Walk) -> RetrievalPlan:
        retrieval = await plan_retrieval(job, self._parts, self._data, self.estimator, self._home)
        walk.add(retrieval.embedding)
        return retrieval

    def _add_controls(self, job: Job, walk: Walk, retrieval: RetrievalPlan, stand_ins: StandIns) -> None:
        config = job.config
        planner = ControlPlanner(retrieval.pipeline, config.controls, config.seed, self._calls, stand_ins)
        planner.add(walk, self._data.questions(config), retrieval.expected)


def _stored(record: Record) -> list[CallEstimate]:
    """A finished question: every call that it made is in the ledger. Its embedding is counted with the batches."""
    return [
        CallEstimate(
            call.key, call.stage, call.model, call.provider, True, NOTHING, NOTHING, NOTHING, record.question.id
        )
        for call in record.calls
        if call.stage != Stage.EMBED
    ]


def _failed_judges(record: Record | None) -> frozenset[str]:
    scores = {} if record is None else record.scores
    return frozenset(name for name, score in scores.items() if score.status is VerdictStatus.FAILED)
