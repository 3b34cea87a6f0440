"""The writer's own process: takes messages from the launching process and writes them to MLflow in batches.

It survives its parent: when the pipe ends without a goodbye, what has arrived is written and open runs are killed.
"""

from __future__ import annotations

import gc
import logging
import os
import queue
import signal
import sys
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from runner.errors import TrackingUnavailable
from runner.records import Record, RunStatus
from runner.tracking import frames, launch, operations, traces
from runner.tracking.environment import set_switches

if TYPE_CHECKING:
    from runner.tracking.store import OpenStore

BATCH = 64
"""Records that go out together at most."""
IDLE_S = 0.5
"""A batch that is not full waits this long for more: what a killed machine can lose."""

KILLED = operations.MLFLOW_STATUS[RunStatus.INTERRUPTED]

logger = logging.getLogger("runner.tracking")
Message = tuple[Any, ...]


@dataclass(slots=True)
class _Run:
    """What the worker knows about an open run."""

    judges: tuple[str, ...]
    questions: int
    traces: str


class Worker:
    """Two inboxes: questions that somebody waits for go before the records that are only to be written."""

    def __init__(self, incoming: BinaryIO, outgoing: BinaryIO) -> None:
        self._incoming = incoming
        self._outgoing = outgoing
        self._urgent: queue.SimpleQueue[Message] = queue.SimpleQueue()
        self._work: queue.SimpleQueue[Message] = queue.SimpleQueue()
        self._signal = threading.Semaphore(0)
        self._runs: dict[str, _Run] = {}
        self._parents: dict[str, bool] = {}
        """Parent runs begun here → whether any job of theirs was begun."""
        self._batch: list[tuple[str, Record]] = []
        self._rewritten = 0

    def run(self) -> int:
        """Serve until the parent says goodbye or is gone; returns the exit code."""
        opening: Message = frames.read(self._incoming)
        if not self._open(*opening[1:]):
            return 1
        _calm_collector()
        threading.Thread(target=self._listen, name="tracking-reader", daemon=True).start()
        while True:
            message = self._next()
            if message is None:
                self._write_batch()
            elif message[0] == "close":
                self._finish_all()
                self._say("report", self._report())
                return 0
            elif message[0] == "gone":
                self._finish_all()
                return 0
            else:
                self._handle(message)

    def _open(self, uri: str | None, experiment: str, home: Path, launch_tag: str) -> bool:
        from runner.tracking.store import check_server, first_line, open_store, without_password

        try:
            if uri:
                check_server(uri)
            store = open_store(uri, experiment, home)
            self._begin(store, home, experiment)
        except TrackingUnavailable as problem:
            self._say("unavailable", str(problem))
            return False
        except Exception as problem:
            logger.exception("opening failed")
            where = without_password(uri) if uri else "of the home"
            said = (
                f"tracking: the MLflow store {where} cannot be written to ({first_line(problem)}); nothing was paid. "
            )
            self._say("unavailable", said + "Correct tracking.uri, or run with tracking=none.")
            return False
        self._launch = {launch.TAG: launch_tag}
        self._say("ready", store.experiment_id)
        return True

    def _begin(self, store: OpenStore, home: Path, experiment: str) -> None:
        from runner.tracking.delivery import Delivery
        from runner.tracking.sink import Sink
        from runner.tracking.spool import Spool

        self._sink = Sink(store)
        self._delivery = Delivery(store, self._sink, Spool(home, store.uri, experiment))

    def _listen(self) -> None:
        while True:
            try:
                message: Message = frames.read(self._incoming)
            except (EOFError, OSError):
                message = ("gone",)
            inbox = self._urgent if message[0] in {"start_sweep", "start_run"} else self._work
            inbox.put(message)
            self._signal.release()
            if message[0] in {"gone", "close"}:
                return

    def _next(self) -> Message | None:
        """The next message; ``None`` when nothing came for a moment and records are waiting to go out."""
        if not self._signal.acquire(timeout=IDLE_S if self._batch else None):
            return None
        try:
            return self._urgent.get_nowait()
        except queue.Empty:
            return self._work.get_nowait()

    def _serve_urgent(self) -> None:
        """Create the runs that somebody waits for, in the middle of other writing."""
        while not self._urgent.empty() and self._signal.acquire(blocking=False):
            self._handle(self._urgent.get_nowait())

    def _handle(self, message: Message) -> None:
        kind, *rest = message
        if kind == "record":
            self._batch.append((rest[0], rest[1]))
            if len(self._batch) >= BATCH:
                self._write_batch()
        elif kind == "start_sweep":
            self._start_sweep(*rest)
        elif kind == "start_run":
            self._start_run(*rest)
        elif kind == "adopt_run":
            run_id, judges, questions, choice = rest
            self._runs[run_id] = _Run(judges, questions, choice)
        elif kind == "operations":
            self._write_batch()
            self._delivery.deliver_all(rest[0])
        elif kind == "finish_run":
            self._write_batch()
            self._finish_run(*rest)
        elif kind == "hand_over":
            self._parents.pop(rest[0], None)
        elif kind == "finish_sweep":
            self._write_batch()
            parent, given = rest
            if self._parents.pop(parent, True) or given[-1].get("status") != KILLED:
                self._delivery.deliver_all(given)
            else:
                self._delivery.deliver_all(operations.discard(parent))

    def _start_sweep(self, request: int, create: dict[str, Any]) -> None:
        run_id = self._delivery.deliver({**create, "tags": {**create["tags"], **self._launch}})
        self._parents[run_id] = False
        self._say("reply", request, run_id)

    def _start_run(
        self, request: int, create: dict[str, Any], judges: tuple[str, ...], questions: int, choice: str
    ) -> None:
        run_id = self._delivery.deliver({**create, "tags": {**create["tags"], **self._launch}})
        self._runs[run_id] = _Run(judges, questions, choice)
        parent = create["tags"].get("mlflow.parentRunId", "")
        if parent in self._parents:
            self._parents[parent] = True
        self._say("reply", request, run_id)

    def _write_batch(self) -> None:
        batch, self._batch = self._batch, []
        drafts = []
        for run_id, record in batch:
            run = self._runs.get(run_id)
            if run is None or not traces.is_traced(record, run.traces, run.questions):
                continue
            try:
                drafts.append(traces.build(record, run_id, run.judges))
            except Exception as problem:  # one strange record must not end the writer
                logger.exception("question %s", record.question.id)
                self._delivery.note(f"the trace of question {record.question.id} could not be built: {problem}")
        self._delivery.deliver_traces(drafts, self._serve_urgent)
        if batch:
            self._say("stored", len(batch))

    def _finish_run(self, run_id: str, expected: list[str], closing: list[dict[str, Any]], last_try: bool) -> None:
        """Count, ask for what is missing, and close. ``expected``: questions that should have a trace."""
        missing = self._missing(run_id, expected)
        if missing and not last_try:
            self._rewritten += len(missing)
            self._say("missing", run_id, missing)
            return
        if missing:
            self._delivery.note(
                f"{len(missing)} of {len(expected)} traces of run {run_id} are not in MLflow, among them question "
                f"{missing[0]}; the records themselves are complete on disk"
            )
        self._delivery.deliver_all(closing)
        self._runs.pop(run_id, None)
        self._say("finished", run_id)

    def _missing(self, run_id: str, expected: list[str]) -> list[str]:
        if self._delivery.spooling or not expected:
            return []
        try:
            stored = self._sink.stored_traces(run_id)
        except Exception as problem:
            self._delivery.note(f"the traces of run {run_id} could not be counted: {problem}")
            return []
        return [question for question in expected if traces.trace_id(run_id, question) not in stored]

    def _finish_all(self) -> None:
        """Nobody will close what is still open: it was interrupted."""
        self._write_batch()
        for run_id in [*self._runs, *(parent for parent, begun in self._parents.items() if begun)]:
            self._delivery.deliver_all(operations.end(run_id, RunStatus.INTERRUPTED))
        for run_id in (parent for parent, begun in self._parents.items() if not begun):
            self._delivery.deliver_all(operations.discard(run_id))
        self._delivery.release()

    def _report(self) -> dict[str, Any]:
        return {
            "traces_written": self._delivery.traces_written,
            "traces_rewritten": self._rewritten,
            "spooled": self._delivery.spooled,
            "writer_cpu_s": time.process_time(),
            "problems": self._delivery.problems,
        }

    def _say(self, *message: Any) -> None:
        try:
            frames.write(self._outgoing, message)
        except (OSError, ValueError):
            logger.warning("the launching process is gone: %s not said", message[0])


def _calm_collector() -> None:
    """Collect rarely, and leave what is loaded by now out of it: a tenth of the CPU of a trace."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 50)


def main() -> int:
    """Entry of the process; standard input and output are the pipes."""
    if hasattr(signal, "SIGINT"):
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the parent, which closes us when it is ready
    set_switches(os.environ)
    incoming = os.fdopen(os.dup(0), "rb")
    outgoing = os.fdopen(os.dup(1), "wb")
    # MLflow prints ("View run at ..."): that must not get between our messages, nor onto the user's terminal.
    os.dup2(2, 1)
    logging.basicConfig(level=logging.WARNING, format="%(asctime)s %(name)s: %(message)s")
    try:
        return Worker(incoming, outgoing).run()
    except EOFError:
        return 1


if __name__ == "__main__":
    sys.exit(main())
