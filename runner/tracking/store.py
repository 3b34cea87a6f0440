"""Opening the MLflow store: made once under a lock, checked before anything is paid, tidied after dead launches."""

from __future__ import annotations

import sqlite3
import urllib.error
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from runner.errors import TrackingUnavailable
from runner.tracking import launch
from runner.tracking.environment import answers

if TYPE_CHECKING:
    from mlflow import MlflowClient

LOCK_TIMEOUT_S = 120.0
"""A new store takes about six seconds to make; whoever waits longer than this waits for something that hangs."""
ANSWER_TIMEOUT_S = 5.0
PAGE_BYTES = 16384


@dataclass(frozen=True, slots=True)
class OpenStore:
    """An MLflow store that answered."""

    uri: str
    client: MlflowClient
    experiment_id: str

    def is_alive(self) -> bool:
        """Whether the store still answers."""
        if is_server(self.uri):
            return server_problem(self.uri) == ""
        try:
            self.client.get_experiment(self.experiment_id)
        except Exception:
            return False
        return True


def default_uri(home: Path) -> str:
    """The local store: SQLite in the home."""
    return f"sqlite:///{home / 'mlflow.db'}"


def is_server(uri: str) -> bool:
    return urlsplit(uri).scheme in {"http", "https"}


def server_problem(uri: str) -> str:
    """Why a tracking server does not answer; empty where it does. At most ``ANSWER_TIMEOUT_S`` seconds."""
    try:
        answers(uri, ANSWER_TIMEOUT_S)
    except urllib.error.HTTPError as answer:
        # Some proxies guard or lack /health: anything below 500 says that somebody is there.
        return "" if answer.code < 500 else f"HTTP {answer.code}"
    except (OSError, ValueError) as problem:
        return str(getattr(problem, "reason", problem))
    return ""


def check_server(uri: str) -> None:
    """Refuse a tracking server that is away.

    Raises:
        TrackingUnavailable: with the reason and what to do.
    """
    if is_server(uri) and (problem := server_problem(uri)):
        raise TrackingUnavailable(
            f"tracking.uri: the tracking server {without_password(uri)} does not answer ({problem}); nothing was paid. "
            "Start it, correct tracking.uri, or run with tracking=none."
        )


def without_password(uri: str) -> str:
    """The address without the user and the password that may stand in it."""
    parts = urlsplit(uri)
    if "@" not in parts.netloc:
        return uri
    return parts._replace(netloc="***@" + parts.netloc.rpartition("@")[2]).geturl()


def open_store(uri: str | None, experiment: str, home: Path) -> OpenStore:
    """Make or open the store and the experiment, and close the runs of dead launches.

    Raises:
        TrackingUnavailable: it does not answer, or cannot be made.
    """
    import filelock

    address = uri or default_uri(home)
    check_server(address)
    try:
        home.mkdir(parents=True, exist_ok=True)
        # Two launches that make the tables of one SQLite file at the same time leave a broken file behind.
        with filelock.FileLock(home / "mlflow.lock", timeout=LOCK_TIMEOUT_S):
            _prepare_sqlite(address)
            client = _client(address)
            experiment_id = _experiment(client, experiment, home, local=not is_server(address))
        store = OpenStore(address, client, experiment_id)
        _close_dead_runs(store)
    except filelock.Timeout as problem:
        raise TrackingUnavailable(
            f"{home / 'mlflow.lock'} is held by another launch for more than {LOCK_TIMEOUT_S:.0f} seconds; "
            "end that launch, or run with tracking=none."
        ) from problem
    except Exception as problem:
        check_server(address)  # it may have gone away since it was asked
        raise TrackingUnavailable(
            f"tracking: the MLflow store {without_password(address)} cannot be opened ({first_line(problem)}); "
            "nothing was paid. Correct tracking.uri, or run with tracking=none."
        ) from problem
    return store


def first_line(problem: BaseException) -> str:
    """The first line of an exception, with its kind where it says nothing."""
    lines = str(problem).strip().splitlines()
    return lines[0][:300] if lines else type(problem).__name__


def _client(uri: str) -> MlflowClient:
    import mlflow

    mlflow.set_tracking_uri(uri)
    mlflow.set_registry_uri(uri)
    return mlflow.MlflowClient(tracking_uri=uri, registry_uri=uri)


def _prepare_sqlite(uri: str) -> None:
    """Settings that SQLite keeps in the file. Write-ahead logging: a third of the time for a commit, and the UI can
    read while a run writes. Larger pages (they count for a new file only): the rows of a trace waste less of them."""
    path = uri.removeprefix("sqlite:///").partition("?")[0]
    if path == uri or not path:
        return
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    connection = sqlite3.connect(path, timeout=30)
    try:
        connection.execute(f"PRAGMA page_size={PAGE_BYTES}")
        connection.execute("PRAGMA journal_mode=WAL")
    finally:
        connection.close()


def _experiment(client: MlflowClient, name: str, home: Path, *, local: bool) -> str:
    found = client.get_experiment_by_name(name)
    if found is None:
        location = (home / "mlartifacts").absolute().as_uri() if local else None
        return str(client.create_experiment(name, artifact_location=location))
    if found.lifecycle_stage == "deleted":
        # Its name stays taken: a user who deleted it in the UI means to start again.
        client.restore_experiment(found.experiment_id)
    return str(found.experiment_id)


def _close_dead_runs(store: OpenStore) -> None:
    """Runs that are open although the process that made them is gone: killed. Only those with our tags."""
    query = f"attributes.status = 'RUNNING' and {launch.on_this_host()}"
    experiments = [found.experiment_id for found in store.client.search_experiments()]
    token: Any = None
    while True:
        page = store.client.search_runs(experiments, query, max_results=500, page_token=token)
        for run in page:
            if launch.is_dead(run.data.tags):
                store.client.set_tag(run.info.run_id, "runner.status", "killed")
                store.client.set_terminated(run.info.run_id, "KILLED")
        token = page.token
        if not token:
            return
