"""Operations → MLflow. What writes to MLflow is here or in ``registry``, and each can be done twice without harm.

An operation is plain JSON data, so that what cannot be written now can wait on disk (see ``spool``).
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from runner.tracking import text as t
from runner.tracking.entities import span_from_draft, trace_info_from_draft
from runner.tracking.registry import PromptRegistry
from runner.tracking.store import OpenStore
from runner.tracking.tuning import tune

Operation = dict[str, Any]
SPAN_CHUNK = 50
"""Traces whose spans go out in one transaction; measured: more gains nothing."""


class Sink:
    """Does operations on an open store. Not safe for threads: there is one writer."""

    def __init__(self, store: OpenStore) -> None:
        from mlflow.tracing.client import TracingClient

        self._store = store
        self._client = store.client
        self._tracing = TracingClient(tracking_uri=store.uri)
        tune(self._tracing.store)
        self._prompts = PromptRegistry(store.client, store.experiment_id)
        self._do: Mapping[str, Callable[[Operation], Any]] = {
            "create_run": self._create_run,
            "params": self._params,
            "metrics": self._metrics,
            "tags": self._tags,
            "text": self._text,
            "file": self._file,
            "data_set": self._data_set,
            "question_set": self._question_set,
            "prompt": self._prompt,
            "traces": self._traces,
            "rename": self._rename,
            "discard": self._discard,
            "end": self._end,
        }

    def apply(self, operation: Operation) -> Any:
        """Do one operation; what it returns depends on the operation (a run id for ``create_run``).

        Raises:
            Exception: whatever MLflow raises; the writer decides what that means.
        """
        return self._do[operation["op"]](operation)

    def _create_run(self, operation: Operation) -> str:
        tags = {key: t.shorten(str(value), t.TAG_LIMIT) for key, value in operation["tags"].items()}
        run = self._client.create_run(
            self._store.experiment_id, start_time=operation["start_ms"], tags=tags, run_name=operation["name"]
        )
        return str(run.info.run_id)

    def _params(self, operation: Operation) -> None:
        from mlflow.entities import Param

        params = [Param(key, value) for key, value in operation["items"].items()]
        self._client.log_batch(operation["run"], params=params)

    def _metrics(self, operation: Operation) -> None:
        from mlflow.entities import Metric

        now = operation.get("at_ms") or int(time.time() * 1000)
        metrics = [Metric(key, float(value), now, 0) for key, value in operation["items"].items()]
        self._client.log_batch(operation["run"], metrics=metrics)

    def _tags(self, operation: Operation) -> None:
        from mlflow.entities import RunTag

        tags = [RunTag(key, t.shorten(str(value), t.TAG_LIMIT)) for key, value in operation["items"].items()]
        self._client.log_batch(operation["run"], tags=tags)

    def _text(self, operation: Operation) -> None:
        self._client.log_text(operation["run"], operation["text"], operation["path"])

    def _file(self, operation: Operation) -> None:
        """Copy a file to a path in the run; its name there may differ from its own."""
        source, path = Path(operation["file"]), operation["path"]
        if source.is_dir():
            self._client.log_artifacts(operation["run"], str(source), path)
            return
        folder, _, name = path.rpartition("/")
        if name == source.name:
            self._client.log_artifact(operation["run"], str(source), folder or None)
            return
        import shutil
        import tempfile

        with tempfile.TemporaryDirectory() as scratch:
            shutil.copyfile(source, Path(scratch) / name)
            self._client.log_artifact(operation["run"], str(Path(scratch) / name), folder or None)

    def _data_set(self, operation: Operation) -> None:
        from mlflow.entities import Dataset, DatasetInput, InputTag

        size = json.dumps({"num_rows": operation["size"]})
        source = json.dumps({"name": operation["name"], "digest": operation["digest"]})
        data = Dataset(
            name=operation["name"][:500],
            digest=operation["digest"][: t.DIGEST_LIMIT],
            source_type="code",
            source=source,
            schema=None,
            profile=size,
        )
        tag = InputTag("mlflow.data.context", operation["context"])
        self._client.log_inputs(operation["run"], [DatasetInput(data, [tag])])

    def _question_set(self, operation: Operation) -> None:
        """The questions themselves, for the page "Datasets": one data set for each digest, in every experiment that
        used it. MLflow's own digest does not change with the questions, so ours is in the name."""
        name, experiment = operation["name"], self._store.experiment_id
        known = self._client.search_datasets(filter_string=f"name = '{name}'", max_results=1)
        if known:
            if experiment not in known[0].experiment_ids:
                self._client.add_dataset_to_experiments(known[0].dataset_id, [experiment])
            return
        made = self._client.create_dataset(name, [experiment], tags=operation["tags"])
        made.merge_records(operation["records"])

    def _prompt(self, operation: Operation) -> None:
        self._prompts.link(operation["run"], operation)

    def _traces(self, operation: Operation) -> None:
        self.write_traces(operation["drafts"])

    def write_traces(self, drafts: Sequence[Mapping[str, Any]], between: Callable[[], None] = lambda: None) -> None:
        """Trace first, spans after: the other way round MLflow does everything twice.

        ``between`` is called before each trace, so that somebody who waits for a run id does not wait for all traces.
        """
        for start in range(0, len(drafts), SPAN_CHUNK):
            chunk = drafts[start : start + SPAN_CHUNK]
            for draft in chunk:
                between()
                self._tracing.start_trace(trace_info_from_draft(draft, self._store.experiment_id))
            spans = [span_from_draft(draft["trace_id"], span) for draft in chunk for span in draft["spans"]]
            self._tracing.log_spans(self._store.experiment_id, spans)

    def stored_traces(self, run_id: str) -> set[str]:
        """The ids of the traces of a run that are stored with their spans.

        Trace and spans are two writes; the store marks a trace when its spans arrive.
        """
        found: set[str] = set()
        token: str | None = None
        while True:
            page = self._tracing.search_traces(
                experiment_ids=[self._store.experiment_id],
                filter_string=f"metadata.`mlflow.sourceRun` = '{run_id}'",
                max_results=500,
                page_token=token,
                include_spans=False,
            )
            found |= {trace.info.trace_id for trace in page if "mlflow.trace.spansLocation" in trace.info.tags}
            token = page.token
            if not token:
                return found

    def _rename(self, operation: Operation) -> None:
        self._client.update_run(operation["run"], name=t.shorten(operation["name"], 250))

    def _discard(self, operation: Operation) -> None:
        """Off the pages; MLflow keeps it among the deleted runs."""
        self._client.set_terminated(operation["run"], "KILLED")
        self._client.delete_run(operation["run"])

    def _end(self, operation: Operation) -> None:
        self._client.set_terminated(operation["run"], operation["status"], end_time=operation.get("at_ms"))
