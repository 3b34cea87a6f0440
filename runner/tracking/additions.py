"""Adds files and tags to the run of a sweep that ended before; what had the same name is replaced."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from runner.errors import TrackingUnavailable
from runner.tracking import operations
from runner.tracking import text as t
from runner.tracking.environment import set_switches
from runner.tracking.store import OpenStore, default_uri, first_line, is_server, server_problem, without_password


def add_to_run(home: Path, uri: str | None, run_id: str, artifacts: Mapping[str, str], tags: Mapping[str, str]) -> str:
    """Write texts and tags to a run of ours; returns its name, id and experiment as they are shown.

    Parameters
    ----------
    uri
        The store; None: the local one of the home, which is not made where it is missing.
    artifacts
        Path in the run → text.

    Raises
    ------
    TrackingUnavailable
        The store does not answer, does not have the run, or refuses; the message is one sentence.
    """
    set_switches(os.environ)
    address = uri or default_uri(home)
    shown = without_password(address)
    if is_server(address) and (problem := server_problem(address)):
        raise TrackingUnavailable(f"the tracking server {shown} does not answer ({problem})")
    path = address.removeprefix("sqlite:///").partition("?")[0]
    if path != address and not Path(path).is_file():
        raise TrackingUnavailable(f"there is no MLflow store {shown}")
    import mlflow
    from mlflow.exceptions import MlflowException

    from runner.tracking.sink import Sink

    client = mlflow.MlflowClient(tracking_uri=address)
    try:
        run = client.get_run(run_id)
        if run.info.lifecycle_stage == "deleted":
            raise TrackingUnavailable(f"the run {run_id} was deleted from {shown}")
        sink = Sink(OpenStore(address, client, run.info.experiment_id))
        cleaned = {t.param_name(name): value for name, value in tags.items()}
        # The tags last: whoever sees them finds the files that they are about.
        for operation in [*operations.artifacts(run_id, artifacts), {"op": "tags", "run": run_id, "items": cleaned}]:
            sink.apply(operation)
        experiment = client.get_experiment(run.info.experiment_id).name
    except TrackingUnavailable:
        raise
    except Exception as error:  # stores of artifacts raise errors of their own kinds
        if isinstance(error, MlflowException) and error.error_code == "RESOURCE_DOES_NOT_EXIST":
            waiting = "if it waits on disk for the server, `runner report --sync` writes it"
            raise TrackingUnavailable(f"{shown} has no run {run_id} ({waiting})") from error
        raise TrackingUnavailable(f"{shown} cannot be written ({first_line(error)})") from error
    return f"{run.info.run_name} ({run_id} in {experiment})"
