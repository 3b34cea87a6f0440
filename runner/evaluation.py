"""One run: the way of a question from retrieval over the answer to the scores, and nothing else."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any, Protocol

from runner.calls import calling, collect_calls
from runner.config.schema import Panel, Rubric
from runner.errors import BudgetReached, JobStopped, RunnerError, StorageError, SweepStopped
from runner.generation import AnswerGenerator
from runner.journal import Journal, failures, is_transient, replayed
from runner.judging import AnswerJudge, combine_panel, diagnosed
from runner.knowledge import RelevantChunks, retrieval_metrics
from runner.records import (
    Answer,
    AnswerStatus,
    Call,
    Question,
    Record,
    Retrieved,
    RunResult,
    RunStatus,
    Score,
    VerdictStatus,
)


class Retrieval(Protocol):
    @property
    def retrieved(self) -> tuple[Retrieved, ...]: ...
    @property
    def calls(self) -> tuple[Call, ...]: ...


class QuestionRetriever(Protocol):
    @property
    def index_calls(self) -> tuple[Call, ...]: ...
    async def retrieve(self, questions: Sequence[Question], top_k: int) -> Sequence[Retrieval]: ...


@dataclass(frozen=True, slots=True)
class Pipeline:
    """The parts of one configuration, ready to be used."""

    questions: tuple[Question, ...]
    retriever: QuestionRetriever
    top_k: int
    generator: AnswerGenerator | None
    """None: retrieval only (``generator=none``)."""
    judges: Mapping[str, AnswerJudge]
    panels: Mapping[str, Panel]
    rubrics: Mapping[str, Rubric]
    """By judge: what each judge may see decides which of them speak of grounding and of correctness."""
    question_deadline_s: float
    """Seconds that one question may take from its first call on."""
    retry_failed: bool = False
    """Ask every stored failure again, not only those that may go away by themselves."""
    retrieves: bool = True
    """False with ``retriever=none``: recorded answers, or an application that finds its passages itself."""
    relevant_chunks: RelevantChunks | None = None
    """Of the knowledge base, for the metrics over chunks."""


@dataclass(frozen=True, slots=True)
class RunIdentity:
    """What a run is called and where it came from."""

    job_key: str
    name: str
    choices: Mapping[str, object]
    overrides: tuple[str, ...] = ()


def now() -> str:
    """The present moment as UTC in ISO 8601."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")


class Evaluation:
    """One run on its way; ``result`` tells at any moment what is finished."""

    def __init__(self, identity: RunIdentity, pipeline: Pipeline, journal: Journal) -> None:
        self._identity = identity
        self._pipeline = pipeline
        self._journal = journal
        self._started_at = now()
        self._records: dict[str, Record] = {}
        self._resumed = 0
        self._unfinished: list[Call] = []

    async def run(self, places: asyncio.Semaphore, on_record: Callable[[Record], None]) -> RunResult:
        """Brings every question from retrieval to its scores.

        ``places`` bounds the questions under way over all runs of the process. Records that the journal holds
        are taken from it. ``on_record`` sees each record once, when it is on disk. Raises the first RunnerError
        that ends the run (SweepStopped, JobStopped, BudgetReached, StorageError); what is finished by then is in
        the journal and in ``result``.
        """
        pipeline = self._pipeline
        stored = self._journal.load()
        retrievals = await pipeline.retriever.retrieve(pipeline.questions, pipeline.top_k)

        ended_by: list[RunnerError] = []

        async def travel(question: Question, retrieval: Retrieval) -> None:
            async with places:
                if ended_by:
                    return
                with (
                    collect_calls() as made,
                    calling(run=self._identity.job_key, question=question.id, deadline=pipeline.question_deadline_s),
                ):
                    try:
                        record = await evaluate_question(question, retrieval, pipeline)
                    except BaseException as ended:
                        self._unfinished.extend(made)
                        if not isinstance(ended, (BudgetReached, JobStopped)):
                            raise
                        # Calls of other questions that are under way are paid for: they finish, none is begun.
                        ended_by.append(ended)
                        return
            self._journal.append(record)
            self._records[question.id] = record
            on_record(record)

        try:
            async with asyncio.TaskGroup() as group:
                for question, retrieval in zip(pipeline.questions, retrievals, strict=True):
                    record = stored.get(question.id)
                    if record is not None and is_final(record, retry_failed=pipeline.retry_failed):
                        self._records[question.id] = replayed(record)
                        self._resumed += 1
                        on_record(self._records[question.id])
                    else:
                        group.create_task(travel(question, retrieval))
        except* RunnerError as stopped:
            raise _weightiest(stopped.exceptions) from None
        finally:
            self._journal.close()
        if ended_by:
            raise _weightiest(ended_by)
        return self.result()

    def result(self, status: RunStatus | None = None, reason: str = "") -> RunResult:
        """What is finished so far; without a status it is judged from the records."""
        questions = self._pipeline.questions
        records = tuple(self._records[question.id] for question in questions if question.id in self._records)
        if status is None:
            status, reason = judge_status(records, len(questions))
        return RunResult(
            job_key=self._identity.job_key,
            name=self._identity.name,
            status=status,
            reason=reason,
            choices=dict(self._identity.choices),
            records=records,
            index_calls=tuple(self._pipeline.retriever.index_calls),
            started_at=self._started_at,
            finished_at=now(),
            overrides=self._identity.overrides,
            resumed=self._resumed,
            unfinished_calls=tuple(self._unfinished),
        )


