"""Delivers operations in order: to the store while it answers, to the spool once it is lost."""

from __future__ import annotations

import logging
import time
import uuid
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from runner.tracking.sink import Sink
from runner.tracking.spool import PLACEHOLDER, Spool
from runner.tracking.store import OpenStore, first_line

Operation = dict[str, Any]
RETRY_PAUSES_S = (0.2, 1.0, 3.0)
"""Waits before an operation is tried again; a busy SQLite file has had its own twenty seconds by then."""
MAX_PROBLEMS = 20
_NO_RETRY = {"INVALID_PARAMETER_VALUE", "RESOURCE_DOES_NOT_EXIST", "RESOURCE_ALREADY_EXISTS", "BAD_REQUEST"}
"""MLflow's codes for what no retry mends."""

logger = logging.getLogger(__name__)


class Delivery:
    """One place through which every operation of a launch goes, in order."""

    def __init__(self, store: OpenStore, sink: Sink, spool: Spool) -> None:
        self._store = store
        self._sink = sink
        self._spool = spool
        self._problems: list[str] = []
        self._lost = False
        self.traces_written = 0

    @property
    def spooling(self) -> bool:
        """Whether the store was lost; then everything after it waits on disk, so that the order stays."""
        return self._lost

    @property
    def spooled(self) -> int:
        return self._spool.count

    @property
    def problems(self) -> tuple[str, ...]:
        return tuple(self._problems)

    def deliver(self, operation: Operation) -> Any:
        """Do it or spool it. Returns the run id for ``create_run`` (a placeholder where spooled)."""
        if operation["op"] == "create_run":
            operation = {**operation, "placeholder": PLACEHOLDER + uuid.uuid4().hex}
        if not self.spooling:
            done, made = self._try(operation)
            if done:
                return made
        self._keep(operation)
        return operation.get("placeholder")

    def deliver_all(self, operations: Iterable[Operation]) -> None:
        for operation in operations:
            self.deliver(operation)

    def deliver_traces(self, drafts: Sequence[dict[str, Any]], between: Callable[[], None] = lambda: None) -> None:
        """Write traces. Where a chunk fails, one by one: one bad record must not take the others with it."""
        if not drafts:
            return
        if not self.spooling:
            try:
                self._sink.write_traces(drafts, between)
            except Exception as problem:
                logger.warning("a chunk of %d traces failed: %s", len(drafts), problem)
            else:
                self.traces_written += len(drafts)
                return
        for draft in drafts:
            self.deliver({"op": "traces", "drafts": [draft]})

    def note(self, problem: str) -> None:
        """Keep a sentence for the report; the first ``MAX_PROBLEMS`` of them."""
        logger.warning("%s", problem)
        if len(self._problems) < MAX_PROBLEMS and problem not in self._problems:
            self._problems.append(problem)

    def release(self) -> None:
        """Nothing more will come."""
        self._spool.release()

    def _try(self, operation: Operation) -> tuple[bool, Any]:
        """(whether it is over with, what it made)."""
        for pause in (*RETRY_PAUSES_S, None):
            try:
                made = self._sink.apply(operation)
            except Exception as problem:
                logger.warning("%s failed", operation["op"], exc_info=True)
                if is_hopeless(problem):
                    self.note(f"MLflow refused {name_of(operation)}: {first_line(problem)}")
                    return True, operation.get("placeholder")
                last = problem
            else:
                if operation["op"] == "traces":
                    self.traces_written += len(operation["drafts"])
                return True, made
            if pause is None or not self._store.is_alive():
                break
            time.sleep(pause)
        self._lost = True
        self.note(
            f"the tracking store was lost while writing {name_of(operation)} ({first_line(last)}); what came after "
            "waits in the home: `runner report --sync` writes it when the store is back"
        )
        return False, None

    def _keep(self, operation: Operation) -> None:
        try:
            self._spool.append(operation)
        except OSError as problem:
            self.note(f"{name_of(operation)} could be written neither to MLflow nor to the spool: {problem}")


def is_hopeless(problem: Exception) -> bool:
    """Whether trying again cannot help: the store refuses it, or a file to copy is gone."""
    return getattr(problem, "error_code", "") in _NO_RETRY or isinstance(problem, FileNotFoundError)


def name_of(operation: Operation) -> str:
    """What an operation writes, as it is said to the user."""
    if operation["op"] == "traces":
        return f"the trace of question {operation['drafts'][0]['question_id']}"
    if operation["op"] in {"text", "file"}:
        return f"the artifact {Path(operation['path']).as_posix()}"
    return f"{operation['op'].replace('_', ' ')} of run {operation.get('run') or operation.get('name')}"
