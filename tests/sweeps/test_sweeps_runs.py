"""One run and small sweeps through the command line: exact call counts, exact money, replay, resume, exit codes."""

from __future__ import annotations

import asyncio
import json
import re
import signal
import time
from decimal import Decimal
from pathlib import Path

import pytest

from runner.cli import main
from runner.config import compose_jobs
from runner.errors import ExitCode
from runner.sweeps.plan import plan_sweep
from tests.fakes.model_server import ModelServer, fault
from tests.sweeps.driving import GENERATOR, JUDGE, arguments, money, run, start, statistics_files

pytestmark = pytest.mark.usefixtures("home")

THREE_JUDGES = "judge=[grounding,topicality,reference_match]"


def test_forty_questions_with_three_judges_make_exactly_the_calls_of_the_arithmetic(
    model_server: ModelServer,
) -> None:
    assert run(model_server, THREE_JUDGES, "questions.limit=40") == ExitCode.DONE
    assert model_server.count(model=GENERATOR) == 40
    assert model_server.count(model=JUDGE) == 120
    (statistics,) = statistics_files()
    usage = statistics["run_info"]["usage"]
    tokens = model_server.tokens()
    assert usage["total_input_tokens"] == tokens.input
    assert usage["total_output_tokens"] == tokens.output
    assert Decimal(str(usage["total_cost"])) == money(model_server)
    assert len(statistics["assessments"]) == 40
    assert statistics["run_info"]["total_api_calls"] == 160


def test_the_same_run_again_pays_nothing_and_says_the_same(model_server: ModelServer) -> None:
    run(model_server, THREE_JUDGES, "questions.limit=6")
    (first,) = statistics_files()
    asked = model_server.count()
    assert run(model_server, THREE_JUDGES, "questions.limit=6") == ExitCode.DONE
    (second,) = statistics_files()
    assert model_server.count() == asked
    assert second["assessments"] == first["assessments"]
    assert second["run_info"]["usage"] == first["run_info"]["usage"]


def test_a_lost_journal_is_replayed_from_the_ledger_to_the_same_records(model_server: ModelServer, home: Path) -> None:
    run(model_server, "questions.limit=5")
    (first,) = statistics_files()
    asked = model_server.count()
    (journal,) = (home / "jobs").glob("*/records.jsonl")
    journal.unlink()
    assert run(model_server, "questions.limit=5") == ExitCode.DONE
    (second,) = statistics_files()
    assert model_server.count() == asked
    assert second["calls"] == first["calls"]
    assert second["assessments"] == first["assessments"]


def test_a_sweep_pays_each_distinct_call_once(model_server: ModelServer) -> None:
    code = run(
        model_server,
        "-m",
        "questions.limit=8",
        "retriever.top_k=1,3",
        f"generator.model={GENERATOR},other-answerer",
        "rubric@judges.topicality.rubric=topicality_v1,topicality_v2",
    )
    assert code == ExitCode.DONE
    assert model_server.count() == model_server.unique()
    # 2 top_k × 2 generators; the rubric does not make a new answer.
    assert model_server.count(model=GENERATOR) == 16
    assert model_server.count(model="other-answerer") == 16


def test_one_unknown_model_ends_only_its_own_job(model_server: ModelServer, capsys: pytest.CaptureFixture[str]) -> None:
    model_server.when("model_not_found", model="no-such-model")
    code = run(model_server, "-m", "questions.limit=4", f"generator.model={GENERATOR},no-such-model")
    assert code == ExitCode.INCOMPLETE
    output = capsys.readouterr()
    assert "no-such-model" in output.out + output.err
    assert "Traceback" not in output.out + output.err
    first, second = statistics_files()
    assert len(first["assessments"]) == 4
    assert second["assessments"] == []


def test_a_refused_key_stops_the_sweep_at_once_with_one_sentence(
    model_server: ModelServer, capsys: pytest.CaptureFixture[str]
) -> None:
    model_server.when("unauthorized", model=GENERATOR)
    assert run(model_server, "-m", "questions.limit=20", "retriever.top_k=1,3") == ExitCode.INCOMPLETE
    assert model_server.count(model=JUDGE) == 0
    output = capsys.readouterr()
    assert "Traceback" not in output.out + output.err
    assert "401" in output.out + output.err


