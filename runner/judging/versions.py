"""One text to one version: a rubric whose text changed under results it already has is refused, with the diff."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from typing import TYPE_CHECKING

from runner.config.schema import Rubric
from runner.errors import ConfigurationError, Problem
from runner.judging.rubrics import rubric_name, rubric_text

if TYPE_CHECKING:
    from runner.calls import Door

KIND = "rubric"
_MOST_LINES = 24


def check_versions(rubrics: Iterable[tuple[str, Rubric]], door: Door, *, allow_edit: bool) -> None:
    """Notes the text of every rubric version in the ledger; call it before the first judge is asked.

    ``rubrics``: (judge, rubric) of all jobs of the launch. With ``allow_edit`` the new text takes the old one's
    place. Raises ConfigurationError, which shows what changed, for each version that had another text.
    """
    problems: dict[str, Problem] = {}
    noted: dict[tuple[str, int], str] = {}
    for judge, rubric in rubrics:
        text = rubric_text(rubric)
        place = (rubric.id, rubric.version)
        if place in noted:
            changed = noted[place] != text  # two texts in one launch: allowing edits does not say which one is meant
            before: str | None = noted[place]
        else:
            before = door.remember_text(KIND, rubric.id, str(rubric.version), text, replace=allow_edit)
            changed = before is not None and not allow_edit
            noted[place] = text
        if changed and before is not None:
            problems.setdefault(rubric_name(rubric), _problem(judge, rubric, before, text, _next(rubric, door, noted)))
    if problems:
        raise ConfigurationError(list(problems.values()))


def difference(before: str, after: str) -> str:
    """The changed lines as a diff, shortened where there are many."""
    lines = [
        line
        for line in difflib.unified_diff(before.splitlines(), after.splitlines(), lineterm="", n=0)
        if not line.startswith(("---", "+++", "@@"))
    ]
    shown = lines[:_MOST_LINES] + (
        [f"... and {len(lines) - _MOST_LINES} lines more"] if len(lines) > _MOST_LINES else []
    )
    return "\n".join(f"      {line}" for line in shown)


def _next(rubric: Rubric, door: Door, noted: Iterable[tuple[str, int]]) -> int:
    """A version above all that have a text, so that the remedy is not refused in its turn."""
    known = {int(version) for version in door.text_versions(KIND, rubric.id) if version.isdecimal()}
    launched = {version for name, version in noted if name == rubric.id}
    return max(known | launched | {rubric.version}) + 1


def _problem(judge: str, rubric: Rubric, before: str, after: str, free: int) -> Problem:
    return Problem(
        f"judges.{judge}.rubric",
        f"{rubric_name(rubric)} has results under another text:\n{difference(before, after)}\n     ",
        f"give the new text version: {free}, or say allow_rubric_edit=true",
    )
