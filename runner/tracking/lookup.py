"""Finds runs of ours in a tracking store by MLflow run id, tag or run name, and reads their records. Writes nothing."""

from __future__ import annotations

import json
import os
import re
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from runner.errors import ConfigurationError, TrackingUnavailable
from runner.tracking.environment import set_switches
from runner.tracking.store import default_uri, first_line, is_server, server_problem, without_password

if TYPE_CHECKING:
    from mlflow import MlflowClient

TAG = "tag:"
PAGE = 500
RECORDS = "records.jsonl"
_RUN_ID = re.compile(r"^[0-9a-f]{32}$")
_SHOWN = 8


@dataclass(frozen=True, slots=True)
class FoundRun:
    """One run of ours in a tracking store: a sweep (the parent) or a job (a child)."""

    run_id: str
    name: str
    experiment: str
    started_ms: int
    tags: Mapping[str, str]
    params: Mapping[str, str] = field(repr=False)

    @property
    def job_key(self) -> str:
        """Empty for a sweep."""
        return self.tags.get("runner.job_key", "")

    @property
    def parent(self) -> str:
        """The run id of its sweep; its own for a sweep."""
        return self.tags.get("mlflow.parentRunId", self.run_id)

    @property
    def choices(self) -> dict[str, Any]:
        """Its params as what they were before they became text."""
        return {key: _value(text) for key, text in self.params.items()}

    def __str__(self) -> str:
        return f"{self.name} ({self.run_id} in {self.experiment})"


class StoreReader:
    """A tracking store that is only read."""

    def __init__(self, client: MlflowClient, shown: str) -> None:
        self._client = client
        self.shown = shown
        """Its address without a password."""

    @classmethod
    def open(cls, uri: str | None, home: Path) -> StoreReader | None:
        """The store, ``None`` where the local one was never made. Raises TrackingUnavailable for a server away."""
        set_switches(os.environ)
        address = uri or default_uri(home)
        if is_server(address) and (problem := server_problem(address)):
            raise TrackingUnavailable(
                f"the tracking server {without_password(address)} does not answer ({problem}); start it, or correct "
                "the address"
            )
        path = address.removeprefix("sqlite:///").partition("?")[0]
        if path != address and not Path(path).is_file():
            return None
        import mlflow

        return cls(mlflow.MlflowClient(tracking_uri=address), without_password(address))

    def jobs(self, name: str, *, before_ms: int | None = None) -> list[FoundRun]:
        """The jobs that a name means: an MLflow run id, ``tag:NAME:VALUE`` (or ``=``), or a run's name.

        A sweep stands for its jobs. Of several launches with this tag or name the newest counts, as with names of
        sweeps; ``before_ms``: the newest that began before this moment. Empty where nothing fits. Raises
        ConfigurationError where the launches belong to several experiments.
        """
        from mlflow.exceptions import MlflowException

        try:
            found = self._found(name, before_ms)
            return [job for run in found for job in ([run] if run.job_key else self._children(run))]
        except MlflowException as error:
            raise TrackingUnavailable(f"{self.shown} cannot be read: {first_line(error)}") from error

    def records(self, run: FoundRun) -> bytes:
        """What the run kept of every question, one record a line. Raises ConfigurationError where it kept nothing."""
        try:
            with tempfile.TemporaryDirectory() as folder:
                return Path(self._client.download_artifacts(run.run_id, RECORDS, folder)).read_bytes()
        except Exception as error:  # stores of artifacts raise errors of their own kinds
            what = f"{run}: its {RECORDS} cannot be read from {self.shown} ({first_line(error)})"
            raise ConfigurationError(f"{what}; a run that was interrupted keeps none: choose another") from error

    def _found(self, name: str, before_ms: int | None) -> list[FoundRun]:
        if _RUN_ID.match(name):
            run = self._by_id(name)
            return [run] if run is not None else []
        if name.startswith(TAG):
            said = name.removeprefix(TAG)
            # Hydra's grammar wants quotes around a value that holds an equals sign.
            tag, separator, value = said.partition("=" if "=" in said else ":")
            if not tag or not separator:
                raise ConfigurationError(f"{name}: write it as {TAG}NAME:VALUE, such as {TAG}branch:main")
            condition = f"tags.{_quoted(tag, '`')} = {_quoted(value)}"
        else:
            condition = f"attributes.run_name = {_quoted(name)}"
        # Open and killed runs have no whole results, so that they are no answer to "the newest".
        condition += " and attributes.status = 'FINISHED'"
        if before_ms is not None:
            condition += f" and attributes.start_time < {before_ms}"
        return _newest_launch(name, list(self._search(condition)))

    def _by_id(self, run_id: str) -> FoundRun | None:
        from mlflow.exceptions import MlflowException

        try:
            run = self._client.get_run(run_id)
            experiment = self._client.get_experiment(run.info.experiment_id).name
        except MlflowException as error:
            if error.error_code == "RESOURCE_DOES_NOT_EXIST":
                return None
            raise
        found = _as_found(run, experiment)
        if found is None:
            raise ConfigurationError(
                f"{run_id}: {run.info.run_name or 'it'} is an MLflow run, but none of this program"
            )
        return found

    def _children(self, sweep: FoundRun) -> list[FoundRun]:
        found = list(self._search(f"tags.`mlflow.parentRunId` = {_quoted(sweep.run_id)}"))
        if not found:
            raise ConfigurationError(f"{sweep}: this sweep has no jobs")
        return sorted(found, key=lambda run: run.started_ms)

    def _search(self, condition: str) -> Iterator[FoundRun]:
        names = {one.experiment_id: one.name for one in self._pages(self._client.search_experiments)}
        for run in self._pages(self._client.search_runs, list(names), condition) if names else []:
            found = _as_found(run, names[run.info.experiment_id])
            if found is not None:
                yield found

    @staticmethod
    def _pages(search: Any, *given: Any) -> Iterator[Any]:
        token: str | None = None
        while True:
            page = search(*given, max_results=PAGE, page_token=token)
            yield from page
            token = page.token
            if not token:
                return


def _as_found(run: Any, experiment: str) -> FoundRun | None:
    """``None`` for a run that another program wrote."""
    tags = dict(run.data.tags)
    if tags.get("runner.kind") not in ("sweep", "job"):
        return None
    return FoundRun(
        run.info.run_id, run.info.run_name or "", experiment, run.info.start_time or 0, tags, dict(run.data.params)
    )


def _newest_launch(name: str, found: Sequence[FoundRun]) -> list[FoundRun]:
    """The runs of the newest launch: its parent where that one fits itself, else the children that do."""
    experiments = {run.experiment for run in found}
    if len(experiments) > 1:
        listed = ", ".join(map(str, found[:_SHOWN])) + (", …" if len(found) > _SHOWN else "")
        raise ConfigurationError(f"{name} fits runs of {len(experiments)} experiments: {listed}; give a run id")
    if not found:
        return []
    newest = max(found, key=lambda run: run.started_ms).parent
    launch = [run for run in found if run.parent == newest]
    return [run for run in launch if not run.job_key] or launch


def _quoted(text: str, mark: str = "'") -> str:
    if mark in text and mark == "'" and '"' not in text:
        mark = '"'
    if mark in text:
        raise ConfigurationError(f"{text}: MLflow cannot look for a text with {mark}; give the run's id")
    return f"{mark}{text}{mark}"


def _value(text: str) -> Any:
    """A choice before it was shown as text: what is JSON is read as such."""
    try:
        return json.loads(text)
    except ValueError:
        return text
