"""The spans of one record's trace: root, retriever, generator, a judge each; usage and price on leaf spans only."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from runner.records import AnswerStatus, Call, Record, Score, Usage, VerdictStatus
from runner.tracking import text as t

Draft = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Moment:
    """Where one span lies, in seconds since 1970."""

    start: float
    end: float


def _span(  # noqa: PLR0917
    span_id: str,
    parent: str,
    name: str,
    kind: str,
    moment: Moment,
    inputs: Any,
    outputs: Any,
    extra: dict[str, Any],
    failed: str = "",
) -> Draft:
    attributes = {"mlflow.spanType": kind, "mlflow.spanInputs": inputs, "mlflow.spanOutputs": outputs, **extra}
    return {
        "span_id": span_id,
        "parent": parent,
        "name": name,
        "start_ns": int(moment.start * 1e9),
        "end_ns": int(max(moment.end, moment.start) * 1e9),
        "failed": t.clean(failed),
        "attributes": {key: t.dumps(value) for key, value in attributes.items() if value is not None},
    }


def root(record: Record, span_id: str, moment: Moment) -> Draft:
    answer = record.answer
    extra: dict[str, Any] = {
        "runner.question_id": record.question.id,
        "runner.gold_documents": list(record.question.gold) or None,
        "runner.answerable": record.question.answerable,
        "runner.metadata": dict(record.question.metadata) or None,
        "runner.abstention": record.abstention or None,
        "runner.blame": record.blame or None,
    }
    failed = f"{answer.reason}: {answer.detail}" if answer.status is AnswerStatus.FAILED else ""
    outputs = {"failed": failed} if failed else {"answer": answer.text}
    # The page that compares two questions shows the first few outputs of the root: so the verdicts are there in words,
    # and all in one (it folds everything beyond three).
    if record.scores:
        outputs["verdicts"] = "\n\n".join(f"{name} {_in_words(score)}" for name, score in record.scores.items())
    return _span(span_id, "", "question", "CHAIN", moment, {"question": record.question.text}, outputs, extra, failed)


def _in_words(score: Score) -> str:
    if score.status is not VerdictStatus.SCORED or score.value is None:
        return f"{score.status.replace('_', ' ')} ({score.reason}): {score.detail}"
    label = f" ({score.label})" if score.label else ""
    return f"{score.value:g}{label}: {score.rationale}"


def retriever(record: Record, identifier: str, root_id: str, moment: Moment) -> list[Draft]:
    if not record.retrieved and not record.retrieval_calls:
        return []
    documents = [
        {
            "page_content": found.chunk.text,
            "id": found.chunk.id,
            "metadata": {
                # The page shows the first entry only, some twenty letters of it, and the others on demand.
                "found": f"{found.score:.3f}{' gold' if found.gold else ''}, {found.chunk.document_id}",
                "doc_uri": found.chunk.source or found.chunk.document_id,
                "document_id": found.chunk.document_id,
                "rank": found.rank,
                "score": round(found.score, 6),
                "gold": found.gold,
            },
        }
        for found in record.retrieved
    ]
    extra = {f"runner.{name}": value for name, value in record.retrieval_metrics.items()}
    span = _span(
        t.hex_id(16, identifier, "retrieve"), root_id, "retrieve", "RETRIEVER", moment,
        {"query": record.question.text}, documents, extra,
    )  # fmt: skip
    return [span, *_calls(record.retrieval_calls, span, identifier, "EMBEDDING")]


def generator(record: Record, identifier: str, root_id: str, moment: Moment) -> list[Draft]:
    answer = record.answer
    kind = "CHAT_MODEL" if answer.calls or answer.messages else "TASK"
    inputs = (
        {"messages": [dict(message) for message in answer.messages]}
        if answer.messages
        else {"question": record.question.text}
    )
    failed = f"{answer.reason}: {answer.detail}" if answer.status is AnswerStatus.FAILED else ""
    outputs: Any = answer.text
    if answer.status is AnswerStatus.FAILED:
        outputs = {"failed": answer.reason, "detail": answer.detail}
    extra = {"runner.abstained": answer.abstained}
    span = _span(
        t.hex_id(16, identifier, "generate"), root_id, "generate", kind, moment, inputs, outputs, extra, failed
    )
    return [span, *_calls(answer.calls, span, identifier, "CHAT_MODEL")]


def judge(name: str, score: Score, identifier: str, root_id: str, moment: Moment) -> list[Draft]:
    outputs: dict[str, Any] = {"status": str(score.status)}
    if score.status is VerdictStatus.SCORED:
        outputs |= {"value": score.value, "passed": score.passed}
        if score.label is not None:
            outputs["label"] = score.label
        if score.spread is not None:
            outputs["spread"] = score.spread
    else:
        outputs |= {"reason": score.reason, "detail": score.detail}
    outputs["rationale"] = score.rationale
    if len(score.verdicts) > 1:
        outputs["verdicts"] = [
            {"repeat": verdict.repeat, "status": str(verdict.status), "score": verdict.score, "label": verdict.label,
             "reason": verdict.reason, "reasoning": verdict.reasoning}
            for verdict in score.verdicts
        ]  # fmt: skip
    failed = f"{score.reason}: {score.detail}" if score.status is VerdictStatus.FAILED else ""
    extra: dict[str, Any] = {}
    raw = [verdict.raw for verdict in score.verdicts if verdict.raw]
    if failed and raw:
        extra["runner.reply"] = "\n---\n".join(raw)
    span = _span(
        t.hex_id(16, identifier, "judge", name), root_id, name, "EVALUATOR", moment,
        {"rubric": score.rubric}, outputs, extra, failed,
    )  # fmt: skip
    return [span, *_calls(score.calls, span, identifier, "CHAT_MODEL")]


def _calls(calls: Sequence[Call], span: Draft, identifier: str, kind: str) -> list[Draft]:
    """Usage and price on leaf spans only (MLflow adds them up): on the span for one call, else a span a call."""
    if len(calls) == 1:
        span["attributes"] |= {key: t.dumps(value) for key, value in _call_attributes(calls[0]).items()}
        return []
    children = []
    at = span["start_ns"] / 1e9
    for number, call in enumerate(calls, start=1):
        start = at if call.from_ledger else (t.parse_time(call.started_at) or at)
        moment = Moment(start, start + call.latency_s)
        failed = "" if call.status == "ok" else call.status
        children.append(
            _span(
                t.hex_id(16, identifier, span["span_id"], str(number)),
                span["span_id"],
                f"call {number}",
                kind,
                moment,
                None,
                {"status": call.status},
                _call_attributes(call),
                failed,
            )
        )
    return children


def _call_attributes(call: Call) -> dict[str, Any]:
    attributes: dict[str, Any] = {
        "runner.model": call.model,
        "runner.from_ledger": call.from_ledger,
        "runner.attempts": call.attempts,
        "runner.first_called_at": call.started_at,
        "runner.latency_s": round(call.latency_s, 4),
    }
    if call.requested:
        attributes["runner.requested"] = dict(call.requested)
    if call.new_cost is not None:
        attributes["runner.new_cost_usd"] = float(call.new_cost)
    if call.usage is not None:
        attributes["mlflow.chat.tokenUsage"] = _usage(call.usage)
    if call.total_cost is not None:
        # MLflow prices a span by its own catalogue where it finds a model and no cost. With an unknown price the
        # model is therefore left out of its attribute: what we do not know must not be filled in by another table.
        attributes["mlflow.llm.model"] = call.model
        attributes["mlflow.llm.provider"] = call.provider
        attributes["mlflow.llm.cost"] = _cost([call])
    return attributes


def _usage(usage: Usage) -> dict[str, int]:
    told = {
        "input_tokens": usage.input_tokens,
        "output_tokens": usage.output_tokens,
        "total_tokens": usage.input_tokens + usage.output_tokens,
    }
    if usage.cached_input_tokens:
        told["cache_read_input_tokens"] = usage.cached_input_tokens
    if usage.cache_write_tokens:
        told["cache_creation_input_tokens"] = usage.cache_write_tokens
    return told


def _cost(calls: Iterable[Call]) -> dict[str, float]:
    """Dollars as if nothing had been cached; only for calls whose price is known."""
    known = [call for call in calls if call.total_cost is not None]
    return {
        "input_cost": float(sum((call.input_cost or Decimal(0) for call in known), Decimal(0))),
        "output_cost": float(sum((call.output_cost or Decimal(0) for call in known), Decimal(0))),
        "total_cost": float(sum((call.total_cost or Decimal(0) for call in known), Decimal(0))),
    }


def totals(calls: Sequence[Call]) -> tuple[dict[str, int] | None, dict[str, float] | None]:
    """Usage and cost of a whole trace; no cost as soon as one price is unknown."""
    usages = [call.usage for call in calls if call.usage is not None]
    usage = _usage(sum(usages, Usage())) if usages else None
    cost = _cost(calls) if calls and all(call.total_cost is not None for call in calls) else None
    return usage, cost