async def evaluate_question(question: Question, retrieval: Retrieval, pipeline: Pipeline) -> Record:
    """One question with what was retrieved for it, to its scores. Raises what ends a run."""
    retrieved = tuple(retrieval.retrieved)
    scores: dict[str, Score] = {}
    if pipeline.generator is None:
        answer = Answer(status=AnswerStatus.ANSWERED)
    else:
        answer = await pipeline.generator.answer(question, retrieved)
        given = await _gather([judge.score(question, retrieved, answer) for judge in pipeline.judges.values()])
        scores = dict(zip(pipeline.judges, given, strict=True))
        for name, panel in pipeline.panels.items():
            scores[name] = combine_panel(name, panel, scores)
    relevant = pipeline.relevant_chunks.count(question) if pipeline.relevant_chunks and question.gold else None
    record = Record(
        question=question,
        retrieved=retrieved,
        answer=answer,
        scores=scores,
        retrieval_calls=tuple(retrieval.calls),
        retrieval_metrics=retrieval_metrics(question, retrieved, pipeline.top_k, relevant)
        if pipeline.retrieves
        else {},
        relevant_chunks=relevant,
        finished_at=now(),
    )
    return _diagnosed(record, pipeline)


def _diagnosed(record: Record, pipeline: Pipeline) -> Record:
    if pipeline.retrieves:
        return diagnosed(record, pipeline.rubrics)
    # Where nothing was to be retrieved nobody missed the gold documents, and without contexts nobody ignored any.
    found = diagnosed(replace(record, question=replace(record.question, gold=())), pipeline.rubrics)
    return replace(found, question=record.question, blame=found.blame if record.answer.contexts else "")


async def _gather(coroutines: Iterable[Coroutine[Any, Any, Score]]) -> list[Score]:
    """Runs the judges side by side; all of them end before the weightiest error is raised."""
    outcomes = await asyncio.gather(*coroutines, return_exceptions=True)
    errors = [outcome for outcome in outcomes if isinstance(outcome, BaseException)]
    if errors:
        raise _weightiest(errors)
    return [outcome for outcome in outcomes if isinstance(outcome, Score)]


def _weightiest(errors: Iterable[BaseException]) -> BaseException:
    """The error that weighs most: an unforeseen one, then what ends the sweep, then what ends the job."""
    leaves: list[BaseException] = []
    todo = list(errors)
    while todo:
        error = todo.pop()
        if isinstance(error, BaseExceptionGroup):
            todo.extend(error.exceptions)
        else:
            leaves.append(error)
    order = (SweepStopped, StorageError, BudgetReached, JobStopped)
    return min(leaves, key=lambda error: next((at for at, kind in enumerate(order, 1) if isinstance(error, kind)), 0))


def is_final(record: Record, *, retry_failed: bool) -> bool:
    """Whether a stored record stands; otherwise its question is evaluated again, from the ledger as far as it goes."""
    reasons = failures(record)
    return not reasons if retry_failed else not any(is_transient(reason) for reason in reasons)


def judge_status(records: Sequence[Record], asked: int) -> tuple[RunStatus, str]:
    """The status of a run from its records, with one sentence where it is not complete.

    A run is failed where nothing was answered, or where a judge failed on everything it was asked; any other
    failure makes it incomplete.
    """
    if len(records) < asked:
        return RunStatus.INTERRUPTED, f"{asked - len(records)} of {asked} questions were not finished"
    failed_answers = [record for record in records if record.answer.status is AnswerStatus.FAILED]
    if failed_answers and len(failed_answers) == len(records):
        first = failed_answers[0].answer
        return RunStatus.FAILED, f"no question was answered ({first.reason}: {first.detail})"
    for name in dict.fromkeys(name for record in records for name in record.scores):
        scores = [record.scores[name] for record in records if name in record.scores]
        failed = [score for score in scores if score.status is VerdictStatus.FAILED]
        if failed and not any(score.status is VerdictStatus.SCORED for score in scores):
            return RunStatus.FAILED, f"judge {name} scored none of {len(scores)} ({_most_common(failed)})"
    failed_scores = sum(score.status is VerdictStatus.FAILED for record in records for score in record.scores.values())
    if failed_answers or failed_scores:
        return RunStatus.INCOMPLETE, f"{len(failed_answers)} answers and {failed_scores} verdicts failed"
    return RunStatus.COMPLETE, ""


def _most_common(failed: Sequence[Score]) -> str:
    """The reason that most of them have, with what was said the first time."""
    reason = Counter(score.reason for score in failed).most_common(1)[0][0]
    detail = next(score.detail for score in failed if score.reason == reason)
    return f"{reason}: {detail}" if detail else reason
