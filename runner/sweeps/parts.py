"""Builds the parts of each job, and shares between jobs whatever they have in common.

In a sweep over ``top_k`` the documents are read, split and embedded once; in a sweep over judges the retriever
is opened once. What is shared is found by the configuration that makes it, never by its name.
"""

from __future__ import annotations

import asyncio
import dataclasses
import json
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeGuard, TypeVar

from runner.calls import Door
from runner.config import Job
from runner.config.schema import Chunking, Config
from runner.errors import ConfigurationError, Problem
from runner.evaluation import Pipeline, QuestionRetriever, Retrieval
from runner.generation import AnswerGenerator, open_generator
from runner.judging import check_versions, open_judge, panel_problems
from runner.knowledge import (
    RelevantChunks,
    Retriever,
    check_questions,
    load_documents,
    load_questions,
    open_embedder,
    open_retriever,
    split,
    with_gold_ids,
)
from runner.records import Call, Chunk, Document, Question

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

Part = TypeVar("Part")

FREE_EMBEDDERS = ("minilm", "none")
"""Those whose vectors no call makes."""


def identity_of(*parts: Any) -> str:
    """A text that is equal exactly where all parts are configured alike."""
    plain = [dataclasses.asdict(part) if _is_settings(part) else part for part in parts]
    return json.dumps(plain, sort_keys=True, default=str)


def _is_settings(part: Any) -> TypeGuard[DataclassInstance]:
    return dataclasses.is_dataclass(part) and not isinstance(part, type)


def _set_of(job: Job) -> str:
    """What the question set of a job is called, and whether it is what stood there already."""
    name = job.group_choices.get("questions") or job.config.questions.name
    said = any(override.lstrip("+").startswith(("questions=", "questions.path=")) for override in job.overrides)
    return name if said else f"still {name}"


class Data:
    """Documents, chunks and questions of all jobs, each read once. Nothing here costs money."""

    def __init__(self) -> None:
        self._made: dict[str, Any] = {}

    def documents(self, config: Config) -> tuple[Document, ...]:
        base = dataclasses.replace(config.knowledge_base, chunking=Chunking())
        return self._once(identity_of("documents", base), lambda: load_documents(config.knowledge_base))

    def chunks(self, config: Config) -> tuple[Chunk, ...]:
        return self._once(
            identity_of("chunks", config.knowledge_base),
            lambda: split(self.documents(config), config.knowledge_base.chunking),
        )

    def relevant_chunks(self, config: Config) -> RelevantChunks | None:
        """For the metrics over chunks; ``None`` where nothing is retrieved."""
        if config.retriever.kind == "none":
            return None
        return self._once(
            identity_of("relevant_chunks", config.knowledge_base), lambda: RelevantChunks(self.chunks(config))
        )

    def questions(self, config: Config) -> tuple[Question, ...]:
        """The questions; documents that their gold names by file are named by id."""
        base = dataclasses.replace(config.knowledge_base, chunking=Chunking())
        return self._once(
            identity_of("questions", config.questions, config.seed, base),
            lambda: with_gold_ids(self._as_read(config), self.documents(config)),
        )

    def _as_read(self, config: Config) -> tuple[Question, ...]:
        return self._once(
            identity_of("questions as read", config.questions, config.seed),
            lambda: load_questions(config.questions, config.seed),
        )

    def problems(self, jobs: tuple[Job, ...], *, asks_set: bool = True) -> list[Problem]:
        """Everything that is wrong with the data that these jobs name; each problem once.

        ``asks_set``: whether the questions of the set are asked; where others are, theirs do not matter.
        """
        found: dict[str, Problem] = {}
        for job in jobs:
            try:
                documents = self.documents(job.config)
                questions = self.questions(job.config)
                needs = [name for name, judge in job.config.judges.items() if "reference" in judge.rubric.inputs]
                checked = questions if asks_set else ()
                problems = check_questions(checked, documents, needs_reference=needs, name=_set_of(job))
                problems += panel_problems(job.config.panels, job.config.judges)
            except ConfigurationError as error:
                problems = list(error.problems) or [Problem(job.name, str(error))]
            found.update((str(problem), problem) for problem in problems)
        return list(found.values())

    def _once(self, key: str, make: Callable[[], Part]) -> Part:
        if key not in self._made:
            self._made[key] = make()
        part: Part = self._made[key]
        return part


class _NoRetriever:
    """Finds nothing."""

    index_calls: tuple[Call, ...] = ()

    async def retrieve(self, questions: Sequence[Question], top_k: int) -> Sequence[Retrieval]:
        return []


