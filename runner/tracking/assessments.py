"""The assessments of one trace: one feedback a judge (a number, or an error with its reason), the reference."""

from __future__ import annotations

from typing import Any

from runner.records import Score, VerdictStatus
from runner.tracking import text as t
from runner.tracking.spans import Draft, totals


def feedback(name: str, score: Score | None, identifier: str, run_id: str, span_id: str) -> Draft:
    metadata: dict[str, Any] = {"mlflow.assessment.sourceRunId": run_id}
    draft: Draft = {
        "id": "a-" + t.hex_id(32, identifier, "feedback", name),
        "kind": "feedback",
        "name": name,
        "value": None,
        "error": None,
        "rationale": None,
        "source": ("CODE", "runner"),
        "span_id": span_id or None,
        "metadata": metadata,
    }
    if score is None:
        draft["error"] = ("not_asked", "not_applicable: this judge was not asked about this answer")
        return draft
    draft["source"] = ("LLM_JUDGE" if score.calls else "CODE", t.shorten(score.model, 250) or "runner")
    draft["rationale"] = t.clean(score.rationale) or None
    metadata |= {"rubric": score.rubric, "rubric_hash": score.rubric_hash[:16]}
    usage, cost = totals(score.calls)
    if usage:
        metadata["mlflow.assessment.judgeInputTokens"] = usage["input_tokens"]
        metadata["mlflow.assessment.judgeOutputTokens"] = usage["output_tokens"]
    if cost:
        metadata["mlflow.assessment.judgeCost"] = cost["total_cost"]
    if score.status is not VerdictStatus.SCORED or score.value is None:
        draft["error"] = (score.reason or "unknown", t.clean(f"{score.status}: {score.detail or score.reason}"))
        return draft
    # 4 instead of 4.0: the page shows the number as it is stored.
    draft["value"] = int(score.value) if float(score.value).is_integer() else score.value
    if score.label is not None:
        metadata["label"] = score.label
    if score.passed is not None:
        metadata["passed"] = str(score.passed).lower()
    if score.spread is not None:
        metadata["spread"] = score.spread
    return draft


def expectation(reference: str, identifier: str, span_id: str, run_id: str) -> Draft:
    return {
        "id": "a-" + t.hex_id(32, identifier, "expectation"),
        "kind": "expectation",
        "name": "expected_response",
        "value": t.clean(reference),
        "error": None,
        "rationale": None,
        "source": ("HUMAN", "question set"),
        "span_id": span_id,
        "metadata": {"mlflow.assessment.sourceRunId": run_id},
    }
