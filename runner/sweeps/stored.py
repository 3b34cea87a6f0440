"""Reads finished runs back from the home, by job key, run name, output folder or sweep."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from runner.errors import ConfigurationError
from runner.evaluation import judge_status
from runner.journal import Journal, replayed
from runner.records import RunResult

LEAST_PREFIX = 4
"""Characters of an id or a key that are enough to look for it."""


def stored_keys(home: Path) -> tuple[str, ...]:
    """The keys of all jobs that have a journal, newest first."""
    folder = home / "jobs"
    found = [path.parent for path in folder.glob("*/job.json")] if folder.is_dir() else []
    found.sort(key=lambda path: path.stat().st_mtime, reverse=True)
    return tuple(path.name for path in found)


def load_job(home: Path, key: str, *, since: str = "") -> RunResult:
    """One stored run; its calls count as taken from the ledger. Raises ConfigurationError where there is none.

    ``since``: what was finished from this moment on (UTC, ISO 8601) counts as made now.
    """
    path = home / "jobs" / key / "job.json"
    try:
        description: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise ConfigurationError(f"{path.parent}: no stored run of this key; `runner report` lists them") from None
    records = tuple(
        record if since and record.finished_at >= since else replayed(record)
        for record in Journal(home, key).load().values()
    )
    status, reason = judge_status(records, int(description.get("questions") or len(records)))
    return RunResult(
        job_key=key,
        name=str(description["name"]),
        status=status,
        reason=reason,
        choices=description["choices"],
        records=records,
        started_at=min((record.finished_at for record in records), default=""),
        finished_at=max((record.finished_at for record in records), default=""),
        overrides=tuple(description["overrides"]),
        resumed=len(records),
    )


def stored_sweeps(home: Path) -> list[dict[str, Any]]:
    """The definitions of all sweeps of a home, newest first."""
    found = [json.loads(path.read_text(encoding="utf-8")) for path in (home / "sweeps").glob("*.json")]
    return sorted(found, key=lambda sweep: str(sweep["started_at"]), reverse=True)


def sweep_called(home: Path, name: str) -> dict[str, Any] | None:
    """The sweep of this id, the newest of this name, or the only one whose id begins so."""
    found = stored_sweeps(home)
    named = [sweep for sweep in found if name in (sweep["id"], sweep["name"])]
    beginning = [sweep for sweep in found if len(name) >= LEAST_PREFIX and str(sweep["id"]).startswith(name)]
    if named:
        return named[0]
    return beginning[0] if len(beginning) == 1 else None


def load(home: Path, name: str) -> tuple[RunResult, ...]:
    """The stored runs that a user means by a name.

    ``name`` is a sweep's id or its name (the newest of that name), a job key, a run's name, or the beginning of an id
    or a key.
    Raises ConfigurationError where nothing or more than one thing fits.
    """
    sweep = sweep_called(home, name)
    if sweep is not None:
        return tuple(load_job(home, job["key"]) for job in sweep["jobs"])
    keys = stored_keys(home)
    beginning = [key for key in keys if len(name) >= LEAST_PREFIX and key.startswith(name)]
    if len(beginning) > 1:
        raise ConfigurationError(f"{name}: {len(beginning)} stored runs begin with this; give more of the key")
    if beginning:
        return (load_job(home, beginning[0]),)
    for key in keys:
        if json.loads((home / "jobs" / key / "job.json").read_text(encoding="utf-8"))["name"] == name:
            return (load_job(home, key),)
    raise ConfigurationError(
        f"{name}: no stored run or sweep of this name in {home}; `runner report` lists what there is"
    )