def test_half_the_budget_stops_within_it_and_a_higher_cap_pays_only_the_rest(model_server: ModelServer) -> None:
    limits = ("questions.limit=12", "generator.max_tokens=60", "judge_defaults.max_tokens=60")
    with ModelServer() as elsewhere:
        run(elsewhere, *limits, "seed=8")
        whole = money(elsewhere)
        needed = elsewhere.count()
    cap = whole / 2
    assert run(model_server, *limits, f"budget.max_usd={cap}") == ExitCode.BUDGET_REACHED
    assert Decimal(0) < money(model_server) <= cap
    paid = model_server.count()
    assert 0 < paid < needed
    assert run(model_server, *limits, f"budget.max_usd={whole * 3}") == ExitCode.DONE
    assert model_server.count() == needed
    assert model_server.unique() == needed


def test_a_budget_of_nothing_pays_nothing(model_server: ModelServer) -> None:
    assert run(model_server, "questions.limit=3", "budget.max_usd=0") == ExitCode.BUDGET_REACHED
    assert model_server.count() == 0


def test_a_cap_with_an_unknown_price_refuses_to_start(
    model_server: ModelServer, capsys: pytest.CaptureFixture[str]
) -> None:
    code = run(model_server, "questions.limit=3", "budget.max_usd=1", "generator.model=never-priced")
    assert code == ExitCode.BAD_CONFIGURATION
    assert model_server.count() == 0
    assert "never-priced" in capsys.readouterr().err


def test_failed_verdicts_leave_the_rest_whole_and_the_exit_code_says_so(model_server: ModelServer) -> None:
    model_server.when("refusal", model=JUDGE)
    assert run(model_server, "questions.limit=3") == ExitCode.INCOMPLETE
    (statistics,) = statistics_files()
    assert all(assessment["answer"] for assessment in statistics["assessments"])


