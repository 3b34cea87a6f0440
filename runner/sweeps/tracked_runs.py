"""Runs that are named as the tracking store knows them: from the home where it has them, else from the store itself."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from pathlib import Path

from runner.config.composition import compose_one
from runner.errors import ConfigurationError
from runner.journal import load_record, replayed
from runner.records import Record, RunResult, RunStatus
from runner.tracking.lookup import FoundRun, StoreReader


def from_store(home: Path, name: str, uri: str | None, *, before: str = "") -> tuple[RunResult, ...]:
    """The runs of an MLflow run id, ``tag:NAME:VALUE`` or run name; empty where the store has none.

    ``uri``: the tracking store; None: the one of the configuration without overrides, else that of the home.
    ``before``: what carries a tag or name counts only if it began before this moment (UTC, ISO 8601).
    Raises ConfigurationError and TrackingUnavailable.
    """
    store = StoreReader.open(uri or _configured(), home)
    if store is None:
        return ()
    return tuple(_run(home, store, found) for found in store.jobs(name, before_ms=_milliseconds(before)))


def parents_in_store(home: Path, name: str, uri: str | None) -> tuple[tuple[str, ...], str | None]:
    """The run ids of the sweeps that an MLflow run id, ``tag:NAME:VALUE`` or run name means, and their store.

    Parameters, defaults and errors are those of ``from_store``.
    """
    address = uri or _configured()
    store = StoreReader.open(address, home)
    found = store.jobs(name) if store is not None else []
    return tuple(dict.fromkeys(run.parent for run in found)), address


def _milliseconds(moment: str) -> int | None:
    return int(datetime.fromisoformat(moment).timestamp() * 1000) if moment else None


def _configured() -> str | None:
    """What a machine's or a project's own settings say."""
    try:
        return compose_one().config.tracking.uri
    except ConfigurationError:
        return None


def _run(home: Path, store: StoreReader, found: FoundRun) -> RunResult:
    from runner.sweeps.stored import load_job

    try:
        kept = load_job(home, found.job_key)
    except ConfigurationError:
        kept = None
    if kept is not None and kept.records:
        return replace(kept, name=found.name)
    records = _records(store, found)
    return RunResult(
        job_key=found.job_key,
        name=found.name,
        status=_status(found),
        reason=found.tags.get("runner.reason", ""),
        choices=found.choices,
        records=records,
        started_at=min((record.finished_at for record in records), default=""),
        finished_at=max((record.finished_at for record in records), default=""),
        resumed=len(records),
    )


def _records(store: StoreReader, found: FoundRun) -> tuple[Record, ...]:
    lines = store.records(found).split(b"\n")
    try:
        return tuple(replayed(load_record(line)) for line in lines if line)
    except ValueError as error:
        raise ConfigurationError(
            f"{found}: its records in {store.shown} are not as this version writes them; run it again"
        ) from error


def _status(found: FoundRun) -> RunStatus:
    try:
        return RunStatus(found.tags.get("runner.status", ""))
    except ValueError:
        return RunStatus.INCOMPLETE
