"""Reads finished runs back: by sweep, job key or name from the home, else by what the tracking store calls them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from runner.errors import ConfigurationError, TrackingUnavailable
from runner.evaluation import judge_status
from runner.journal import Journal, replayed
from runner.records import RunResult, RunStatus
from runner.sweeps.keeping import KeptRun, KeptSweep, kept_end, read_sweep, with_end

LEAST_PREFIX = 4
"""Characters of an id or a key that are enough to look for it."""
TAG = "tag:"
_LISTED = 6


def stored_keys(home: Path) -> tuple[str, ...]:
    """The keys of all jobs that have a journal, newest first."""
    folder = home / "jobs"
    found = [path.parent for path in folder.glob("*/job.json")] if folder.is_dir() else []
    found.sort(key=lambda path: path.stat().st_mtime, reverse=True)
    return tuple(path.name for path in found)


def load_job(home: Path, key: str, *, made: tuple[str, str] | None = None, kept: KeptRun | None = None) -> RunResult:
    """One stored run; its calls count as taken from the ledger. Raises ConfigurationError where there is none.

    Parameters
    ----------
    made
        What was finished between these two moments (UTC, ISO 8601; an empty second one is now) counts as made then.
    kept
        How the run ended in the launch that is meant; else how it ended last.
    """
    path = home / "jobs" / key / "job.json"
    try:
        description: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise ConfigurationError(f"{path.parent}: no stored run of this key; `runner report` lists them") from None
    found = Journal(home, key).load()
    asked = [identifier for identifier in description.get("question_ids") or () if identifier in found]
    records = tuple(
        record if made and _within(record.finished_at, made) else replayed(record)
        for record in (found[identifier] for identifier in asked or found)
    )
    latest = max((record.finished_at for record in records), default="")
    run = RunResult(
        job_key=key,
        name=str(description["name"]),
        status=RunStatus.COMPLETE,
        reason="",
        choices=description["choices"],
        records=records,
        started_at=min((record.finished_at for record in records), default=""),
        finished_at=latest,
        overrides=tuple(description["overrides"]),
        resumed=len(records),
    )
    end = kept if kept is not None and kept.finished_at else kept_end(description)
    if end is not None:
        run = with_end(run, end, paid=made is not None and _within(end.finished_at, made))
    if end is None or latest > end.finished_at:
        # It was killed, or another launch went on from there: the records say more than the end that is kept.
        status, reason = judge_status(records, int(description.get("questions") or len(records)))
        run = replace(run, status=status, reason=reason)
    return run


def _within(moment: str, made: tuple[str, str]) -> bool:
    first, last = made
    return first <= moment and (not last or moment <= last)


def sweep_runs(home: Path, sweep: KeptSweep, *, paid: bool) -> tuple[RunResult, ...]:
    """The runs of a stored sweep, under the names that they have in it.

    ``paid``: what the launch paid counts as paid; otherwise every call counts as taken from the ledger.
    """
    made = (sweep.started_at, sweep.finished_at) if paid else None
    return tuple(replace(load_job(home, job.key, made=made, kept=job), name=job.name) for job in sweep.jobs)


def stored_sweeps(home: Path) -> list[dict[str, Any]]:
    """The definitions of all sweeps of a home, newest first."""
    found = [json.loads(path.read_text(encoding="utf-8")) for path in (home / "sweeps").glob("*.json")]
    return sorted(found, key=lambda sweep: str(sweep["started_at"]), reverse=True)


def sweep_called(home: Path, name: str, *, before: str = "") -> dict[str, Any] | None:
    """The sweep of this id, the newest of this name, or the only one whose id begins so.

    ``before``: by name only those that began before this moment (UTC, ISO 8601).
    """
    found = stored_sweeps(home)
    named = [
        sweep for sweep in found
        if name == sweep["id"] or (name == sweep["name"] and (not before or str(sweep["started_at"]) < before))
    ]  # fmt: skip
    beginning = [sweep for sweep in found if len(name) >= LEAST_PREFIX and str(sweep["id"]).startswith(name)]
    if named:
        return named[0]
    return beginning[0] if len(beginning) == 1 else None


def load(home: Path, name: str, *, uri: str | None = None, before: str = "") -> tuple[RunResult, ...]:
    """The stored runs that a user means by a name.

    ``name`` is a sweep's id or its name (the newest of that name), a job key, a run's name (the newest), or the
    beginning of an id or a key; else what the tracking store knows: an MLflow run id of a job or a sweep,
    ``tag:NAME:VALUE``, or a run's name (the newest launch). A run of the store that is not in the home is read from its
    artifacts. ``uri``: the tracking store, see ``from_store``. ``before``: what "newest" means, if not newest of all
    (UTC, ISO 8601).
    Raises ConfigurationError where nothing fits, or several things do (it lists them), and TrackingUnavailable.
    """
    found = () if name.startswith(TAG) else _at_home(home, name, before)
    if not found:
        from runner.sweeps.tracked_runs import from_store

        try:
            found = from_store(home, name, uri, before=before)
        except TrackingUnavailable as error:
            raise TrackingUnavailable(f"{name}: no stored run or sweep of this name in {home}, and {error}") from error
    if not found:
        older = f" from before {before[:19]}, when these runs began: give its key" if before else ""
        raise ConfigurationError(
            f"{name}: no stored run or sweep of this name or tag in {home}{f' or {uri}' if uri else ''}{older}; "
            "`runner report` lists what there is"
        )
    return found


def load_one(home: Path, name: str, *, uri: str | None = None, before: str = "") -> RunResult:
    """The one stored run that ``load`` finds. Raises ConfigurationError, with all of them, where there are several."""
    found = load(home, name, uri=uri, before=before)
    if len(found) != 1:
        raise ConfigurationError(f"{name} is a sweep of {len(found)} runs: {_listed(found)}; name one by its key")
    return found[0]


def _at_home(home: Path, name: str, before: str) -> tuple[RunResult, ...]:
    sweep = sweep_called(home, name, before=before)
    if sweep is not None:
        return sweep_runs(home, read_sweep(sweep), paid=False)
    keys = stored_keys(home)
    if len(name) >= LEAST_PREFIX:
        sweeps = [sweep["id"] for sweep in stored_sweeps(home) if str(sweep["id"]).startswith(name)]
        fitting = [key for key in keys if key.startswith(name)]
        if len(sweeps) + len(fitting) > 1:
            listed = _listed([load_job(home, key) for key in fitting[:_LISTED]])
            listed = ", ".join(filter(None, [*(f"sweep {sweep}" for sweep in sweeps[:_LISTED]), listed]))
            raise ConfigurationError(f"{name}: {len(sweeps) + len(fitting)} begin with this: {listed}; give more of it")
        if fitting:
            return (load_job(home, fitting[0]),)
    for key in keys:
        if json.loads((home / "jobs" / key / "job.json").read_text(encoding="utf-8"))["name"] == name:
            run = load_job(home, key)
            if not before or run.started_at < before:
                return (run,)
    return ()


def _listed(runs: Sequence[RunResult]) -> str:
    return ", ".join(f"{run.name} ({run.job_key[:12]})" for run in runs)
