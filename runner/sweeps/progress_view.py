"""The live table of a sweep on a terminal: a row a job, as many columns as there is room for, a line for the whole."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import TYPE_CHECKING

from runner.report.leaderboard import dollars
from runner.report.text import plain
from runner.sweeps.pace import Pace, time_left

if TYPE_CHECKING:
    from rich.console import RenderableType

LINES_AROUND = 5
"""Of the terminal's height: header, what is not shown, the whole, and the prompt."""
NARROW, MIDDLE = 50, 76
"""Characters of width from which there is room for the scores, and for the money and the time of each job."""
LEAST_NAME = 12


@dataclass(slots=True)
class JobProgress:
    """The counters of one job."""

    name: str
    total: int
    done: int = 0
    scored: int = 0
    """Questions that every judge which applies has scored."""
    failed: int = 0
    """Questions whose answer or one of whose verdicts failed."""
    new_spend: Decimal | None = Decimal(0)
    calls: int = 0
    state: str = ""
    """How it ended; empty while it is under way."""
    pace: Pace = field(default_factory=Pace)

    @property
    def left(self) -> int:
        return 0 if self.state else self.total - self.done


def table(jobs: Sequence[JobProgress], whole: str, width: int, height: int) -> RenderableType:
    """What is on the screen now; ``whole``: the line about all jobs together."""
    from rich import box
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    shown, rest = _shown(jobs, max(1, height - LINES_AROUND))
    columns = _columns(width)
    drawn = Table(box=box.SIMPLE_HEAD, padding=(0, 2, 0, 0), pad_edge=False, show_edge=False)
    drawn.add_column("job", no_wrap=True, overflow="ellipsis", min_width=LEAST_NAME)
    for column in columns:
        drawn.add_column(column, no_wrap=True, justify="right")
    for job in shown:
        cells = _cells(job)
        name = Text(plain(job.name, single_line=True), style="dim" if job.state else "bold")
        drawn.add_row(name, *(cells[column] for column in columns))
    return Group(drawn, *([Text(rest, style="dim")] if rest else []), Text(whole))


def _columns(width: int) -> tuple[str, ...]:
    if width < NARROW:
        return ("done", "failed")
    if width < MIDDLE:
        return ("done", "scored", "failed", "time left")
    return ("done", "scored", "failed", "new spend", "time left")


def _cells(job: JobProgress) -> dict[str, str]:
    left = job.state or time_left(job.pace.seconds_left(job.left))
    return {
        "done": f"{job.done}/{job.total}",
        "scored": str(job.scored),
        "failed": str(job.failed or ""),
        "new spend": dollars(job.new_spend),
        "time left": left,
    }


def _shown(jobs: Sequence[JobProgress], most: int) -> tuple[Sequence[JobProgress], str]:
    """The jobs that are shown, in their order, and a word about the rest: those that are under way come first."""
    if len(jobs) <= most:
        return jobs, ""
    chosen = sorted(jobs, key=lambda job: (bool(job.state), not job.done))[: most - 1]
    names = {id(job) for job in chosen}
    hidden = [job for job in jobs if id(job) not in names]
    ended = sum(bool(job.state) for job in hidden)
    words = [f"{ended} ended"] if ended else []
    words += [f"{len(hidden) - ended} under way"] if len(hidden) > ended else []
    return [job for job in jobs if id(job) in names], f"and {len(hidden)} more jobs: {', '.join(words)}"
