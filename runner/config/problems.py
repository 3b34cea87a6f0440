"""Lists of problems: each said once, in the order in which they were met."""

from __future__ import annotations

from collections.abc import Iterable

from runner.errors import Problem


def merged(problems: Iterable[Problem]) -> tuple[Problem, ...]:
    """The problems without repetitions; several jobs of a sweep share most of what is wrong."""
    return tuple(dict.fromkeys(problems))
