"""Runs one job of a sweep: its records to the tracking store and on the screen, its end into every file."""

from __future__ import annotations

import asyncio
import logging
from dataclasses import replace
from pathlib import Path

from runner.config import Job, choices
from runner.errors import BudgetReached, JobStopped, RunnerError
from runner.evaluation import Evaluation, RunIdentity, now
from runner.journal import Journal
from runner.judging import ControlReport
from runner.records import Record, RunResult, RunStatus
from runner.sweeps.controls import control_judges
from runner.sweeps.figures import summarised
from runner.sweeps.keeping import end_of
from runner.sweeps.output import RunOutput
from runner.sweeps.parts import Data, Parts
from runner.sweeps.progress import SweepProgress
from runner.sweeps.tracked import TrackedSweep

logger = logging.getLogger(__name__)


class JobRun:
    """One job on its way; after ``go``, however it ended, ``result`` and ``stopped_by`` tell what came of it."""

    def __init__(self, job: Job, *, home: Path, folder: Path, data: Data, launched_at: str) -> None:
        self._job = job
        self._output = RunOutput(folder, job)
        self._journal = Journal(home, job.key)
        self._data = data
        self._launched_at = launched_at
        self._evaluation: Evaluation | None = None
        self._controls = ControlReport((), ())
        self.result: RunResult | None = None
        self.stopped_by: RunnerError | None = None
        """What ends the other jobs, too."""

    async def go(self, parts: Parts, places: asyncio.Semaphore, tracked: TrackedSweep, progress: SweepProgress) -> None:
        """Runs it to its end. Raises CancelledError alone: what goes wrong is in the result."""
        job = self._job
        status, reason = RunStatus.INTERRUPTED, "interrupted before it began"

        def on_record(record: Record) -> None:
            tracked.log_record(job, record)
            progress.record(job, record)
            if self._evaluation is not None and self._output.wants_statistics():
                self._output.write_statistics(self._evaluation.result())

        try:
            tracked.start_job(job)
            self._journal.write_job(self._description())
            progress.job_started(job)
            pipeline = await parts.pipeline(job)
            identity = RunIdentity(job.key, job.name, choices(job.config), tuple(job.overrides))
            self._evaluation = Evaluation(identity, pipeline, self._journal)
            finished = await self._evaluation.run(places, on_record)
            status, reason = finished.status, finished.reason
            if job.config.controls.enabled:
                self._controls = await control_judges(pipeline, job.config.controls, seed=job.config.seed, run=job.key)
                for sentence in self._controls.sentences:
                    progress.note(f"{job.name}: {sentence}")
        except JobStopped as stopped:
            status, reason = RunStatus.FAILED, str(stopped)
        except BudgetReached as reached:
            status, reason = RunStatus.BUDGET, str(reached)
        except RunnerError as stopped:
            self.stopped_by = stopped
            status, reason = RunStatus.FAILED, str(stopped)
        except asyncio.CancelledError:
            status, reason = RunStatus.INTERRUPTED, "what is finished is kept; the same command goes on from here"
            raise
        except Exception as error:
            logger.exception("job %s", job.name)
            status, reason = RunStatus.FAILED, f"unforeseen {type(error).__name__}: {error}"
        finally:
            self.result = result = self._ended(status, reason)
            self._output.write_all(result)
            if self._evaluation is not None:
                self._journal.write_job({**self._description(), "ended": end_of(result)})
            tracked.finish_job(job, result, summarised(result), self._output)
            progress.job_finished(result)

    def _ended(self, status: RunStatus, reason: str) -> RunResult:
        job = self._job
        if self._evaluation is None:
            return RunResult(
                job_key=job.key,
                name=job.name,
                status=status,
                reason=reason,
                choices=choices(job.config),
                records=(),
                started_at=self._launched_at,
                finished_at=now(),
                overrides=job.overrides,
            )
        result = self._evaluation.result(status, reason)
        return replace(result, controls=self._controls.rows, control_calls=self._controls.calls)

    def _description(self) -> dict[str, object]:
        job = self._job
        questions = self._data.questions(job.config)
        return {
            "key": job.key,
            "name": job.name,
            "choices": choices(job.config),
            "overrides": list(job.overrides),
            "sources": dict(job.sources),
            "config": job.resolved_yaml,
            "questions": len(questions),
            "question_ids": [question.id for question in questions],
        }
