"""An MLflow store with its tables made once, and helpers to read it back."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from runner.config import schema
from runner.tracking import RubricText, Tracker, open_tracking

JUDGES = ("grounding", "topicality", "reference_match")


@pytest.fixture(scope="session")
def made_tables(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store without runs: making the tables takes seconds, copying the file none."""
    home = tmp_path_factory.mktemp("tables")
    open_tracking(schema.Tracking(kind="mlflow", experiment="Default"), home).close()
    connection = sqlite3.connect(home / "mlflow.db")
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    connection.close()
    return home / "mlflow.db"


@pytest.fixture
def store_home(tmp_path: Path, made_tables: Path) -> Path:
    """A home with an empty store."""
    home = tmp_path / "home"
    home.mkdir()
    shutil.copyfile(made_tables, home / "mlflow.db")
    return home


@pytest.fixture
def opened(store_home: Path) -> Iterator[Callable[..., Tracker]]:
    """Opens trackers on the home and closes them at the end."""
    trackers = []

    def opening(**choices: Any) -> Tracker:
        settings: dict[str, Any] = {"kind": "mlflow", "experiment": "faq", **choices}
        tracker = open_tracking(schema.Tracking(**settings), store_home)
        trackers.append(tracker)
        return tracker

    yield opening
    for tracker in trackers:
        tracker.close()


def rubrics(**changed: str) -> dict[str, RubricText]:
    """A text a judge; ``changed``: other texts."""
    return {name: RubricText(name, 1, changed.get(name, f"How to judge {name}: {{braces}}")) for name in JUDGES}


def rows(home: Path, query: str, *values: Any) -> list[Any]:
    """What the store holds; single columns as plain values."""
    connection = sqlite3.connect(home / "mlflow.db", timeout=30)
    try:
        found = connection.execute(query, values).fetchall()
    finally:
        connection.close()
    return [row[0] if len(row) == 1 else row for row in found]


def start(tracker: Tracker, parent: str, name: str = "top_k=3", questions: int = 10, **changed: Any) -> str:
    """A job with everything that a job has."""
    given: dict[str, Any] = {
        "choices": {"retriever.top_k": 3, "generator.model": "model-a", "judges.grounding.rubric": "grounding@1"},
        "overrides": ("retriever.top_k=3",),
        "artifacts": {"config/config.yaml": "retriever:\n  top_k: 3\n"},
        "rubrics": rubrics(),
        "question_set": ("faq", "d" * 64, questions),
        **changed,
    }
    return tracker.start_run(
        parent,
        name,
        f"key-{name}",
        given["choices"],
        given["overrides"],
        given["artifacts"],
        given["rubrics"],
        given["question_set"],
    )
