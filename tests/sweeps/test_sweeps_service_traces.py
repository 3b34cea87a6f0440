"""Traces that a service wrote with MLflow's own decorators and clients: windows, shares, strata, what was expected."""

from __future__ import annotations

import json
import shutil
import time
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from runner.cli import main
from runner.errors import ExitCode
from tests.fakes.model_server import ModelServer
from tests.sweeps.driving import JUDGE, run, statistics_files
from tests.tracking.conftest import made_tables as made_tables  # noqa: PLC0414

DAY_NS = 86_400 * 10**9
FIRST_DAY = datetime(2026, 11, 1, 12, tzinfo=UTC)
DAYS = 12


@pytest.fixture
def service(home: Path, made_tables: Path) -> Iterator[str]:
    """A store with two answers a day for twelve days, one of each product, one answer with its expectations a day."""
    import mlflow

    before = mlflow.get_tracking_uri()
    home.mkdir()
    shutil.copyfile(made_tables, home / "mlflow.db")
    uri = f"sqlite:///{home / 'mlflow.db'}"
    mlflow.set_tracking_uri(uri)
    mlflow.set_experiment("service")
    try:
        labelled = []
        for day in range(DAYS):
            at = int(FIRST_DAY.timestamp() * 1e9) + day * DAY_NS
            labelled.append(_answered(mlflow, at, day, "app"))
            _answered(mlflow, at + 10**9, day, "web")
        mlflow.flush_trace_async_logging()
        for trace in labelled:
            _label(mlflow, trace)

        @mlflow.trace(span_type="CHAIN")
        def answer(question: str) -> str:
            return f"It is here: {question}"

        answer("Where is the library?")

        @mlflow.trace
        def breaks(question: str) -> str:
            raise ValueError("no answer today")

        with pytest.raises(ValueError, match="no answer today"):
            breaks("Does it work?")

        @mlflow.trace
        def breaks_off(question: str) -> str:
            span = mlflow.get_current_active_span()
            span.set_outputs("It is")
            span.set_status("ERROR")
            return "It is"

        breaks_off("Does it end?")
        mlflow.flush_trace_async_logging()
        yield uri
    finally:
        mlflow.set_tracking_uri(before)


def _answered(mlflow: Any, at: int, day: int, product: str) -> str:
    question, said = f"What is new on day {day} in {product}?", f"On day {day} the {product} got faster."
    root = mlflow.start_span_no_context(
        "serve", span_type="CHAIN", inputs={"question": question}, tags={"product": product}, start_time_ns=at
    )
    found = mlflow.start_span_no_context("search", span_type="RETRIEVER", parent_span=root, inputs={"query": question})
    found.set_outputs([{"page_content": f"Day {day}: {product} is faster.", "metadata": {}}])
    found.end(end_time_ns=at + 1000)
    root.set_outputs({"answer": said})
    root.end(end_time_ns=at + 2000)
    return str(root.trace_id)


def _label(mlflow: Any, trace: str) -> None:
    mlflow.log_expectation(trace_id=trace, name="expected_response", value="an older word")
    time.sleep(0.002)  # the store keeps milliseconds
    mlflow.log_expectation(trace_id=trace, name="expected_response", value="The app got faster.")
    source = mlflow.entities.AssessmentSource("HUMAN", "ann")
    mlflow.log_feedback(trace_id=trace, name="helpful", value=True, source=source)
    mlflow.log_feedback(trace_id=trace, name="machine", value=5)


def exported(*flags: str) -> list[dict[str, Any]]:
    Path("answers.jsonl").unlink(missing_ok=True)
    assert main(["questions", "traces", "--experiment", "service", *flags]) == ExitCode.DONE
    return [json.loads(line) for line in Path("answers.jsonl").read_text(encoding="utf-8").splitlines()]


def test_windows_shares_strata_and_expectations_of_a_service(
    service: str, model_server: ModelServer, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = exported()
    shown = capsys.readouterr().out
    assert f"{2 * DAYS + 3} traces, {2 * DAYS + 1} with question and answer (12 of them with a reference" in shown
    assert "2 passed over (2 of them ended in an error)" in shown, "what was put out until then is no answer"
    assert "judge=[topicality,grounding,reference_match]" in shown
    assert [row["question"] for row in rows[:2]] == ["What is new on day 0 in app?", "What is new on day 0 in web?"]
    assert rows[0]["reference"] == "The app got faster.", "the newest expectation of a name counts"
    assert rows[0]["assessments"] == {"helpful": True}, "what people said, not what machines said"
    assert rows[0]["tags"] == {"product": "app"}
    assert rows[0]["contexts"] == ["Day 0: app is faster."]
    assert "reference" not in rows[1]
    assert rows[-1]["answer"] == "It is here: Where is the library?"
    assert main(["questions", "traces", "--experiment", "service", "--reference", "helpfulness", "--output", "b"]) == 0
    assert "reference" not in Path("b").read_text(encoding="utf-8").replace("reference_match", "")

    days = exported("--since", "2026-11-03", "--until", "2026-11-05T12:00+00:00", "--uri", service)
    assert [row["time"][:10] for row in days] == ["2026-11-03"] * 2 + ["2026-11-04"] * 2, "until is not inside"

    exported("--until", "2026-11-13")
    line = ("questions=traces", "generator=recorded", "knowledge_base=none", "retriever=none")
    judges = "judge=[reference_match,grounding]"
    window = ("questions.since=2026-11-05", "questions.until=2026-11-11", "questions.fraction=0.5")
    strata = ("questions.fields.metadata=[tags.product]", "questions.strata=tags.product")
    assert run(model_server, *line, judges, *window, *strata) == ExitCode.DONE
    found = statistics_files()[0]["assessments"]
    products = Counter("app" if " app" in one["question"] else "web" for one in found)
    assert products == {"app": 3, "web": 3}, "half of six days, spread over the products"
    # The reference judge is asked about those that have a reference, grounding about all.
    assert model_server.count(path="/chat/completions", model=JUDGE) == 3 + 6


def test_a_tracking_server_that_is_away_is_named_with_its_address(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    uri = "http://127.0.0.1:1"
    assert main(["questions", "traces", "--experiment", "x", "--uri", uri]) == ExitCode.BAD_CONFIGURATION
    said = capsys.readouterr().err
    assert "the tracking server http://127.0.0.1:1 does not answer" in said
    assert "correct --uri" in said


def test_a_service_whose_traces_all_failed_is_told_so(service: str, capsys: pytest.CaptureFixture[str]) -> None:
    import mlflow

    mlflow.set_experiment("broken")
    with mlflow.start_span("root") as span:
        span.set_inputs("Q")
        span.set_outputs("A")
        span.set_status("ERROR")
    mlflow.flush_trace_async_logging()
    asked = ["questions", "traces", "--experiment", "broken", "--uri", service]
    assert main(asked) == ExitCode.BAD_CONFIGURATION
    assert "all 1 traces in this window ended in an error" in capsys.readouterr().err
