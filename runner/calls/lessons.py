"""What models were seen to take and to refuse, kept in the home for later runs: a file that anybody may read or delete.

Forgetting an entry costs one refused (and unpaid) request, so that nothing here ever stops a run.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pydantic import TypeAdapter

__all__ = ["CALL", "PROBE", "Lesson", "Lessons"]

FILE_NAME = "capabilities.json"
CALL, PROBE = "a named refusal", "doctor --probe"
VALID = timedelta(days=30)
"""A lesson that is older is not believed: providers change what a model takes without changing its name."""
LOCK_TIMEOUT_S = 2.0


@dataclass(frozen=True, slots=True)
class Lesson:
    """One model on one server."""

    provider: str
    server: str
    """The base URL."""
    model: str
    refuses: tuple[str, ...] = ()
    """Parameters by their names on the wire, such as ``temperature`` or ``max_tokens``."""
    takes: tuple[str, ...] = ()
    """Parameters that it was seen to take; only a probe knows."""
    found: dict[str, str] = field(default_factory=dict)
    """What a probe saw, in words: ``schema`` → ``followed``, ``dimension`` → ``1536``."""
    learned_at: str = ""
    """UTC, ISO 8601."""
    learned_from: str = CALL

    @property
    def key(self) -> tuple[str, str, str]:
        return (self.provider, self.model, self.server)

    @property
    def valid(self) -> bool:
        """Whether it is new enough to be believed."""
        try:
            return datetime.now(UTC) - datetime.fromisoformat(self.learned_at) < VALID
        except (ValueError, TypeError):
            return False


_Entries = dict[tuple[str, str, str], Lesson]


class Lessons:
    """The file in the home, written as a whole under a lock, so that processes do not lose each other's entries."""

    def __init__(self, home: Path) -> None:
        self.path = home / FILE_NAME

    def read(self) -> dict[tuple[str, str, str], Lesson]:
        """Every entry that is still valid, by (provider, model, server); empty where there is no legible file."""
        return {lesson.key: lesson for lesson in self._all() if lesson.valid}

    def learn(self, provider: str, model: str, server: str, refuses: Iterable[str]) -> None:
        """Note what a model refuses; what a probe found about it beside that stays."""
        named = tuple(sorted(refuses))

        def edit(entries: _Entries) -> None:
            known = entries.get((provider, model, server))
            before = known if known is not None and known.valid else Lesson(provider, server, model)
            takes = tuple(name for name in before.takes if name not in named)
            new = replace(before, refuses=named, takes=takes, found={}, learned_at=_now(), learned_from=CALL)
            entries[new.key] = new

        self._change(edit)

    def write(self, lesson: Lesson) -> bool:
        """Put an entry in the place of what was known about this model; whether that could be written."""

        def edit(entries: _Entries) -> None:
            entries[lesson.key] = replace(lesson, learned_at=_now())

        return self._change(edit)

    def forget(self, provider: str, model: str, server: str) -> None:
        """Take out what is known about a model, so that it is asked with everything again."""

        def edit(entries: _Entries) -> None:
            entries.pop((provider, model, server), None)

        if self.path.is_file():
            self._change(edit)

    def _all(self) -> Sequence[Lesson]:
        try:
            found: list[Lesson] = _adapter().validate_json(self.path.read_bytes())
            return found
        except (OSError, ValueError):
            return ()

    def _change(self, edit: Callable[[_Entries], None]) -> bool:
        from filelock import FileLock, Timeout

        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with FileLock(self.path.with_suffix(".lock"), timeout=LOCK_TIMEOUT_S):
                entries = {lesson.key: lesson for lesson in self._all()}
                edit(entries)
                kept = _adapter().dump_python(sorted(entries.values(), key=lambda one: one.key), mode="json")
                temporary = self.path.with_suffix(".tmp")
                temporary.write_text(json.dumps(kept, ensure_ascii=False, indent=2) + "\n", encoding="utf-8")
                temporary.replace(self.path)
        except (OSError, Timeout):
            return False
        return True


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


@functools.cache
def _adapter() -> TypeAdapter[list[Lesson]]:
    from pydantic import TypeAdapter

    return TypeAdapter(list[Lesson])
