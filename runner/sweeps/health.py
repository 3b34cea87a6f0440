"""One line of the doctor: a word, what was looked at, what was found, and what to do about it."""

from __future__ import annotations

from dataclasses import dataclass

from runner.report.text import plain


@dataclass(frozen=True, slots=True)
class Finding:
    """What one look came to."""

    word: str
    """``ok``, ``warn`` or ``fail``."""
    what: str
    found: str
    remedy: str = ""

    def line(self) -> str:
        """The finding in one line that is safe for a terminal."""
        remedy = f"; {self.remedy}" if self.remedy else ""
        return plain(f"{self.word.ljust(4)}  {self.what}: {self.found}{remedy}", single_line=True)


def ok(what: str, found: str) -> Finding:
    """All is well."""
    return Finding("ok", what, found)


def warn(what: str, found: str, remedy: str = "") -> Finding:
    """It may be well, or is well enough for some."""
    return Finding("warn", what, found, remedy)


def fail(what: str, found: str, remedy: str = "") -> Finding:
    """A run of this configuration would not get through."""
    return Finding("fail", what, found, remedy)
