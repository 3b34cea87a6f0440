"""What the runner says about a sweep or a run → the operations that write it. Plain data, no MLflow."""

from __future__ import annotations

import contextlib
import getpass
import math
import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from runner.records import ControlRow, Question, RunStatus
from runner.tracking import text as t
from runner.tracking.columns import columns
from runner.tracking.contract import RubricText

Operation = dict[str, Any]

ROUNDED = (
    "mean",
    "pass_rate",
    "standard_error",
    "worst_case",
    "best_case",
    "pass_rate_worst_case",
    "pass_rate_best_case",
)

MLFLOW_STATUS = {
    RunStatus.COMPLETE: "FINISHED",
    RunStatus.INCOMPLETE: "FINISHED",
    RunStatus.FAILED: "FAILED",
    RunStatus.INTERRUPTED: "KILLED",
    RunStatus.BUDGET: "KILLED",
}
"""MLflow has four words for how a run ended; ours is in the tag ``runner.status``."""


def create_run(name: str, tags: Mapping[str, str], parent: str = "") -> Operation:
    """A new run, below ``parent`` if one is given."""
    said = {"mlflow.source.name": "runner", "mlflow.source.type": "LOCAL", "runner.status": "running"}
    with contextlib.suppress(OSError, KeyError):  # a container may run as a user that has no name
        said["mlflow.user"] = getpass.getuser()
    if parent:
        said["mlflow.parentRunId"] = parent
    return {
        "op": "create_run",
        "name": t.shorten(name, 250),
        "tags": {**said, **tags},
        "start_ms": int(time.time() * 1000),
    }


def choices(run: str, given: Mapping[str, Any], overrides: Sequence[str]) -> list[Operation]:
    """Params for every choice and every override; what is too long to read there becomes an artifact."""
    shown = {t.param_name(key): t.value_text(value) for key, value in given.items()}
    for override in overrides:
        key, _, value = override.partition("=")
        # What the choices name already is not said twice; the rest are groups, such as embedder=openai.
        shown.setdefault(t.param_name(key.lstrip("+~")), t.clean(value))
    operations: list[Operation] = []
    for key, value in shown.items():
        if len(value) > t.PARAM_VALUE_LIMIT:
            path = f"choices/{key.replace('/', '_')}.txt"
            operations.append({"op": "text", "run": run, "path": path, "text": value})
            shown[key] = f"{t.shorten(value, 80)} (whole text: artifact {path})"
    operations.insert(0, {"op": "params", "run": run, "items": shown})
    if overrides:
        operations.append({"op": "tags", "run": run, "items": {"runner.overrides": " ".join(overrides)}})
    return operations


def artifacts(run: str, files: Mapping[str, str | Path]) -> list[Operation]:
    """Texts as they are, files by their path."""
    return [
        {"op": "file", "run": run, "path": path, "file": str(content.absolute())}
        if isinstance(content, Path)
        else {"op": "text", "run": run, "path": path, "text": t.clean(content)}
        for path, content in files.items()
    ]


def metrics(run: str, values: Mapping[str, float]) -> list[Operation]:
    """Means and counts as columns (see ``columns``); what is not a finite number is left out, as it says nothing."""
    shown = columns(values)
    finite = {t.param_name(key): _readable(key, float(value)) for key, value in shown.items() if math.isfinite(value)}
    return [{"op": "metrics", "run": run, "items": finite, "at_ms": int(time.time() * 1000)}] if finite else []


def figures(run: str, values: Mapping[str, float]) -> list[Operation]:
    """Figures of a whole sweep: tags, since each metric of the parent would be a column that is empty for every job."""
    items = {f"runner.{key.replace('/', '.')}": f"{value:g}" for key, value in values.items() if math.isfinite(value)}
    return [{"op": "tags", "run": run, "items": items}] if items else []


def _readable(metric: str, value: float) -> float:
    """Scores are kept to four decimals, since pages show every digit that is stored; money and counts are exact."""
    return round(value, 4) if metric.rpartition("/")[2] in ROUNDED else value


def data_set(run: str, given: Sequence[Any], context: str) -> Operation:
    """A question set or knowledge base as an input of the run."""
    name, digest, size = given
    return {"op": "data_set", "run": run, "name": name, "digest": digest, "size": size, "context": context}


def question_set(given: Sequence[Any], questions: Iterable[Question]) -> Operation:
    """The questions of a set with what is expected of their answers."""
    name, digest, _ = given
    records = []
    for question in questions:
        expected: dict[str, Any] = {}
        if question.reference is not None:
            expected["expected_response"] = t.clean(question.reference)
        if question.gold:
            expected["gold_documents"] = list(question.gold)
        inputs = {"question": t.clean(question.text), "id": t.clean(question.id)}
        records.append({"inputs": inputs, "expectations": expected})
    shown = f"{t.param_name(name)} {digest[:8]}"
    return {"op": "question_set", "name": shown, "tags": {"digest": digest}, "records": records}


def prompts(run: str, texts: Iterable[RubricText]) -> list[Operation]:
    """Registry entries for texts, each linked to the run; equal texts once."""
    operations: dict[tuple[str, int, str], Operation] = {}
    for given in texts:
        earlier = [_prompt(each) for each in given.earlier]
        operation = {"op": "prompt", "run": run, **_prompt(given), **({"earlier": earlier} if earlier else {})}
        operations.setdefault((operation["name"], given.version, given.text), operation)
    return list(operations.values())


def _prompt(given: RubricText) -> dict[str, Any]:
    return {
        "name": t.prompt_name(given.kind, given.id),
        "text": given.text,
        "source": f"{given.id}@{given.version}" + (f" from {given.source}" if given.source else ""),
        "tags": {"version": str(given.version), **({"hash": given.hash} if given.hash else {})},
    }


def controls(run: str, rows: Sequence[ControlRow]) -> list[Operation]:
    """Whether the judges stood their controls, and which did not in words; nothing where no controls were made."""
    if not rows:
        return []
    failed = [row for row in rows if not row.passed]
    items = {"judge_trusted": "false" if failed else "true"}
    if failed:
        items["runner.controls_failed"] = "; ".join(
            f"{row.judge}: {row.control.replace('_', ' ')} {row.as_expected} of {row.cases}" for row in failed
        )
    return [{"op": "tags", "run": run, "items": items}]


def again(run: str, name: str, first: str, experiment_id: str) -> list[Operation]:
    """Name and description of a sweep that only repeats another one."""
    link = f"[the first launch](#/experiments/{experiment_id}/runs/{first})"
    items = {"runner.again": first, "mlflow.note.content": f"Nothing is new here: every record was stored by {link}."}
    return [{"op": "rename", "run": run, "name": f"{name} (again)"}, {"op": "tags", "run": run, "items": items}]


def discard(run: str) -> list[Operation]:
    """Take away a run that nothing came of."""
    return [{"op": "discard", "run": run}]


def end(run: str, status: RunStatus, reason: str = "") -> list[Operation]:
    """Close a run."""
    said = {"runner.status": str(status), **({"runner.reason": reason} if reason else {})}
    ended = {"op": "end", "run": run, "status": MLFLOW_STATUS[status], "at_ms": int(time.time() * 1000)}
    return [{"op": "tags", "run": run, "items": said}, ended]
