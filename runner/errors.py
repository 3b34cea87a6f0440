"""The one exception tree: every error a user can cause or meet, each with a remedy in its message."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum


class ExitCode(IntEnum):
    """What the process tells the shell. Where several apply, the order is 130, 1, 5, 3, 4."""

    DONE = 0
    BAD_CONFIGURATION = 1
    INCOMPLETE = 3
    GATE_FAILED = 4
    BUDGET_REACHED = 5
    INTERRUPTED = 130


class RunnerError(Exception):
    """Base of all errors that are shown to the user as sentences, without a traceback."""

    exit_code: ExitCode = ExitCode.INCOMPLETE


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that is wrong with a configuration or an input file."""

    where: str
    """File, key or row, as the user would look for it: ``questions.path``, ``faq.csv row 12``."""
    what: str
    """What is wrong, in a sentence without a final full stop."""
    remedy: str = ""
    """What to do about it; may be empty where ``what`` says it already."""

    def __str__(self) -> str:
        remedy = f"; {self.remedy}" if self.remedy else ""
        return f"{self.where}: {self.what}{remedy}"


class ConfigurationError(RunnerError):
    """Configuration, usage or input data is wrong; raised before anything is paid. Lists every problem."""

    exit_code = ExitCode.BAD_CONFIGURATION

    def __init__(self, problems: Sequence[Problem] | str) -> None:
        if isinstance(problems, str):
            self.problems: tuple[Problem, ...] = ()
            message = problems
        else:
            self.problems = tuple(problems)
            head = "1 problem" if len(self.problems) == 1 else f"{len(self.problems)} problems"
            message = "\n".join([f"{head}, nothing was paid:", *(f"  - {problem}" for problem in self.problems)])
        super().__init__(message)


class SweepStopped(RunnerError):
    """The provider refuses all further calls (no quota, 401, 403): the whole sweep ends, what is paid is kept."""


class JobStopped(RunnerError):
    """This job cannot go on (for example an unknown model); other jobs can."""


class NotInLedger(RunnerError):
    """A call that may not be made now (``plan``, offline replay) and that the ledger does not hold."""


class BudgetReached(RunnerError):
    """The next call might exceed ``budget.max_usd``; it was not made."""

    exit_code = ExitCode.BUDGET_REACHED


class StorageError(RunnerError):
    """The ledger, the journal or the home cannot be written (full disk, no permission)."""


class TrackingUnavailable(RunnerError):
    """The tracking store does not answer at the start; raised before anything is paid."""

    exit_code = ExitCode.BAD_CONFIGURATION


class Interrupted(RunnerError):
    """The user pressed Ctrl-C; what is finished is kept."""

    exit_code = ExitCode.INTERRUPTED
