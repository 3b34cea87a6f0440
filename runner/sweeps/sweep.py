"""Runs the jobs of one launch together in one process: shared door, shared parts, one parent run."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING

from runner.calls import Door, open_door
from runner.config import Job
from runner.config.schema import APPLICATIONS, Endpoint
from runner.errors import (
    ConfigurationError,
    RunnerError,
    StorageError,
    SweepStopped,
)
from runner.evaluation import now
from runner.findings import GateReport, SweepComparison
from runner.importing import load, loaded
from runner.records import RunResult, RunStatus, SweepResult
from runner.sweeps.comparisons import sweep_comparisons
from runner.sweeps.figures import summarised
from runner.sweeps.gating import Gating
from runner.sweeps.identity import drop_duplicates, duplicate_sentence, sweep_id
from runner.sweeps.job_run import JobRun
from runner.sweeps.keeping import KeptSweep
from runner.sweeps.outcome import SweepOutcome, overall_status, paid_besides
from runner.sweeps.parents import inherited
from runner.sweeps.parts import FREE_EMBEDDERS, Data, Parts
from runner.sweeps.plan import plan_sweep
from runner.sweeps.plan_totals import JobPlan
from runner.sweeps.progress import SweepProgress
from runner.sweeps.repeats import repeated
from runner.sweeps.report_file import FILE_NAME, write_report
from runner.sweeps.tracked import TrackedSweep, git_commit
from runner.sweeps.warnings import warnings_of

if TYPE_CHECKING:
    from rich.console import Console

logger = logging.getLogger(__name__)

COMPARING = ("numpy", "scipy.stats", "pandas")
"""What the comparisons at the end import, for seconds."""
QUESTIONS_PER_CALL = 4
"""Questions under way for each call that may be in flight: enough to keep every judge busy, few enough that the
first questions are finished early."""


class Sweep:
    """The jobs of one launch on their way."""

    def __init__(
        self,
        jobs: Sequence[Job],
        *,
        home: Path,
        output_dir: Path,
        console: Console,
        quiet: bool = False,
        gating: Gating | None = None,
    ) -> None:
        self._jobs, self._duplicates = drop_duplicates(jobs)
        self._home = home
        self._output_dir = output_dir
        self._console = console
        self._quiet = quiet
        self._gating = gating
        self._gate: GateReport | None = None
        self._tracked = ("", "")
        self._repeats: KeptSweep | None = None
        self._data = Data()
        self._results: dict[str, RunResult] = {}
        self._folders: dict[str, Path] = {}
        self._stopped_by: RunnerError | None = None
        self._notes: tuple[str, ...] = ()
        self._plan: JobPlan | None = None
        self._possibly_paid = Decimal(0)
        self._paid_besides = Decimal(0)
        self._comparisons: tuple[SweepComparison, ...] = ()
        self._started_at = now()
        self._inherited = inherited()
        self._id = self._inherited.sweep_id if self._inherited else sweep_id(self._jobs, self._started_at)

    @property
    def data(self) -> Data:
        return self._data

    @property
    def plan(self) -> JobPlan | None:
        """What all jobs together will ask for; ``None`` before ``prepare``, and where no model is paid for."""
        return self._plan

    def prepare(self) -> None:
        """Plans what is missing, and fetches the weights that it needs; nothing is paid, and Ctrl-C ends it at once.

        Raises ConfigurationError with everything that is wrong, also where weights cannot be had.
        """
        problems = self._data.problems(self._jobs)
        if problems:
            raise ConfigurationError(problems)
        providers = {endpoint.provider for endpoint in self._endpoints()}
        if not providers:
            return
        total = asyncio.run(plan_sweep(self._jobs, self._duplicates, self._home, self._data)).total
        if providers != {"embedded"}:
            self._plan = total
        if total.models:
            # Half a second that would otherwise count against the first calls' deadlines.
            load("openai", "runner.calls.http")
        for provider, model in total.models:
            if provider == "embedded":
                from runner.calls.embedded import pull

                pull(model)

    async def run(self) -> None:
        """Runs every job; ``prepare`` comes first, and ``outcome`` tells what came of it.

        Raises ConfigurationError and TrackingUnavailable, nothing paid. When it is cancelled, every run is closed as
        interrupted before the cancellation goes on. Returns nothing: asyncio.run would format all of an outcome, to
        drop the text unseen.
        """
        first = self._jobs[0].config
        # Only processes of one sweep share a cap through the ledger, which costs a write for every call.
        shared = self._id if self._inherited else None
        opening = open_door(
            first.calls, first.budget, first.prices, home=self._home, metadata=first.metadata, sweep=shared
        )
        door: Door | None = None
        try:
            async with opening as door:
                parts = Parts(door, self._home, self._data)
                parts.check(self._jobs)
                tracked, _ = await asyncio.gather(asyncio.to_thread(self._open_tracking), self._meanwhile(parts))
                try:
                    await self._run_jobs(door, parts, tracked)
                finally:
                    await asyncio.to_thread(self._finish, tracked)
        finally:
            # What was on the wire when the jobs ended has landed, or was given up, while the door closed.
            if door is not None:
                last = door.spent()
                self._possibly_paid = last.possibly_paid
                self._paid_besides = paid_besides(last.new_cost, self._results.values())

    async def _meanwhile(self, parts: Parts) -> None:
        """While the tracking store opens, which takes seconds: what costs nothing and is needed later."""
        if len(self._jobs) > 1 and self._inherited is None:
            await loaded(*COMPARING)
        if not self._may_pay():
            # What goes wrong here goes wrong again, and is said, when the job itself asks for its parts.
            await asyncio.gather(*(parts.pipeline(job) for job in self._jobs), return_exceptions=True)

    def _may_pay(self) -> bool:
        """Whether making the parts of any job can cost something: embeddings of a server."""
        return any(job.config.embedder.kind not in FREE_EMBEDDERS for job in self._jobs)

    def _finish(self, tracked: TrackedSweep) -> None:
        """Compares the jobs, writes the report, ends the parent run with both; after Ctrl-C it only ends the run."""
        self._tracked = (tracked.parent, tracked.store)
        if self.outcome().result.status is RunStatus.INTERRUPTED:
            tracked.finish(self.outcome(), {})
            self._notes = tracked.notes
            return
        if self._inherited is None:
            self._comparisons = sweep_comparisons(self.outcome().result.runs)
        path = self._output_dir / FILE_NAME
        problem = write_report(self.outcome(), path, git_commit())
        self._notes = (problem,) if problem else ()
        if self._inherited is None:
            self._repeats = repeated(self._home, self.outcome().result, tracked.store)
        tracked.finish(self._gated(), {} if problem else {FILE_NAME: path})
        self._notes = (*self._notes, *tracked.notes)

    def _gated(self) -> SweepOutcome:
        """The outcome with its gate, where there is one; what goes wrong there, the caller of the sweep says."""
        outcome = self.outcome()
        if self._gating is None:
            return outcome
        try:
            outcome = self._gating.judged(outcome)
        except Exception:
            logger.exception("gate of sweep %s", self._id)
        self._gate, self._notes = outcome.gate, outcome.notes
        return outcome

    def _open_tracking(self) -> TrackedSweep:
        if self._inherited is not None:
            parent = self._inherited.run_id
            return TrackedSweep.rejoin(self._jobs, self._data, self._home, parent=parent, ends_parent=False)
        return TrackedSweep.open(self._jobs, self._data, self._home, sweep_id=self._id, duplicates=self._duplicates)

    async def _run_jobs(self, door: Door, parts: Parts, tracked: TrackedSweep) -> None:
        places = asyncio.Semaphore(self._places())
        progress = SweepProgress(self._console, lambda: door.whole_new_spend, quiet=self._quiet)
        for dropped, kept in self._duplicates.items():
            progress.note(duplicate_sentence(dropped, kept))
        if not self._quiet and self._inherited is None:
            for warning in warnings_of(self._jobs):
                progress.note(f"note: {warning}")
        progress.start({job.key: (job.name, len(self._data.questions(job.config))) for job in self._jobs})
        tasks = [
            asyncio.create_task(self._run_job(job, parts, places, tracked, progress), name=job.name)
            for job in self._jobs
        ]
        try:
            for finished in asyncio.as_completed(tasks):
                await finished
                if self._must_stop():
                    break
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            progress.close()

    def _must_stop(self) -> bool:
        if isinstance(self._stopped_by, (SweepStopped, StorageError)):
            return True
        failed = any(result.status is not RunStatus.COMPLETE for result in self._results.values())
        return failed and self._jobs[0].config.on_error == "stop"

    def _places(self) -> int:
        """How many questions may be under way together."""
        local = all(endpoint.provider == "embedded" for endpoint in self._endpoints())
        local = local and not any(job.config.generator.kind in APPLICATIONS for job in self._jobs)
        return QUESTIONS_PER_CALL * (1 if local else self._jobs[0].config.calls.concurrency)

    def _endpoints(self) -> list[Endpoint]:
        """Where the chat models of all jobs are served."""
        found: list[Endpoint] = []
        for config in (job.config for job in self._jobs):
            if config.generator.kind == "model":
                found.append(config.generator.endpoint)
            found.extend(judge.endpoint for judge in config.judges.values() if judge.kind == "model")
        return found

    async def _run_job(
        self, job: Job, parts: Parts, places: asyncio.Semaphore, tracked: TrackedSweep, progress: SweepProgress
    ) -> None:
        folder = self._output_dir if len(self._jobs) == 1 else self._output_dir / str(job.number)
        run = JobRun(job, home=self._home, folder=folder, data=self._data, launched_at=self._started_at)
        self._folders[job.key] = folder
        try:
            await run.go(parts, places, tracked, progress)
        finally:
            self._stopped_by = self._stopped_by or run.stopped_by
            if run.result is not None:
                self._results[job.key] = run.result

    def outcome(self) -> SweepOutcome:
        """What has come out so far; whole once ``run`` has ended, also where it was interrupted."""
        runs = tuple(self._results[job.key] for job in self._jobs if job.key in self._results)
        result = SweepResult(
            id=self._id,
            name=self._jobs[0].config.name,
            runs=runs,
            status=overall_status(runs, len(self._jobs)),
            started_at=self._started_at,
            finished_at=now(),
            duplicates=self._duplicates,
        )
        return SweepOutcome(
            result=result,
            summaries={run.job_key: summarised(run) for run in runs},
            folders=dict(self._folders),
            stopped_by=str(self._stopped_by or ""),
            notes=self._notes,
            plan=self._plan,
            possibly_paid=self._possibly_paid,
            paid_besides=self._paid_besides,
            comparisons=self._comparisons,
            gate=self._gate,
            tracked=self._tracked,
            repeats=self._repeats,
        )
