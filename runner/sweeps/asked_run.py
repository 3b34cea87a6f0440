"""The questions of one ``runner ask --track`` as a run of their own in the tracking store."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from runner.config import Job, choices, home
from runner.evaluation import judge_status, now
from runner.records import Record, RunResult, SweepResult
from runner.sweeps.identity import sweep_id
from runner.sweeps.outcome import outcome_of
from runner.sweeps.output import RunOutput
from runner.sweeps.parts import Data
from runner.sweeps.tracked import TrackedSweep


@dataclass(frozen=True, slots=True)
class AskedRun:
    """A run that was begun before the first question, and gets all of them when the user leaves."""

    job: Job
    tracked: TrackedSweep
    id: str
    started_at: str

    @classmethod
    def open(cls, job: Job, data: Data) -> AskedRun:
        """Begins the run. Raises TrackingUnavailable where the store does not answer, before anything is paid."""
        started_at = now()
        identity = sweep_id((job,), started_at)
        asked = job.named(f"asked: {job.name}")
        tracked = TrackedSweep.open((asked,), data, home(), sweep_id=identity, duplicates={})
        return cls(asked, tracked, identity, started_at)

    def finish(self, records: Sequence[Record]) -> tuple[str, ...]:
        """Hands over all records and ends the run; returns what the user should know about the store."""
        distinct = tuple({record.question.id: record for record in records}.values())
        status, reason = judge_status(distinct, len(distinct))
        run = RunResult(
            job_key=self.job.key,
            name=self.job.name,
            status=status,
            reason=reason,
            choices=choices(self.job.config),
            records=distinct,
            started_at=self.started_at,
            finished_at=now(),
            overrides=self.job.overrides,
        )
        result = SweepResult(self.id, self.job.config.name, (run,), status, self.started_at, run.finished_at)
        outcome = outcome_of(result)
        self.tracked.start_job(self.job)
        for record in distinct:
            self.tracked.log_record(self.job, record)
        output = RunOutput(home() / "asked" / self.id, self.job)
        output.write_all(run)
        self.tracked.finish_job(self.job, run, outcome.summaries[run.job_key], output)
        self.tracked.finish(outcome, {})
        return self.tracked.notes
