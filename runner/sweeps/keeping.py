"""Keeps beside the journals what of a launch stands in no record: its plan, controls, index calls, how it ended.

A sweep's file is ``<home>/sweeps/<id>.json``; each job's ``job.json`` holds its last end under ``ended``. Files of
older versions lack fields and are read with their defaults; what a newer version adds is passed over.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from runner.journal import replayed_calls
from runner.records import Call, ControlRow, RunResult, RunStatus, SweepResult
from runner.sweeps.plan_totals import JobPlan

if TYPE_CHECKING:
    from pydantic import TypeAdapter

VERSION = 2
"""Of a sweep's file. The first one, without a number, held the jobs' keys, names and statuses."""

IN_HOME = "the home"
"""What stands for the local store's address in ``KeptSweep.tracking_store``."""


@dataclass(frozen=True, slots=True)
class KeptRun:
    """How one run ended, and its calls and controls that are in no record."""

    key: str
    name: str
    status: RunStatus
    reason: str = ""
    started_at: str = ""
    finished_at: str = ""
    """Empty in files of the first version."""
    resumed: int = 0
    controls: tuple[ControlRow, ...] = ()
    control_calls: tuple[Call, ...] = ()
    index_calls: tuple[Call, ...] = ()
    unfinished_calls: tuple[Call, ...] = ()


@dataclass(frozen=True, slots=True)
class KeptSweep:
    """What a launch came to, without its records."""

    id: str
    name: str
    status: RunStatus
    started_at: str
    finished_at: str
    jobs: tuple[KeptRun, ...]
    version: int = 1
    duplicates: Mapping[str, str] = field(default_factory=dict)
    plan: JobPlan | None = None
    said: tuple[str, ...] = ()
    """What stopped it, and its notes."""
    commit: str = ""
    tracking_run: str = ""
    """Id of its parent run in the tracking store; empty without one."""
    tracking_store: str = ""
    """Which store that is: ``TrackedSweep.store``."""

    @property
    def tracking_uri(self) -> str | None:
        """The address of that store; ``None``: the local one of the home."""
        address = self.tracking_store.rpartition(" in ")[2]
        return None if address in ("", IN_HOME) else address


def kept_run(run: RunResult) -> KeptRun:
    """What of a run is kept."""
    return KeptRun(
        key=run.job_key,
        name=run.name,
        status=run.status,
        reason=run.reason,
        started_at=run.started_at,
        finished_at=run.finished_at,
        resumed=run.resumed,
        controls=run.controls,
        control_calls=run.control_calls,
        index_calls=run.index_calls,
        unfinished_calls=run.unfinished_calls,
    )


def with_end(run: RunResult, kept: KeptRun, *, paid: bool) -> RunResult:
    """The stored run with what is kept of its end; without ``paid`` its calls count as taken from the ledger."""
    calls: Callable[[tuple[Call, ...]], tuple[Call, ...]] = tuple if paid else replayed_calls
    return replace(
        run,
        status=kept.status,
        reason=kept.reason,
        started_at=kept.started_at,
        finished_at=kept.finished_at,
        resumed=kept.resumed,
        controls=kept.controls,
        control_calls=calls(kept.control_calls),
        index_calls=calls(kept.index_calls),
        unfinished_calls=calls(kept.unfinished_calls),
    )


def end_of(run: RunResult) -> dict[str, Any]:
    """The same as plain JSON values, for ``job.json``."""
    plain: dict[str, Any] = _run_adapter().dump_python(kept_run(run), mode="json", exclude_defaults=True)
    return plain


def kept_end(description: Mapping[str, Any]) -> KeptRun | None:
    """How the job of a ``job.json`` ended last; ``None`` where it is under way, was killed, or the file is older."""
    found = description.get("ended")
    return None if found is None else _run_adapter().validate_python(found)


def keep_sweep(
    home: Path,
    result: SweepResult,
    *,
    plan: JobPlan | None = None,
    said: tuple[str, ...] = (),
    commit: str = "",
    tracked: tuple[str, str] = ("", ""),
) -> str:
    """Writes the sweep's file; returns a sentence where that did not work, as the runs are kept without it.

    ``tracked``: the id of the parent run, and the tracking store that it is in.
    """
    kept = KeptSweep(
        id=result.id,
        name=result.name,
        status=result.status,
        started_at=result.started_at,
        finished_at=result.finished_at,
        jobs=tuple(map(kept_run, result.runs)),
        version=VERSION,
        duplicates=dict(result.duplicates),
        plan=plan,
        said=said,
        commit=commit,
        tracking_run=tracked[0],
        tracking_store=tracked[1],
    )
    content = _sweep_adapter().dump_python(kept, mode="json", exclude_defaults=True)
    path = home / "sweeps" / f"{result.id}.json"
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary = path.with_suffix(".tmp")
        text = json.dumps(content, ensure_ascii=False, indent=2)
        temporary.write_text(text, encoding="utf-8", errors="backslashreplace")
        temporary.replace(path)
    except OSError as error:
        return f"{path}: cannot be written ({error.strerror}); the runs themselves are kept"
    return ""


def read_sweep(content: Mapping[str, Any]) -> KeptSweep:
    """The sweep of a file's content."""
    return _sweep_adapter().validate_python(content)


@functools.cache
def _run_adapter() -> TypeAdapter[KeptRun]:
    from pydantic import TypeAdapter

    return TypeAdapter(KeptRun)


@functools.cache
def _sweep_adapter() -> TypeAdapter[KeptSweep]:
    from pydantic import TypeAdapter

    return TypeAdapter(KeptSweep)
