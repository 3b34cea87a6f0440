"""What all tests share: an environment without the machine's own keys and settings, a home, a model server."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.fakes.model_server import ModelServer

_CLEARED = ("OPENAI_", "RUNNER_", "MLFLOW_", "LANGCHAIN_", "LANGSMITH_")
_CLEARED_NAMES = ("GENERATOR_MODEL", "JUDGE_MODEL", "EMBED_MODEL", "TOP_K", "JUDGE_TEMPERATURE")
_CLEARED_TERMINAL = ("COLUMNS", "LINES", "NO_COLOR", "FORCE_COLOR", "COLORTERM")
_KEPT = ("RUNNER_MODELS",)
_SET = {
    "MLFLOW_DISABLE_TELEMETRY": "true",
    "DO_NOT_TRACK": "true",
    "MLFLOW_MODEL_CATALOG_URI": "",
    "ANONYMIZED_TELEMETRY": "False",
    "OMP_WAIT_POLICY": "passive",
    "GOMP_SPINCOUNT": "0",
}


@pytest.fixture(autouse=True)
def clean_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """No key, address, setting or terminal of this machine reaches a test; nothing calls home."""
    for name in list(os.environ):
        if (name.startswith(_CLEARED) or name in _CLEARED_NAMES + _CLEARED_TERMINAL) and name not in _KEPT:
            monkeypatch.delenv(name)
    for name, value in _SET.items():
        monkeypatch.setenv(name, value)


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty home outside the checkout; the working directory is an empty folder beside it."""
    folder = tmp_path / "home"
    work = tmp_path / "work"
    work.mkdir()
    monkeypatch.setenv("RUNNER_HOME", str(folder))
    monkeypatch.chdir(work)
    return folder


@pytest.fixture
def model_server() -> Iterator[ModelServer]:
    """A fresh model server without latency."""
    with ModelServer() as server:
        yield server
