"""One's own application and recorded answers through the command line: swept, resumed, planned and paid exactly."""

from __future__ import annotations

import csv
import json
import re
import shutil
import signal
import threading
import time
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

import runner
from experiments.own_application import server as own_server
from runner.config import compose_jobs
from runner.errors import ExitCode
from runner.records import RunResult, RunStatus
from tests.fakes.model_server import ModelServer
from tests.fakes.shared_data import shared
from tests.sweeps.driving import GENERATOR, JUDGE, arguments, money, run, start, statistics_files

pytestmark = pytest.mark.usefixtures("home")

NO_RETRIEVAL = ["knowledge_base=none", "retriever=none", "embedder=none"]
SWEPT = ["experiment=own_application", "stack=extractive", "tracking=none"]
APP = Path(__file__).parents[2] / "experiments" / "own_application"


def said(results: tuple[RunResult, ...]) -> list[list[tuple[str, tuple[str, ...]]]]:
    return [[(record.answer.text, record.answer.contexts) for record in result.records] for result in results]


@pytest.fixture
def service() -> Iterator[str]:
    server = own_server.serve()
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/answer"
    server.shutdown()
    server.server_close()


def test_a_callable_a_service_and_a_program_are_swept_over_two_settings_and_say_the_same(
    service: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    by_callable = runner.sweep(SWEPT).runs
    assert [result.status for result in by_callable] == [RunStatus.COMPLETE] * 4
    assert len({result.job_key for result in by_callable}) == 4
    passages = [{len(record.answer.contexts) for record in result.records} for result in by_callable]
    assert passages[:2] == [{1}, {1}]
    assert max(passages[2]) == max(passages[3]) == 3
    for result in by_callable:
        assert result.choices["generator.target"] == "own_application.app:answer"
        # The judge of the context saw the passages that the application found.
        assert all(record.scores["grounding"].status == "scored" for record in result.records)
        assert all(not record.retrieval_metrics and record.blame != "retriever_miss" for record in result.records)
    settings = ["+generator.settings.passages=1,3", "+generator.settings.sentences=1,2"]
    paths = ["generator.answer_path=data.text", "generator.contexts_path=sources.*.text"]
    data = [*NO_RETRIEVAL, "questions=academic_faq_demo", "stack=extractive", "tracking=none"]
    over_http = [*data, "generator=http", f"generator.url={service}", *paths, *settings]
    by_http = runner.sweep(over_http).runs
    assert said(by_http) == said(by_callable)
    # What is finished is not asked again: the journal keeps answers that no ledger holds.
    monkeypatch.setattr(own_server, "answer", lambda *_: pytest.fail("was asked again"))
    again = runner.sweep(over_http).runs
    assert said(again) == said(by_http)
    assert [result.resumed for result in again] == [10] * 4
    program = "generator.command=[python,own_application/command.py]"
    few = ["questions.limit=2", "+generator.settings.passages=1,3", "+generator.settings.sentences=2"]
    by_command = runner.sweep([*data, "generator=command", program, *few]).runs
    assert said(by_command) == [said(by_callable)[place][:2] for place in (1, 3)]


ASKING = [*NO_RETRIEVAL, "generator=callable", "generator.target=own_application.app:answer_model"]


def test_its_calls_are_in_the_ledger_and_the_same_again_pays_nothing(model_server: ModelServer, home: Path) -> None:
    line = [*ASKING, "questions.limit=4", "+generator.settings.passages=1,2"]
    first = runner.sweep(arguments(model_server, *line))
    assert first.status is RunStatus.COMPLETE
    assert model_server.count(model=GENERATOR) == 8
    assert model_server.count() == model_server.unique()
    paid = [call.new_cost for result in first.runs for call in result.calls]
    assert sum(cost for cost in paid if cost) == money(model_server)
    assert {call.stage for call in first.runs[0].records[0].answer.calls} == {"generate"}
    asked = model_server.count()
    for journal in (home / "jobs").glob("*/records.jsonl"):
        journal.unlink()
    second = runner.sweep(arguments(model_server, *line))
    assert model_server.count() == asked
    assert said(second.runs) == said(first.runs)


def test_an_application_that_fails_on_some_questions_keeps_the_rest(model_server: ModelServer) -> None:
    Path("own.py").write_text(
        "def answer(text):\n    if 'library' in text.lower(): raise ValueError('closed')\n    return 'Yes.'\n"
    )
    line = [*NO_RETRIEVAL, "generator=callable", "generator.target=own:answer", "judge=[topicality]"]
    assert run(model_server, *line, "questions=academic_faq") == ExitCode.INCOMPLETE
    (statistics,) = statistics_files()
    answers = [one["answer"] for one in statistics["assessments"]]
    assert 0 < answers.count("") < len(answers)
    asked = model_server.count()
    assert asked == len({one["question"] for one in statistics["assessments"] if one["answer"]})
    # Other code is another job: the bytes of the module are part of the key.
    Path("own.py").write_text("def answer(text): return 'Yes.'\n")
    assert run(model_server, *line, "questions=academic_faq") == ExitCode.DONE
    assert model_server.count() == asked + answers.count("")


def test_the_plan_asks_no_application_and_says_what_it_cannot_know(
    model_server: ModelServer, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    # Wide enough for the table: a narrow terminal gets a block a job instead.
    monkeypatch.setenv("COLUMNS", "300")
    Path("own.py").write_text("def answer(text): open('asked', 'w').write(text)\n")
    line = [*NO_RETRIEVAL, "generator=callable", "generator.target=own:answer", "questions.limit=5"]
    assert run_plan(model_server, *line) == ExitCode.DONE
    out = re.sub(r"\s+", " ", capsys.readouterr().out)
    assert "known only when it runs" in out
    assert not Path("asked").exists()
    assert model_server.count() == 0
    # Five questions, two judges.
    assert " 10 10 0" in out


def run_plan(server: ModelServer, *overrides: str) -> int:
    return runner.cli.main(["plan", *arguments(server, *overrides)])


def test_what_is_wrong_with_an_application_is_said_together_before_anything_is_paid(
    model_server: ModelServer, capsys: pytest.CaptureFixture[str]
) -> None:
    code = run(model_server, *NO_RETRIEVAL, "generator=callable", "generator.target=nowhere:answer")
    assert code == ExitCode.BAD_CONFIGURATION
    code = run(model_server, *NO_RETRIEVAL, "generator=http", "generator.url=ftp://x", "generator.request.question=x")
    assert code == ExitCode.BAD_CONFIGURATION
    told = re.sub(r"\s+", " ", capsys.readouterr().err)
    for sentence in ("there is no module nowhere", "http:// or https://", "does not hold {question}"):
        assert sentence in told
    assert "Traceback" not in told
    assert model_server.count() == 0


def test_the_key_holds_settings_and_the_bytes_of_scripts_and_leaves_models_alone() -> None:
    shutil.copytree(APP, "mine")

    def key(*overrides: str) -> str:
        (job,) = compose_jobs([*NO_RETRIEVAL, "stack=extractive", *overrides], multirun=False)
        return job.key

    program = ["generator=command", "generator.command=[python,mine/command.py]"]
    first = key(*program)
    assert key(*program, "calls.concurrency=2", "generator.timeout_s=5") == first
    assert key(*program, "+generator.settings.k=1") != first
    Path("mine/command.py").write_text("print(1)\n")
    assert key(*program) != first
    service = ["generator=http", "generator.url=http://localhost:1/a"]
    assert key(*service) == key(*service, "+generator.headers_env.X=SOME_NAME")
    assert key(*service) != key(*service, "generator.answer_path=b")


# --- recorded answers -----------------------------------------------------------------------------------------------


def course(server: ModelServer) -> list[str]:
    path = shared("course_faq/rag-answers-new.csv")
    return ["experiment=recorded_answers", f"questions.path={path}", "generator.model=recorded", *NO_RETRIEVAL]


def test_395_recorded_answers_are_judged_at_the_exact_price_and_the_same_again_pays_nothing(
    model_server: ModelServer, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(model_server, *course(model_server)) == ExitCode.DONE
    assert model_server.count() == model_server.unique() == model_server.count(model=JUDGE) == 395
    (statistics,) = statistics_files()
    assert Decimal(str(statistics["run_info"]["usage"]["total_cost"])) == money(model_server)
    out = capsys.readouterr().out
    found = re.search(r"reference_match: good (\d+) \((.*?)%\), bad (\d+) \((.*?)%\) of 395 scored", out)
    assert found
    good, bad = int(found[1]), int(found[3])
    assert good + bad == 395
    assert float(found[2]) == pytest.approx(good / 3.95, abs=0.06)
    assert f"{bad - 10} more" in out
    assert "for 395 calls" in out
    rows = verdict_rows()
    assert list(rows[0]) == ["question", "document", "score", "reasoning"]
    assert [sum(row["score"] == word for row in rows) for word in ("good", "bad")] == [good, bad]
    assert all(row["document"] and row["reasoning"] for row in rows)

    assert run(model_server, *course(model_server)) == ExitCode.DONE
    assert model_server.count() == 395
    assert verdict_rows() == rows


def verdict_rows() -> list[dict[str, str]]:
    newest = max(Path("outputs").glob("*/*"), key=str)
    with (newest / "verdicts.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_a_killed_launch_goes_on_and_only_the_rest_is_paid(home: Path) -> None:
    with ModelServer(latency_s=0.1) as server:
        process = start(server, *course(server), "calls.concurrency=8")
        deadline = time.monotonic() + 60
        while server.count() < 100 and time.monotonic() < deadline:
            time.sleep(0.02)
        process.send_signal(signal.SIGKILL)
        process.wait()
        before = server.count()
        assert 100 <= before < 395
        server.latency_s = 0.0
        assert run(server, *course(server)) == ExitCode.DONE
        # Replies that were on the wire when the process was killed never landed: at most one a place.
        assert 395 <= server.count() <= 395 + 8
        assert server.unique() == 395
        assert len(verdict_rows()) == 395


def test_live_answers_and_the_same_recorded_get_the_same_verdicts_from_the_ledger(
    model_server: ModelServer, home: Path
) -> None:
    judges = "judge=[grounding,topicality,reference_match]"
    assert run(model_server, judges, "questions.limit=6") == ExitCode.DONE
    live = statistics_files()[0]["assessments"]
    (job,) = (home / "jobs").iterdir()
    assert runner.cli.main(["report", job.name, "--jsonl", "run.jsonl"]) == ExitCode.DONE
    asked = model_server.count()
    recorded = ["questions=stored_run", "generator=recorded", "generator.model=recorded", *NO_RETRIEVAL]
    assert run(model_server, judges, *recorded) == ExitCode.DONE
    again = statistics_files()[0]["assessments"]
    assert model_server.count() == asked
    assert [without_chunks(one) for one in again] == [without_chunks(one) for one in live]


def without_chunks(assessment: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in assessment.items() if key != "chunks"}


def test_stored_verdicts_are_listed_and_written_without_a_call(
    model_server: ModelServer, home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = [{"question": f"Q{n}?", "response": f"=A{n}", "truth": f"A{n}", "ctx": [f"A{n}"]} for n in range(3)]
    Path("log.jsonl").write_text("\n".join(json.dumps({"data": row}) for row in [*rows, rows[0]]))
    names = {"text": "question", "answer": "response", "reference": "truth", "contexts": "ctx"}
    fields = [f"questions.fields.{key}=data.{column}" for key, column in names.items()]
    line = ["experiment=recorded_answers", "questions.path=log.jsonl", "questions.fields.gold=null", *fields]
    assert run(model_server, *line, *NO_RETRIEVAL, "generator.model=recorded", "judge=[grounding,reference_match]") == 0
    # Three different rows, one of them twice.
    assert model_server.count() == 6
    (job,) = (home / "jobs").iterdir()
    capsys.readouterr()
    assert runner.cli.main(["report", job.name, "--verdicts"]) == ExitCode.DONE
    assert "for 6 calls" in capsys.readouterr().out
    assert runner.cli.main(["report", job.name, "--verdicts-csv", "v.csv"]) == ExitCode.DONE
    with Path("v.csv").open(newline="") as file:
        written = list(csv.DictReader(file))
    assert list(written[0]) == ["judge", "question", "document", "score", "reasoning"]
    assert len(written) == 6
