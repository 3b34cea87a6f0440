"""Tells a person how far a download is: a bar on a terminal, a line every tenth elsewhere."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from types import TracebackType
from typing import TYPE_CHECKING

from runner.calls.embedded.listing import ModelFile, in_words

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID


@dataclass(frozen=True, slots=True)
class PullStep:
    """What ``pull`` reports."""

    model: ModelFile
    done: int
    """Bytes so far."""
    message: str = ""
    """Something new to say, in a sentence; empty where only the bytes moved on."""


Report = Callable[[PullStep], None]


class TerminalProgress:
    """Reports on standard error, so that standard output stays what the command was asked for."""

    def __init__(self) -> None:
        self._bar: Progress | None = None
        self._task: TaskID | None = None
        self._tenth = 0

    def __enter__(self) -> TerminalProgress:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.stop()

    def __call__(self, step: PullStep) -> None:
        if sys.stderr.isatty():
            self._draw(step)
        else:
            self._write(step)

    def _draw(self, step: PullStep) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

        if self._bar is None:
            columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TimeRemainingColumn())
            self._bar = Progress(*columns, console=Console(stderr=True), transient=True)
            self._task = self._bar.add_task(step.model.name, total=step.model.size)
            self._bar.start()
        if step.message:
            self._bar.console.print(step.message, markup=False, highlight=False)
        if self._task is not None:
            self._bar.update(self._task, completed=step.done)

    def _write(self, step: PullStep) -> None:
        if step.message:
            print(step.message, file=sys.stderr, flush=True)
        tenth = step.done * 10 // step.model.size
        if tenth > self._tenth:
            self._tenth = tenth
            size = f"{in_words(step.done)} of {in_words(step.model.size)}"
            print(f"{step.model.name}: {size} ({tenth * 10} %)", file=sys.stderr, flush=True)
