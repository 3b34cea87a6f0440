"""Real data beside the project that nobody here wrote; a test that needs it skips where it is absent."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest

from runner.records import RunResult
from tests.fakes.runs import make_record, make_run, make_score

FOLDER = Path(__file__).parents[2].parent / "shared" / "data"


def shared(name: str) -> Path:
    """The path of a file there, or the test skips."""
    path = FOLDER / name
    if not path.exists():
        pytest.skip(f"{path} is not there")
    return path


def rows(name: str) -> list[dict[str, str]]:
    """A CSV file's rows."""
    with shared(name).open(encoding="utf-8-sig", newline="") as file:
        return list(csv.DictReader(file))


def reference_values() -> dict[str, Any]:
    values: dict[str, Any] = json.loads(shared("reference_values.json").read_text(encoding="utf-8"))
    return values


def labelled_systems(field: str) -> list[RunResult]:
    """Twelve systems on about 300 questions as runs with one judge: ``field`` is ``human`` or ``judge_gpt4``."""
    with shared("nq301/answers.jsonl").open(encoding="utf-8") as file:
        answers = [json.loads(line) for line in file]
    runs = {}
    for answer in answers:
        value = answer[field]
        score = make_score("m", None if value is None else float(value), pass_at=1.0, lowest=0.0, highest=1.0)
        runs.setdefault(answer["config"], []).append(
            make_record(str(answer["qid"]), {"m": score}, text=str(answer["answer"]))
        )
    return [make_run(name, records) for name, records in runs.items()]
