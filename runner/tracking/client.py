"""The launching process's side of tracking: hands everything to the writer's process and waits only for run ids."""

from __future__ import annotations

import json
import threading
from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from runner.errors import TrackingUnavailable
from runner.records import Record, RunResult, RunStatus, RunSummary
from runner.tracking import launch, operations, tables, traces
from runner.tracking import text as t
from runner.tracking.contract import DataSet, RubricText, TrackingReport
from runner.tracking.plots import sweep_plots
from runner.tracking.process import WriterProcess

MAX_RESTARTS = 2
"""A writer that dies (out of memory, killed) is started again this often; what it held is sent again."""
Message = tuple[Any, ...]


@dataclass(slots=True)
class _Run:
    """What is needed to say everything about a run again."""

    parent: str
    judges: tuple[str, ...]
    questions: int
    question_set: Sequence[Any]
    records: Mapping[str, Record] = field(default_factory=dict)
    """Set when the run is finished; until then its records are still on their way."""
    finish: Message | None = None


class MlflowTracker:
    """The tracker that writes to MLflow. Its methods may be called from any thread; only ids are waited for."""

    def __init__(
        self, uri: str | None, experiment: str, traces_choice: str, home: Path, tags: Mapping[str, str] | None = None
    ) -> None:
        self._opening: Message = ("open", uri, experiment, home.absolute(), launch.tag())
        self._traces = traces_choice
        self._tags = {t.param_name(name): value for name, value in (tags or {}).items()}
        self._log = home / "tracking.log"
        self._lock = threading.RLock()
        self._ready: Future[str] = Future()
        self._report: Future[TrackingReport] = Future()
        self._requests: dict[int, Future[str]] = {}
        self._number = 0
        self._runs: dict[str, _Run] = {}
        self._parents: dict[str, Message | None] = {}
        self._question_sets: set[str] = set()
        self._finished: dict[str, list[tuple[RunResult, RunSummary]]] = {}
        self._waiting = 0
        self._restarts = 0
        self._closing = False
        self._process = self._start()

    # -- what the sweep calls -------------------------------------------------------------------------------------

    def wait_until_ready(self) -> None:
        """Wait until the store is open.

        Raises:
            TrackingUnavailable: it does not answer, or cannot be opened.
        """
        self._ready.result()

    @property
    def pending(self) -> int:
        """How many records are handed over and not written yet; for a progress line."""
        return self._waiting

    def start_sweep(
        self, name: str, sweep_id: str, tags: Mapping[str, str], artifacts: Mapping[str, str | Path]
    ) -> str:
        said = {**self._tags, "runner.kind": "sweep", "runner.sweep_id": sweep_id, **tags}
        parent = self._request("start_sweep", operations.create_run(name, said))
        with self._lock:
            self._parents[parent] = None
        self._put("operations", operations.artifacts(parent, artifacts))
        return parent

    def start_run(  # noqa: PLR0917
        self,
        parent: str,
        name: str,
        job_key: str,
        choices: Mapping[str, Any],
        overrides: Sequence[str],
        artifacts: Mapping[str, str | Path],
        rubrics: Mapping[str, RubricText],
        question_set: DataSet | tuple[str, str, int],
        knowledge_base: DataSet | tuple[str, str, int] | None = None,
        prompt: RubricText | None = None,
    ) -> str:
        said = {**self._tags, "runner.kind": "job", "runner.job_key": job_key}
        run = _Run(parent, tuple(rubrics), question_set[2], question_set)
        create = operations.create_run(name, said, parent)
        run_id = self._request("start_run", create, run.judges, run.questions, self._traces)
        with self._lock:
            self._runs[run_id] = run
        todo = operations.choices(run_id, choices, overrides)
        todo.append(operations.data_set(run_id, question_set, "eval"))
        if knowledge_base is not None:
            todo.append(operations.data_set(run_id, knowledge_base, "knowledge_base"))
        todo += operations.prompts(run_id, [*rubrics.values(), *([prompt] if prompt else [])])
        texts = {f"rubrics/{judge}.txt": given.text for judge, given in rubrics.items()}
        self._put("operations", todo + operations.artifacts(run_id, {**texts, **artifacts}))
        return run_id

    def log_record(self, run_id: str, record: Record) -> None:
        with self._lock:
            self._waiting += 1
        self._put("record", run_id, record)

    def finish_run(self, run_id: str, result: RunResult, summary: RunSummary, files: Mapping[str, str | Path]) -> None:
        with self._lock:
            run = self._runs[run_id]
        run.records = {record.question.id: record for record in result.records}
        kept = [record for record in result.records if traces.is_traced(record, self._traces, run.questions)]
        closing = [
            {"op": "text", "run": run_id, "path": tables.TABLE, "text": tables.per_question(result.records)},
            {
                "op": "tags",
                "run": run_id,
                "items": {"mlflow.loggedArtifacts": json.dumps([{"path": tables.TABLE, "type": "table"}])},
            },
            *operations.artifacts(run_id, files),
            *operations.metrics(run_id, summary.metrics),
            *operations.controls(run_id, result.controls),
            *operations.end(run_id, result.status, result.reason),
        ]
        if len(result.records) == run.questions and run.question_set[1] not in self._question_sets:
            self._question_sets.add(run.question_set[1])
            closing.insert(0, operations.question_set(run.question_set, [record.question for record in result.records]))
        self._finished.setdefault(run.parent, []).append((result, summary))
        run.finish = ("finish_run", run_id, [record.question.id for record in kept], closing)
        self._put(*run.finish, False)

    def finish_sweep(
        self, parent: str, status: RunStatus, metrics: Mapping[str, float], artifacts: Mapping[str, str | Path]
    ) -> None:
        closing = [
            *operations.figures(parent, metrics),
            *operations.artifacts(parent, {**sweep_plots(self._finished.pop(parent, [])), **artifacts}),
            *operations.end(parent, status),
        ]
        message: Message = ("finish_sweep", parent, closing)
        with self._lock:
            self._parents[parent] = message
        self._put(*message)

    def mark_again(self, parent: str, name: str, first: str) -> None:
        self._put("operations", operations.again(parent, name, first, self._ready.result()))

    def hand_over(self, parent: str) -> None:
        with self._lock:
            self._parents.pop(parent, None)
        self._put("hand_over", parent)

    def close(self) -> TrackingReport:
        with self._lock:
            if not self._closing:
                self._closing = True
                self._close_if_done()
        return self._report.result()

    # -- the writer's process -------------------------------------------------------------------------------------

    def _start(self) -> WriterProcess:
        process = WriterProcess(self._log, self._on_message, self._on_end)
        process.put(self._opening)
        return process

    def _put(self, *message: Any) -> None:
        with self._lock:
            self._process.put(message)

    def _request(self, kind: str, *rest: Any) -> str:
        self.wait_until_ready()
        with self._lock:
            self._number += 1
            future: Future[str] = Future()
            self._requests[self._number] = future
            self._process.put((kind, self._number, *rest))
        return future.result()

    def _on_message(self, message: Message) -> None:
        kind, *rest = message
        with self._lock:
            if kind == "ready" and not self._ready.done():
                self._ready.set_result(rest[0])
            elif kind == "unavailable":
                self._fail(TrackingUnavailable(rest[0]))
            elif kind == "reply":
                self._requests.pop(rest[0]).set_result(rest[1])
            elif kind == "stored":
                self._waiting = max(0, self._waiting - rest[0])
            elif kind == "missing":
                self._send_again(*rest)
            elif kind == "finished":
                self._runs.pop(rest[0], None)
                self._close_if_done()
            elif kind == "report":
                self._report.set_result(TrackingReport(**rest[0]))

    def _send_again(self, run_id: str, missing: Sequence[str]) -> None:
        run = self._runs[run_id]
        for question in missing:
            self._waiting += 1
            self._process.put(("record", run_id, run.records[question]))
        if run.finish is not None:
            self._process.put((*run.finish, True))

    def _close_if_done(self) -> None:
        """Goodbye once every finished run is written; runs that nobody finished are killed by the writer."""
        if self._closing and not any(run.finish for run in self._runs.values()):
            self._process.put(("close",))

    def _fail(self, problem: Exception) -> None:
        for future in [self._ready, *self._requests.values()]:
            if not future.done():
                future.set_exception(problem)
        self._requests.clear()
        if not self._report.done():
            self._report.set_result(TrackingReport(problems=(str(problem),)))

    def _on_end(self, process: WriterProcess, code: int) -> None:
        """The writer ended: as it should after its report, else it is started again and told everything once more."""
        with self._lock:
            if self._report.done() or process is not self._process:
                return
            ended = f"the process that writes to MLflow ended unexpectedly (code {code}); see {self._log}"
            if not self._ready.done() or self._restarts >= MAX_RESTARTS:
                self._fail(TrackingUnavailable(ended))
                return
            self._restarts += 1
            self._process = self._start()
            for run_id, run in self._runs.items():
                self._process.put(("adopt_run", run_id, run.judges, run.questions, self._traces))
                if run.finish is not None:
                    self._process.put((*run.finish, False))
            for message in self._parents.values():
                if message is not None:
                    self._process.put(message)
            for future in self._requests.values():
                future.set_exception(TrackingUnavailable(ended))
            self._requests.clear()
            self._close_if_done()
