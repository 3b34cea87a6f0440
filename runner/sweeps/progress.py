"""Shows how far a sweep is: one live line on a terminal, one plain line for each change elsewhere."""

from __future__ import annotations

import time
from collections.abc import Callable
from decimal import Decimal
from typing import TYPE_CHECKING

from runner.journal import failures
from runner.records import Record, RunResult, RunStatus

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress, TaskID

PLAIN_INTERVAL_S = 30.0


class SweepProgress:
    """Progress of all jobs together, written to standard error."""

    def __init__(self, console: Console, new_spend: Callable[[], Decimal | None], *, quiet: bool = False) -> None:
        self._console = console
        self._new_spend = new_spend
        self._quiet = quiet
        self._live: Progress | None = None
        self._task: TaskID | None = None
        self._total = 0
        self._done = 0
        self._failed = 0
        self._calls = 0
        self._began = time.monotonic()
        self._last_plain = self._began

    def start(self, total: int) -> None:
        """Begins with the number of questions over all jobs."""
        self._total = total
        if self._quiet or not self._console.is_terminal:
            return
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

        self._live = Progress(
            TextColumn("{task.description}"),
            BarColumn(bar_width=None),
            MofNCompleteColumn(),
            TextColumn("{task.fields[detail]}"),
            TimeRemainingColumn(),
            console=self._console,
            transient=True,
        )
        self._live.start()
        self._task = self._live.add_task("questions", total=total, detail="")

    def record(self, record: Record) -> None:
        """One more question is finished."""
        self._done += 1
        self._failed += bool(failures(record))
        self._calls += sum(not call.from_ledger for call in record.calls)
        if self._live is not None and self._task is not None:
            self._live.update(self._task, completed=self._done, detail=self._detail())
        elif not self._quiet and time.monotonic() - self._last_plain >= PLAIN_INTERVAL_S:
            self._last_plain = time.monotonic()
            self._say(f"{self._done}/{self._total} questions, {self._detail()}, {self._time_left()}")

    def job_finished(self, result: RunResult) -> None:
        """A failing job is told at once; a complete one only where there is no live line."""
        if result.status is not RunStatus.COMPLETE:
            self._say(f"{result.name}: {result.status.value}: {result.reason}")
        elif self._live is None and not self._quiet:
            self._say(f"{result.name}: done, {len(result.records)} questions")

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

    def _detail(self) -> str:
        spend = self._new_spend()
        money = "new spend unknown" if spend is None else f"new spend ${spend:.4f}"
        failed = f", {self._failed} failed" if self._failed else ""
        return f"{self._calls} new calls, {money}{failed}"

    def _time_left(self) -> str:
        if not self._done:
            return "time left unknown"
        left = (time.monotonic() - self._began) / self._done * (self._total - self._done)
        return f"about {left:.0f} s left"
