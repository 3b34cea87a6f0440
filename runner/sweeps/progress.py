"""Shows how far a sweep is: a live table on a terminal, one plain line for each change of state elsewhere."""

from __future__ import annotations

import time
from collections.abc import Callable
from decimal import Decimal
from typing import TYPE_CHECKING

from runner.config import Job
from runner.evaluation import now
from runner.journal import failures
from runner.records import Record, RunResult, RunStatus, VerdictStatus
from runner.report.leaderboard import dollars
from runner.sweeps.pace import Pace, time_left
from runner.sweeps.progress_view import JobProgress, table

if TYPE_CHECKING:
    from rich.console import Console, RenderableType
    from rich.live import Live

PLAIN_INTERVAL_S = 30.0
REFRESHES_PER_S = 4


class SweepProgress:
    """Progress of all jobs together, written to standard error."""

    def __init__(self, console: Console, new_spend: Callable[[], Decimal | None], *, quiet: bool = False) -> None:
        self._console = console
        self._new_spend = new_spend
        self._quiet = quiet
        self._live: Live | None = None
        self._jobs: dict[str, JobProgress] = {}
        self._pace = Pace()
        self._began = now()
        self._last_plain = time.monotonic()

    def start(self, jobs: dict[str, tuple[str, int]]) -> None:
        """Begins; ``jobs``: key → name and number of questions."""
        self._jobs = {key: JobProgress(name, total) for key, (name, total) in jobs.items()}
        if self._quiet or not self._console.is_terminal or self._console.is_dumb_terminal:
            return
        from rich.live import Live

        self._live = Live(
            get_renderable=self._table,
            console=self._console,
            refresh_per_second=REFRESHES_PER_S,
            transient=True,
            redirect_stdout=False,
            redirect_stderr=False,
        )
        self._live.start()

    def job_started(self, job: Job) -> None:
        """A plain line where there is no live table."""
        if self._live is None and not self._quiet:
            self._say(f"{job.name}: started, {self._jobs[job.key].total} questions")

    def record(self, job: Job, record: Record) -> None:
        """One more question of a job is finished."""
        one = self._jobs[job.key]
        failed = bool(failures(record))
        one.done += 1
        one.failed += failed
        one.scored += not failed and any(score.status is VerdictStatus.SCORED for score in record.scores.values())
        for call in record.calls:
            one.calls += not call.from_ledger
            if not call.from_ledger and one.new_spend is not None:
                one.new_spend = None if call.new_cost is None else one.new_spend + call.new_cost
        if record.finished_at >= self._began:  # what came from storage says nothing about the speed
            one.pace.one_more()
            self._pace.one_more()
        if self._live is None and not self._quiet and time.monotonic() - self._last_plain >= PLAIN_INTERVAL_S:
            self._last_plain = time.monotonic()
            self._say(self._whole())

    def job_finished(self, result: RunResult) -> None:
        """A job that did not come to its end is told at once; a complete one only where there is no live table."""
        one = self._jobs[result.job_key]
        one.state = "done" if result.status is RunStatus.COMPLETE else result.status.value
        if result.status is not RunStatus.COMPLETE:
            self._say(f"{result.name}: {result.status.value}: {result.reason}")
        elif self._live is None and not self._quiet:
            stored = f" ({result.resumed} stored)" if result.resumed else ""
            spend = f", new spend {dollars(one.new_spend)}" if one.calls else ""
            self._say(f"{result.name}: done, {len(result.records)} questions{stored}, {one.scored} scored{spend}")

    def note(self, text: str) -> None:
        """A sentence the user should see now."""
        self._say(text)

    def close(self) -> None:
        if self._live is not None:
            self._live.stop()
            self._live = None

    def _say(self, text: str) -> None:
        from rich.text import Text

        self._console.print(Text(text))

    def _table(self) -> RenderableType:
        size = self._console.size
        return table(list(self._jobs.values()), self._whole(), size.width, size.height)

    def _whole(self) -> str:
        """One line about all jobs together."""
        jobs = self._jobs.values()
        failed = sum(job.failed for job in jobs)
        parts = [f"{sum(job.done for job in jobs)}/{sum(job.total for job in jobs)} questions"]
        parts += [f"{failed} failed"] if failed else []
        parts.append(f"{sum(job.calls for job in jobs)} new calls")
        parts.append(f"new spend {dollars(self._new_spend())}")
        left = time_left(self._pace.seconds_left(sum(job.left for job in jobs)))
        parts += [f"{left} left"] if left else []
        return ", ".join(parts)