def test_duplicate_jobs_of_a_sweep_run_once_and_are_named(
    model_server: ModelServer, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(model_server, "-m", "questions.limit=2", "retriever.top_k=1,1") == ExitCode.DONE
    assert model_server.count(model=GENERATOR) == 2
    assert "dropped" in capsys.readouterr().err


def test_retriever_only_runs_make_no_call(model_server: ModelServer) -> None:
    assert run(model_server, "generator=none", "judge=[]", "questions.limit=5", "retriever.top_k=3") == ExitCode.DONE
    assert model_server.count() == 0
    (statistics,) = statistics_files()
    assert len(statistics["assessments"]) == 5


@pytest.mark.parametrize("moment", [4, 11, 23])
def test_kill_dash_nine_loses_at_most_the_calls_in_flight(moment: int, home: Path) -> None:
    concurrency = 4
    limits = ("questions.limit=12", f"calls.concurrency={concurrency}")
    with ModelServer(latency_s=0.05) as server:
        process = start(server, *limits)
        while server.count() < moment and process.poll() is None:
            time.sleep(0.01)
        process.kill()
        process.communicate()
        assert process.returncode == -signal.SIGKILL
        assert run(server, *limits) == ExitCode.DONE
        # Two models, each with its own limit.
        assert server.count() <= server.unique() + 2 * concurrency
        (statistics,) = statistics_files()
        ids = [assessment["question"] for assessment in statistics["assessments"]]
        assert len(ids) == len(set(ids)) == 12
    (journal,) = (home / "jobs").glob("*/records.jsonl")
    whole = [json.loads(line)["question"]["id"] for line in journal.read_text().splitlines() if line.endswith("}")]
    assert len(set(whole)) == 12


def test_control_c_keeps_what_is_finished_and_exits_130(home: Path) -> None:
    with ModelServer(latency_s=0.1) as server:
        process = start(server, "questions.limit=40", "calls.concurrency=2")
        while server.count(model=JUDGE) < 8 and process.poll() is None:
            time.sleep(0.02)
        process.send_signal(signal.SIGINT)
        output, _ = process.communicate(timeout=30)
        assert process.returncode == ExitCode.INTERRUPTED, output
        assert "Traceback" not in output
        paid = server.count()
        assert run(server, "questions.limit=40", "calls.concurrency=2") == ExitCode.DONE
        assert server.count() <= server.unique() + 4
        assert server.count() > paid


def test_replies_that_land_after_control_c_are_in_what_is_said_to_be_paid(home: Path) -> None:
    with ModelServer(latency_s=0.5) as server:
        process = start(server, "questions.limit=12", "calls.concurrency=4")
        while server.count(model=JUDGE) < 2 and process.poll() is None:
            time.sleep(0.01)
        process.send_signal(signal.SIGINT)
        output, _ = process.communicate(timeout=30)
        assert process.returncode == ExitCode.INTERRUPTED, output
        (spent,) = re.findall(r"spent \$([0-9.]+)", output)
        assert float(spent) == pytest.approx(float(money(server)), rel=0.02)
        (besides,) = re.findall(r"of that, \$([0-9.]+) went to questions left unfinished", output)
        (statistics,) = statistics_files()
        counted = Decimal(str(statistics["run_info"]["usage"]["total_cost"]))
        assert float(counted + Decimal(besides)) == pytest.approx(float(money(server)), rel=0.02)
        paid = server.count()
        assert run(server, "questions.limit=12", "calls.concurrency=4") == ExitCode.DONE
        assert server.count() == server.unique() > paid


@pytest.mark.parametrize("kind", ["unauthorized", "insufficient_quota"])
def test_a_launch_that_a_server_ends_half_way_says_all_that_it_paid(
    kind: str, capsys: pytest.CaptureFixture[str], home: Path
) -> None:
    """Replies to questions that were given up stood in the ledger, and in no sum that anybody was shown."""
    with ModelServer(latency_s=0.05) as server:
        server.when(kind, model=JUDGE, contains="live on campus")
        line = ["-m", "retriever.top_k=1,3", "questions=academic_faq", "calls.concurrency=4"]
        assert run(server, *line) == ExitCode.INCOMPLETE
        printed = re.sub(r"\s+", " ", capsys.readouterr().out)
        (spent,) = re.findall(r"spent \$([0-9.]+)", printed)
        assert float(spent) == pytest.approx(float(money(server)), rel=0.02)
        assert "went to questions left unfinished" in printed


def test_the_plan_makes_no_call_and_the_spend_lands_inside_its_range(
    model_server: ModelServer, capsys: pytest.CaptureFixture[str], home: Path
) -> None:
    overrides = arguments(model_server, "questions.limit=10", "retriever.top_k=1,3")
    jobs = compose_jobs(overrides, multirun=True)
    plan = asyncio.run(plan_sweep(jobs, {}, home))
    assert model_server.count() == 0
    assert plan.total.cost is not None
    assert run(model_server, "-m", "questions.limit=10", "retriever.top_k=1,3") == ExitCode.DONE
    assert plan.total.cost.low <= money(model_server) <= plan.total.cost.high
    assert plan.total.unique_low <= model_server.count() <= plan.total.unique_high
    again = asyncio.run(plan_sweep(jobs, {}, home))
    assert again.total.held_low == again.total.unique_high == model_server.count()
    assert again.total.cost is not None
    assert again.total.cost.high == 0


def test_a_fault_once_is_retried_and_costs_what_the_server_says(model_server: ModelServer) -> None:
    model_server.queue(fault("rate_limited", retry_after="0.01"), "server_error", None)
    assert run(model_server, "questions.limit=4") == ExitCode.DONE
    (statistics,) = statistics_files()
    assert Decimal(str(statistics["run_info"]["usage"]["total_cost"])) == money(model_server)


def test_what_an_interrupted_question_cost_is_not_lost_from_the_account(model_server: ModelServer) -> None:
    """Answers that were paid for, but whose judge was refused, stood in no record and so in no total."""
    model_server.when("unauthorized", model=JUDGE)
    assert run(model_server, "questions.limit=3") == ExitCode.INCOMPLETE
    paid = money(model_server, [GENERATOR])
    assert paid > 0
    (statistics,) = statistics_files()
    assert Decimal(str(statistics["run_info"]["usage"]["total_cost"])) == paid
    assert statistics["run_info"]["total_api_calls"] == model_server.count(model=GENERATOR)


def test_the_first_of_equal_jobs_keeps_its_own_name(
    model_server: ModelServer, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(model_server, "-m", "questions.limit=2", "retriever.top_k=1,1,2,2") == ExitCode.DONE
    output = capsys.readouterr()
    assert "top_k=1 is given more than once and runs once" in output.err
    assert "#2" not in output.out


@pytest.mark.parametrize("key", ["“sk-proj-pasted-with-quotes-0123456789”", "sk-proj-with\x0bcontrol-0123456789"])
def test_a_key_that_no_header_can_hold_is_one_sentence_and_never_shown(
    key: str, model_server: ModelServer, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PASTED_KEY", key)
    assert run(model_server, "questions.limit=2", "endpoint.api_key_env=PASTED_KEY") == ExitCode.BAD_CONFIGURATION
    output = capsys.readouterr()
    assert "PASTED_KEY" in output.err
    assert "0123456789" not in output.out + output.err
    assert model_server.count() == 0


def test_half_a_surrogate_in_an_answer_is_text_like_any_other(model_server: ModelServer) -> None:
    model_server.when(fault("text", text="Broken \ud800 but told."), model=GENERATOR)
    assert run(model_server, "questions.limit=2") in (ExitCode.DONE, ExitCode.INCOMPLETE)
    (statistics,) = statistics_files()
    assert all(assessment["answer"] for assessment in statistics["assessments"])


def test_a_home_that_no_database_address_can_hold_is_refused(
    model_server: ModelServer, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("RUNNER_HOME", str(tmp_path / "50% off?"))
    assert run(model_server, "questions.limit=2") == ExitCode.BAD_CONFIGURATION
    assert model_server.count() == 0


def test_the_plan_says_which_setting_made_a_job_new(
    model_server: ModelServer, capsys: pytest.CaptureFixture[str]
) -> None:
    """Symptom 39: a miss without a reason."""
    assert run(model_server, "questions.limit=2", "retriever.top_k=1") == ExitCode.DONE
    capsys.readouterr()
    assert main(["plan", *arguments(model_server, "questions.limit=2", "retriever.top_k=2")]) == ExitCode.DONE
    assert "retriever.top_k is 2, was 1" in " ".join(capsys.readouterr().out.split())
    assert main(["plan", *arguments(model_server, "questions.limit=2", "retriever.top_k=1")]) == ExitCode.DONE
    assert "is new" not in capsys.readouterr().out


def test_an_unreadable_verdict_is_replayed_as_it_was_and_asked_again_only_on_request(
    model_server: ModelServer, home: Path
) -> None:
    """``calls.retry_failed=true`` replayed unreadable verdicts, as the ledger holds them as replies that came."""
    told = ("questions.limit=3", "judge=[grounding]")
    # The first reply and the one to the question that follows it; whoever asks a third time gets a good one.
    model_server.when("malformed", model=JUDGE, first_attempts=1)
    assert run(model_server, *told) == ExitCode.INCOMPLETE
    assert model_server.by_model() == {GENERATOR: 3, JUDGE: 6}
    (first,) = statistics_files()
    (journal,) = (home / "jobs").glob("*/records.jsonl")
    kept = journal.read_bytes()
    for lost in (False, True):
        if lost:
            journal.unlink()
        assert run(model_server, *told) == ExitCode.INCOMPLETE
        (again,) = statistics_files()
        assert model_server.count() == 9
        assert again["assessments"] == first["assessments"]
        assert again["run_info"]["usage"] == first["run_info"]["usage"]
    journal.write_bytes(kept)
    again = [*arguments(model_server, *told), "calls.retry_failed=true"]
    plan = asyncio.run(plan_sweep(compose_jobs(again, multirun=False), {}, home))
    assert plan.total.held_low == plan.total.unique_high - 3
    assert plan.total.cost is not None
    before = money(model_server)
    assert main(again) == ExitCode.DONE
    assert plan.total.cost.low <= money(model_server) - before <= plan.total.cost.high
    assert model_server.by_model() == {GENERATOR: 3, JUDGE: 9}
    assert run(model_server, *told) == ExitCode.DONE
    assert run(model_server, *told, "calls.retry_failed=true") == ExitCode.DONE
    assert model_server.count() == 12
