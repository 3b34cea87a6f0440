"""Says why a job is new although a similar one is stored: which settings or files differ from its nearest relative."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from runner.config import Job, choices

MOST_DIFFERENCES = 3
"""With more differences than this two jobs are not relatives."""
MOST_SENTENCES = 8


def novelties(jobs: Sequence[Job], home: Path) -> tuple[str, ...]:
    """One sentence for each job that has no results yet but a stored relative; nothing for all others."""
    stored = _stored(home)
    found = []
    for job in jobs:
        if job.key in stored:
            continue
        described = _described(choices(job.config), job.sources)
        distances = {key: _differences(old, described) for key, old in stored.items()}
        nearest = min(distances.items(), key=lambda item: len(item[1]), default=None)
        if nearest is not None and 0 < len(nearest[1]) <= MOST_DIFFERENCES:
            found.append(f"{job.name} is new: against stored job {nearest[0][:8]} {'; '.join(nearest[1])}")
    return tuple(found[:MOST_SENTENCES])


def _stored(home: Path) -> dict[str, dict[str, str]]:
    """Job key → its choices and the hashes of its files, of every job in the home that has results."""
    found: dict[str, dict[str, str]] = {}
    for path in (home / "jobs").glob("*/job.json"):
        if not (path.parent / "records.jsonl").is_file():
            continue
        try:
            description: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
            found[path.parent.name] = _described(description["choices"], description.get("sources", {}))
        except (OSError, ValueError, KeyError):
            continue
    return found


def _described(made: Mapping[str, Any], sources: Mapping[str, str]) -> dict[str, str]:
    files = {f"the content of {name}": digest for name, digest in sources.items()}
    return {**{name: str(value) for name, value in made.items()}, **files}


def _differences(old: Mapping[str, str], new: Mapping[str, str]) -> list[str]:
    names = [name for name in {**old, **new} if old.get(name) != new.get(name)]
    return [
        f"{name} differs"
        if name.startswith("the content of ")
        else f"{name} is {_shown(new, name)}, was {_shown(old, name)}"
        for name in names
    ]


def _shown(values: Mapping[str, str], name: str) -> str:
    return values.get(name, "not there")[:60]
