"""MLflow's switches for a process of ours, set before MLflow is imported: some of them it reads only once."""

from __future__ import annotations

import urllib.request
from collections.abc import MutableMapping
from urllib.parse import urlsplit

_ALWAYS = {
    # Prices come from the runner; the default would fetch a catalogue from the network while writing.
    "MLFLOW_MODEL_CATALOG_URI": "",
    "MLFLOW_ENABLE_ARTIFACTS_PROGRESS_BAR": "false",
    "GIT_PYTHON_REFRESH": "quiet",
}
_DEFAULTS = {
    "MLFLOW_DISABLE_TELEMETRY": "true",
    "DO_NOT_TRACK": "true",
    # A lost server is noticed in seconds (the default keeps trying for minutes) and then spooled.
    "MLFLOW_HTTP_REQUEST_MAX_RETRIES": "2",
    "MLFLOW_HTTP_REQUEST_TIMEOUT": "30",
    "MLFLOW_LOGGING_LEVEL": "WARNING",
    # Ten processes and 2.4 GB with it, two processes without; we run no server-side judges.
    "MLFLOW_SERVER_ENABLE_JOB_EXECUTION": "false",
}


LOOPBACK = ("127.0.0.1", "localhost", "::1")


def answers(address: str, timeout_s: float) -> None:
    """Ask for ``/health`` of an MLflow server. A proxy is for other machines: loopback never goes through one.

    Raises:
        OSError: nobody answers, or with an error (``urllib.error.HTTPError``).
    """
    local = urlsplit(address).hostname in LOOPBACK
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({} if local else None))
    with opener.open(f"{address.rstrip('/')}/health", timeout=timeout_s):
        pass


def set_switches(environment: MutableMapping[str, str]) -> None:
    """Write the switches; where the user has set one that is a matter of taste, theirs stays."""
    environment.update(_ALWAYS)
    for name in ("NO_PROXY", "no_proxy"):
        listed = [host for host in environment.get(name, "").split(",") if host]
        environment[name] = ",".join(dict.fromkeys([*listed, *LOOPBACK]))
    for name, value in _DEFAULTS.items():
        environment.setdefault(name, value)
