"""What other rooms see of tracking: the protocol, what is handed to it, and the tracker that does nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from runner.records import Record, RunResult, RunStatus, RunSummary


@dataclass(frozen=True, slots=True)
class RubricText:
    """One rubric (or prompt) as it goes to the prompt registry: one registry version per distinct text."""

    id: str
    version: int
    """The user's own version, which the registry shows too wherever it can."""
    text: str
    """Everything that the model is told: instructions and anchors."""
    source: str = ""
    """The file it came from, shown as the commit message."""
    hash: str = ""
    """Our own hash of the rubric, shown beside the version; empty: none."""
    kind: str = "rubric"
    """rubric | prompt: the first part of the name in the registry."""
    earlier: tuple[RubricText, ...] = ()
    """The versions before it that are known, so that the registry can count as the user does."""


class DataSet(NamedTuple):
    """A question set or a knowledge base, as it is named on the run."""

    name: str
    digest: str
    """Our own digest of the bytes; the first 36 characters are stored."""
    size: int
    """Questions, or documents."""


@dataclass(frozen=True, slots=True)
class TrackingReport:
    """What the writer has to say at the end."""

    traces_written: int = 0
    traces_rewritten: int = 0
    """Missing when they were counted at the end of a run, and written again."""
    spooled: int = 0
    """Operations that wait on disk for ``runner report --sync``."""
    writer_cpu_s: float = 0.0
    """CPU seconds of the writer's process, its start included."""
    problems: tuple[str, ...] = ()
    """One sentence each: what could not be written."""


class Tracker(Protocol):
    """Where runs go to be looked at. Never what resume relies on; no method raises for a store that is lost later."""

    def start_sweep(
        self, name: str, sweep_id: str, tags: Mapping[str, str], artifacts: Mapping[str, str | Path]
    ) -> str:
        """Create the parent run and return its id.

        Raises:
            TrackingUnavailable: the store does not answer; nothing was paid yet.
        """
        ...

    def start_run(  # noqa: PLR0917
        self,
        parent: str,
        name: str,
        job_key: str,
        choices: Mapping[str, Any],
        overrides: Sequence[str],
        artifacts: Mapping[str, str | Path],
        rubrics: Mapping[str, RubricText],
        question_set: DataSet | tuple[str, str, int],
        knowledge_base: DataSet | tuple[str, str, int] | None = None,
        prompt: RubricText | None = None,
    ) -> str:
        """Create a nested run and return its id. ``artifacts``: path in the run → text, or the file to copy."""
        ...

    def log_record(self, run_id: str, record: Record) -> None:
        """Hand over one finished question; returns at once."""
        ...

    def finish_run(self, run_id: str, result: RunResult, summary: RunSummary, files: Mapping[str, str | Path]) -> None:
        """Hand over the means and the files and close the run; returns at once, ``close`` waits for it."""
        ...

    def finish_sweep(
        self, parent: str, status: RunStatus, metrics: Mapping[str, float], artifacts: Mapping[str, str | Path]
    ) -> None:
        """Close the parent run; returns at once. ``metrics``: figures of the whole sweep, shown as tags."""
        ...

    def mark_again(self, parent: str, name: str, first: str) -> None:
        """Say on the runs page that this sweep is the one of the parent run ``first`` again, with nothing new."""
        ...

    def hand_over(self, parent: str) -> None:
        """Another process goes on with this parent run: ``close`` must not end it."""
        ...

    def close(self) -> TrackingReport:
        """Wait until everything is written (or spooled) and say what is not. May be called twice."""
        ...


class NullTracker:
    """``tracking=none``: keeps nothing, so that nobody has to ask whether there is a tracker."""

    def start_sweep(
        self, name: str, sweep_id: str, tags: Mapping[str, str], artifacts: Mapping[str, str | Path]
    ) -> str:
        return ""

    def start_run(  # noqa: PLR0917
        self,
        parent: str,
        name: str,
        job_key: str,
        choices: Mapping[str, Any],
        overrides: Sequence[str],
        artifacts: Mapping[str, str | Path],
        rubrics: Mapping[str, RubricText],
        question_set: DataSet | tuple[str, str, int],
        knowledge_base: DataSet | tuple[str, str, int] | None = None,
        prompt: RubricText | None = None,
    ) -> str:
        return ""

    def log_record(self, run_id: str, record: Record) -> None:
        """Nothing is kept."""

    def finish_run(self, run_id: str, result: RunResult, summary: RunSummary, files: Mapping[str, str | Path]) -> None:
        """Nothing is kept."""

    def finish_sweep(
        self, parent: str, status: RunStatus, metrics: Mapping[str, float], artifacts: Mapping[str, str | Path]
    ) -> None:
        """Nothing is kept."""

    def mark_again(self, parent: str, name: str, first: str) -> None:
        """Nothing is kept."""

    def hand_over(self, parent: str) -> None:
        """Nothing is kept."""

    def close(self) -> TrackingReport:
        return TrackingReport()
