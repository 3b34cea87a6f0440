"""Answers of a service out of its MLflow traces: question, answer, passages, time, what was expected. Only reads."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import Any

from runner.errors import ConfigurationError, Problem, TrackingUnavailable
from runner.tracking.environment import set_switches
from runner.tracking.store import default_uri, first_line, is_server, server_problem, without_password

PAGE = 100
QUESTION_KEYS = ("question", "query", "input", "prompt", "text", "message", "content")
ANSWER_KEYS = ("answer", "output", "response", "result", "text", "message", "content")
PASSAGE_KEYS = ("page_content", "content", "text", "passage", "chunk")
"""Where the usual libraries put them; the first that is there counts."""
EXPECTATIONS = (
    "expected_response", "expected_answer", "expected_output", "reference", "reference_answer", "ground_truth",
    "expected_facts",
)  # fmt: skip
"""What an expectation with the reference answer is usually called (MLflow's own name first)."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which traces, and where in their root span question and answer stand (dotted; empty: looked for)."""

    experiment: str
    since_ms: int | None = None
    until_ms: int | None = None
    question: str = ""
    answer: str = ""
    reference: str = ""
    """The expectation that is the reference answer; empty: the first of ``EXPECTATIONS`` that a trace has."""


@dataclass(frozen=True, slots=True)
class Noted:
    """What people and programs attached to a trace."""

    expectations: Mapping[str, Any] = field(default_factory=dict)
    assessments: Mapping[str, Any] = field(default_factory=dict)
    """Feedback that people gave."""
    tags: Mapping[str, str] = field(default_factory=dict)


class PassedOver(StrEnum):
    """Why a trace holds no answer that can be judged."""

    ERROR = "ended in an error"
    INCOMPLETE = "has no question or no answer"


def traced_answers(uri: str | None, home: Path, wanted: Wanted) -> Iterator[dict[str, Any] | PassedOver]:
    """One row a trace, oldest first, with id, question, answer, contexts and time; where there are some also with
    reference, assessments and tags. ``PassedOver`` where question or answer is missing, and for every trace with the
    status ERROR: what it put out until it failed is no answer that anybody was given.

    Raises TrackingUnavailable where the store does not answer, and ConfigurationError for an unknown experiment.
    """
    set_switches(os.environ)
    uri = uri or default_uri(home)
    shown = without_password(uri)
    if is_server(uri) and (problem := server_problem(uri)):
        what = f"the tracking server {shown} does not answer ({problem}); start it, or correct --uri"
        raise TrackingUnavailable(what)
    import mlflow
    from mlflow.entities.trace_state import TraceState
    from mlflow.exceptions import MlflowException

    client = mlflow.MlflowClient(tracking_uri=uri)
    try:
        found = client.get_experiment_by_name(wanted.experiment)
    except MlflowException as error:
        raise TrackingUnavailable(f"{shown} cannot be read: {first_line(error)}") from error
    if found is None:
        raise ConfigurationError([Problem("--experiment", f"{shown} has no experiment {wanted.experiment}")])
    bounds = [("timestamp_ms >= ", wanted.since_ms), ("timestamp_ms < ", wanted.until_ms)]
    window = " AND ".join(f"{condition}{value}" for condition, value in bounds if value is not None)
    token: str | None = None
    while True:
        try:
            page = client.search_traces(
                locations=[found.experiment_id],
                filter_string=window or None,
                max_results=PAGE,
                order_by=["timestamp_ms ASC"],
                page_token=token,
            )
        except MlflowException as error:
            raise TrackingUnavailable(f"{shown} cannot be read: {first_line(error)}") from error
        for trace in page:
            if trace.info.state == TraceState.ERROR:
                yield PassedOver.ERROR
                continue
            spans = [
                (span.parent_id is None, str(span.span_type), span.inputs, span.outputs) for span in trace.data.spans
            ]
            row = row_of(trace.info.trace_id, trace.info.timestamp_ms, spans, wanted, _noted(trace.info))
            yield PassedOver.INCOMPLETE if row is None else row
        token = page.token
        if not token:
            return


def _noted(info: Any) -> Noted:
    """The newest of each name counts; what was overridden does not."""
    expectations: dict[str, Any] = {}
    feedback: dict[str, Any] = {}
    for one in sorted(info.assessments or (), key=lambda one: one.create_time_ms or 0):
        if one.valid is False:
            continue
        if one.expectation is not None:
            expectations[one.name] = one.expectation.value
        elif one.feedback is not None and str(one.source.source_type) == "HUMAN":
            feedback[one.name] = one.feedback.value
    tags = {name: value for name, value in (info.tags or {}).items() if not name.startswith("mlflow.")}
    return Noted(expectations, feedback, tags)


def row_of(
    identity: str,
    timestamp_ms: int,
    spans: Sequence[tuple[bool, str, Any, Any]],
    wanted: Wanted,
    noted: Noted | None = None,
) -> dict[str, Any] | None:
    """The row of one trace; ``spans``: (is it the root, its type, inputs, outputs)."""
    root = next(((inputs, outputs) for is_root, _, inputs, outputs in spans if is_root), None)
    if root is None:
        return None
    question = text_at(root[0], wanted.question, QUESTION_KEYS)
    answer = text_at(root[1], wanted.answer, ANSWER_KEYS)
    if not question or not answer:
        return None
    contexts = [
        text
        for _, kind, _, outputs in spans
        if kind == "RETRIEVER" and isinstance(outputs, list)
        for item in outputs
        if (text := text_at(item, "", PASSAGE_KEYS))
    ]
    time = datetime.fromtimestamp(timestamp_ms / 1000, UTC).isoformat(timespec="milliseconds")
    row = {"id": identity, "question": question, "answer": answer, "contexts": contexts, "time": time}
    noted = noted or Noted()
    beside = {
        "reference": _reference(noted.expectations, wanted.reference),
        "assessments": dict(noted.assessments),
        "tags": dict(noted.tags),
    }
    return row | {name: value for name, value in beside.items() if value}


def _reference(expectations: Mapping[str, Any], name: str) -> str:
    for key in (name,) if name else EXPECTATIONS:
        value = expectations.get(key)
        if isinstance(value, list):
            value = "\n".join(text for item in value if (text := text_at(item, "", ANSWER_KEYS)))
        text = text_at(value, "", ANSWER_KEYS)
        if text:
            return text
    return ""


def text_at(value: Any, path: str, keys: Sequence[str]) -> str:
    """The text at a dotted path, or without one where libraries usually put it; empty where there is none.

    Of a list of messages the last one counts; a mapping with one entry is looked into, whatever its name.
    """
    for part in filter(None, path.split(".")):
        if isinstance(value, Mapping):
            value = value.get(part)
        elif isinstance(value, list) and part.lstrip("-").isdecimal() and -len(value) <= int(part) < len(value):
            value = value[int(part)]
        else:
            return ""
    if isinstance(value, str):
        return value.strip()
    if path or not isinstance(value, (Mapping, list)):
        return ""
    if isinstance(value, list):
        return text_at(value[-1], "", keys) if value else ""
    named = [value[key] for key in (*keys, "messages", "choices") if value.get(key)]
    inside = named[0] if named else next(iter(value.values())) if len(value) == 1 else None
    return text_at(inside, "", keys)