class Parts:
    """The embedders and retrievers of all jobs, each opened once, on top of ``Data``."""

    def __init__(self, door: Door, home: Path, data: Data) -> None:
        self._door = door
        self._home = home
        self._data = data
        self._opening: dict[str, asyncio.Task[Any]] = {}
        self._embedders: dict[str, Any] = {}

    def check(self, jobs: Sequence[Job]) -> None:
        """Everything that can be checked before the first call; notes which text each rubric version has.

        Raises one ConfigurationError.
        """
        self.check_opening(jobs)
        rubrics = [(name, judge.rubric) for job in jobs for name, judge in job.config.judges.items()]
        check_versions(rubrics, self._door, allow_edit=jobs[0].config.allow_rubric_edit)

    def check_opening(self, jobs: Sequence[Job]) -> None:
        """Opens generator and judges of every job once, which costs nothing.

        Raises one ConfigurationError with everything that keeps any of them from working, such as a missing key or an
        unknown price under a cap.
        """
        found: dict[str, Problem] = {}
        for job in jobs:
            for problem in self._opening_problems(job.config):
                found.setdefault(str(problem), problem)
        if found:
            raise ConfigurationError(list(found.values()))

    def _opening_problems(self, config: Config) -> list[Problem]:
        opening: list[Callable[[], object]] = [lambda: self._generator(config)]
        for name, judge in config.judges.items():
            opening.append(partial(open_judge, name, judge, self._door))
        if self._needs_embedder(config):
            opening.append(lambda: self.embedder(config))
        problems: list[Problem] = []
        for open_part in opening:
            try:
                open_part()
            except ConfigurationError as error:
                problems.extend(error.problems or (Problem("configuration", str(error)),))
        return problems

    async def pipeline(self, job: Job) -> Pipeline:
        """The parts of one job, ready to be used; building its index may cost embedding calls."""
        pipeline = self._pipeline(job.config, await self._retriever(job.config))
        return dataclasses.replace(pipeline, relevant_chunks=self._data.relevant_chunks(job.config))

    def pipeline_without_index(self, job: Job) -> Pipeline:
        """The same with a retriever that finds nothing, for a plan that may not build the index."""
        return self._pipeline(job.config, _NoRetriever())

    def _pipeline(self, config: Config, retriever: QuestionRetriever) -> Pipeline:
        generator = self._generator(config)
        judges = {name: open_judge(name, judge, self._door) for name, judge in config.judges.items()}
        return Pipeline(
            questions=self._data.questions(config),
            retriever=retriever,
            top_k=config.retriever.top_k,
            generator=None if config.generator.kind == "none" else generator,
            judges=judges,
            panels=config.panels,
            rubrics={name: judge.rubric for name, judge in config.judges.items()},
            question_deadline_s=config.calls.question_deadline_s,
            retry_failed=config.calls.retry_failed,
            retrieves=config.retriever.kind != "none",
        )

    def _generator(self, config: Config) -> AnswerGenerator | None:
        retrieves = config.retriever.kind != "none"
        return open_generator(config.generator, config.prompt, self._door, config.calls, retrieves=retrieves)

    async def _retriever(self, config: Config) -> QuestionRetriever:
        settings = dataclasses.replace(config.retriever, top_k=1)
        key = identity_of(config.knowledge_base, config.embedder, settings)

        async def open_one() -> Retriever:
            chunks = self._data.chunks(config)
            return await open_retriever(config, chunks, self.embedder(config), self._home)

        is_first = key not in self._opening
        retriever = await self._opened_once(key, open_one)
        # The job that opens it pays for the index; for the others its calls are replayed ones.
        return retriever if is_first else retriever.for_another_job()

    @staticmethod
    def _needs_embedder(config: Config) -> bool:
        return config.embedder.kind != "none" and config.retriever.kind not in ("bm25", "none")

    def embedder(self, config: Config) -> Any:
        """The embedder of a job; ``None`` where its retriever needs none."""
        if not self._needs_embedder(config):
            return None
        key = identity_of(config.embedder)
        if key not in self._embedders:
            self._embedders[key] = open_embedder(config.embedder, self._door)
        return self._embedders[key]

    async def _opened_once(self, key: str, make: Callable[[], Awaitable[Part]]) -> Part:
        """The same part for all who ask, also while it is being made."""
        if key not in self._opening:
            self._opening[key] = asyncio.ensure_future(make())
        # One job that is cancelled must not take the part away from the others.
        part: Part = await asyncio.shield(self._opening[key])
        return part
