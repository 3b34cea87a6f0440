"""What the gates of a launch come to: one check a line, each with one of three words and a sentence."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class GateWord(StrEnum):
    """How one check ended."""

    PASSED = "passed"
    FAILED = "failed"
    UNDECIDED = "undecided"
    """The data cannot say it: too few questions, or no number."""


@dataclass(frozen=True, slots=True)
class GateCheck:
    """One gate on one job."""

    job: str
    job_key: str
    gate: str
    """What was asked for, such as ``grounding/mean at least 4``."""
    word: GateWord
    sentence: str
    value: float | None = None
    """The number that was looked at; ``None`` where there is none."""
    limit: float | None = None


@dataclass(frozen=True, slots=True)
class GateReport:
    """All gates on all jobs of a launch."""

    checks: tuple[GateCheck, ...]
    undecided_passes: bool = False
    """``gate.undecided=pass``: a check that cannot be decided does not fail the launch."""

    @property
    def stopping(self) -> tuple[GateCheck, ...]:
        """The checks that make the launch fail, those that failed before those that are undecided."""
        failed = [check for check in self.checks if check.word is GateWord.FAILED]
        undecided = [check for check in self.checks if check.word is GateWord.UNDECIDED]
        return (*failed, *([] if self.undecided_passes else undecided))

    @property
    def passed(self) -> bool:
        """Whether nothing stands against it."""
        return not self.stopping

    @property
    def sentence(self) -> str:
        """The outcome in one sentence: the first gate that stands against it, or that there is none."""
        stopping = self.stopping
        undecided = [check for check in self.checks if check.word is GateWord.UNDECIDED]
        if stopping:
            more = f" ({len(stopping) - 1} more: see gate.md)" if len(stopping) > 1 else ""
            cannot = stopping[0].word is GateWord.UNDECIDED
            return f"gate {'cannot be decided' if cannot else 'failed'}: {stopping[0].sentence}{more}"
        count = f"{len(self.checks)} check{'' if len(self.checks) == 1 else 's'}"
        if undecided:
            return (
                f"gate passed, although {len(undecided)} of {count} cannot be decided (gate.undecided=pass): "
                f"{undecided[0].sentence}"
            )
        return f"gate passed: {count}"
