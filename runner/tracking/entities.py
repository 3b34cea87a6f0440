"""Plain trace drafts → MLflow's entities, for its bulk entrance (not public: MLflow is pinned to one minor version)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def trace_info_from_draft(draft: Mapping[str, Any], experiment_id: str) -> Any:
    """The ``TraceInfo`` of a draft, its assessments included."""
    from mlflow.entities import TraceInfo, TraceLocation, TraceState

    return TraceInfo(
        trace_id=draft["trace_id"],
        trace_location=TraceLocation.from_experiment_id(experiment_id),
        request_time=draft["start_ms"],
        state=TraceState(draft["state"]),
        request_preview=draft["request_preview"],
        response_preview=draft["response_preview"],
        client_request_id=draft["client_request_id"],
        execution_duration=draft["duration_ms"],
        trace_metadata=dict(draft["metadata"]),
        tags=dict(draft["tags"]),
        assessments=[_assessment(given, draft) for given in draft["assessments"]],
    )


def _assessment(given: Mapping[str, Any], draft: Mapping[str, Any]) -> Any:
    from mlflow.entities import AssessmentError, AssessmentSource, Expectation, Feedback

    at = draft["start_ms"] + draft["duration_ms"]
    source_type, source_id = given["source"]
    common: dict[str, Any] = {
        "name": given["name"],
        "value": given["value"],
        "source": AssessmentSource(source_type=source_type, source_id=source_id),
        "trace_id": draft["trace_id"],
        "span_id": given["span_id"],
        "metadata": dict(given["metadata"]),
        "create_time_ms": at,
        "last_update_time_ms": at,
    }
    if given["kind"] == "expectation":
        made: Any = Expectation(**common)
    else:
        error = given["error"]
        made = Feedback(
            **common,
            rationale=given["rationale"],
            error=AssessmentError(error_code=error[0], error_message=error[1]) if error else None,
        )
    made.assessment_id = given["id"]
    return made


def span_from_draft(trace_id: str, given: Mapping[str, Any]) -> Any:
    """The finished ``Span`` of a draft."""
    from mlflow.entities import Span
    from mlflow.tracing.utils import build_otel_context
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.trace import ReadableSpan
    from opentelemetry.trace import Status, StatusCode

    otel_trace_id = int(trace_id.removeprefix("tr-"), 16)
    parent = given["parent"]
    status = Status(StatusCode.ERROR, given["failed"]) if given["failed"] else Status(StatusCode.OK)
    return Span(
        ReadableSpan(
            name=given["name"],
            context=build_otel_context(otel_trace_id, int(given["span_id"], 16)),
            parent=build_otel_context(otel_trace_id, int(parent, 16)) if parent else None,
            start_time=given["start_ns"],
            end_time=given["end_ns"],
            attributes=given["attributes"],
            status=status,
            # A span without a resource looks for one on the machine, every time.
            resource=Resource.get_empty(),
        )
    )
