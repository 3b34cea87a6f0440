"""One record → one trace as plain data (no MLflow here), so that it can be written, spooled and written again.

All ids are derived from the run and the question: a trace that is written twice is one trace.
"""

from __future__ import annotations

import time
from collections.abc import Sequence

from runner.records import AnswerStatus, Call, Record, VerdictStatus
from runner.tracking import text as t
from runner.tracking.assessments import expectation, feedback
from runner.tracking.spans import Draft, Moment, generator, judge, retriever, root, totals

SAMPLE_SIZE = 200
"""About how many questions ``tracking.traces=sample`` keeps; the same ones in every run, so that they pair."""


def trace_id(run_id: str, question_id: str) -> str:
    """The id of the trace of this question in this run."""
    return "tr-" + t.hex_id(32, "trace", run_id, question_id)


def is_traced(record: Record, choice: str, questions: int) -> bool:
    """Whether ``tracking.traces`` keeps this record; ``questions``: how many the run has."""
    if choice == "none":
        return False
    if choice == "failed":
        return record.answer.status is AnswerStatus.FAILED or any(
            score.status is VerdictStatus.FAILED for score in record.scores.values()
        )
    if choice == "sample" and questions > SAMPLE_SIZE:
        place = int(t.hex_id(8, "sample", record.question.id), 16) / 0xFFFFFFFF
        return place < SAMPLE_SIZE / questions
    return True


def build(record: Record, run_id: str, judges: Sequence[str]) -> Draft:
    """The trace of one record: root, retriever, generator and a span a judge, with one feedback a judge.

    ``judges``: all judges of the run; one that the record lacks gets an error feedback, because the
    compare page takes its columns from the first traces only.
    """
    identifier = trace_id(run_id, record.question.id)
    times = _layout(record)
    root_id = t.hex_id(16, identifier, "root")
    spans = [root(record, root_id, times["root"])]
    spans += retriever(record, identifier, root_id, times["retrieve"])
    spans += generator(record, identifier, root_id, times["generate"])
    assessments = []
    for name in dict.fromkeys([*record.scores, *judges]):
        score = record.scores.get(name)
        span_id = ""
        if score is not None:
            judged = judge(name, score, identifier, root_id, times[f"judge {name}"])
            span_id = judged[0]["span_id"]
            spans += judged
        assessments.append(feedback(name, score, identifier, run_id, span_id))
    if record.question.reference is not None:
        assessments.append(expectation(record.question.reference, identifier, root_id, run_id))
    for span in spans:
        span["attributes"]["mlflow.traceRequestId"] = t.dumps(identifier)
    usage, cost = totals(record.calls)
    metadata = {"mlflow.sourceRun": run_id, "mlflow.trace_schema.version": "3"}
    if usage:
        metadata["mlflow.trace.tokenUsage"] = t.dumps(usage)
    if cost:
        metadata["mlflow.trace.cost"] = t.dumps(cost)
    return {
        "trace_id": identifier,
        "question_id": record.question.id,
        "start_ms": int(times["root"].start * 1000),
        "duration_ms": int((times["root"].end - times["root"].start) * 1000),
        "state": "ERROR" if record.answer.status is AnswerStatus.FAILED else "OK",
        "request_preview": t.shorten(f"[{record.question.id}] {record.question.text}", t.PREVIEW_LIMIT),
        "response_preview": t.shorten(_said(record), t.PREVIEW_LIMIT),
        "client_request_id": t.shorten(record.question.id, t.CLIENT_ID_LIMIT),
        "metadata": metadata,
        "tags": {"mlflow.traceName": "question", "question_id": t.shorten(record.question.id, t.TAG_LIMIT)},
        "assessments": assessments,
        "spans": spans,
    }


def _said(record: Record) -> str:
    answer = record.answer
    return answer.text if answer.status is AnswerStatus.ANSWERED else f"(no answer: {answer.reason})"


def _layout(record: Record) -> dict[str, Moment]:
    """When each span was. True times where every call was made now; else the true durations, ending when the record
    was finished: a call that the ledger holds may be months old, and the page would hide a trace of that age."""
    stages: dict[str, tuple[Call, ...]] = {"retrieve": record.retrieval_calls, "generate": record.answer.calls}
    stages |= {f"judge {name}": score.calls for name, score in record.scores.items()}
    finished = t.parse_time(record.finished_at) or time.time()
    true = {name: _true_moment(calls) for name, calls in stages.items() if calls}
    if true and all(true.values()) and not any(call.from_ledger for call in record.calls):
        moments = {name: moment for name, moment in true.items() if moment is not None}
        start = min(moment.start for moment in moments.values())
        end = max([finished, *(moment.end for moment in moments.values())])
        after = moments["generate"].end if "generate" in moments else start
        idle = {"retrieve": Moment(start, start), "generate": Moment(start, start)}
        return {
            "root": Moment(start, end),
            **{name: moments.get(name) or idle.get(name) or Moment(after, after) for name in stages},
        }
    lasted = {name: sum(call.latency_s for call in calls) for name, calls in stages.items()}
    judging = max((seconds for name, seconds in lasted.items() if name.startswith("judge ")), default=0.0)
    start = finished - lasted["retrieve"] - lasted["generate"] - judging
    retrieved = start + lasted["retrieve"]
    generated = retrieved + lasted["generate"]
    places = {"retrieve": Moment(start, retrieved), "generate": Moment(retrieved, generated)}
    return {
        "root": Moment(start, finished),
        **{name: places.get(name) or Moment(generated, generated + lasted[name]) for name in stages},
    }


def _true_moment(calls: Sequence[Call]) -> Moment | None:
    starts = [t.parse_time(call.started_at) for call in calls]
    known = [start for start in starts if start is not None]
    if len(known) < len(calls):
        return None
    ends = [start + call.latency_s for start, call in zip(known, calls, strict=True)]
    return Moment(min(known), max(ends))
