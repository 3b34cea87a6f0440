"""What was really paid lies inside the plan: with controls, and after a small change to something that has results."""

from __future__ import annotations

import asyncio
import json
import shutil
from decimal import Decimal
from pathlib import Path

import pytest

from runner.cli import main
from runner.config import compose_jobs
from runner.errors import ExitCode
from runner.sweeps.plan import plan_sweep
from runner.sweeps.plan_totals import JobPlan
from tests.fakes.model_server import ModelServer
from tests.sweeps.driving import CHECKOUT, arguments, money

EXAMPLE = CHECKOUT / "experiments" / "academic_faq"
VECTORS = "vectors"
VECTOR_PRICE = Decimal("0.13")
DENSE = ("retriever=dense", "embedder=openai_compatible", f"embedder.model={VECTORS}")


def line_of(server: ModelServer, *overrides: str) -> list[str]:
    """The arguments with prices that know the embedding model, too."""
    line = arguments(server, *overrides)
    listed = Path("conf/prices/test.yaml").read_text(encoding="utf-8")
    Path("conf/prices/mine.yaml").write_text(f"{listed}  - {{model: {VECTORS}, input: {VECTOR_PRICE}}}\n", "utf-8")
    return [word if word != "prices=test" else "prices=mine" for word in line]


def paid(server: ModelServer) -> Decimal:
    return money(server) + server.tokens(VECTORS).input * VECTOR_PRICE / 1_000_000


def planned(line: list[str], home: Path) -> JobPlan:
    multirun = any("," in word and not word.startswith(("judge=", "questions")) for word in line)
    return asyncio.run(plan_sweep(compose_jobs(line, multirun=multirun), {}, home)).total


def plan_then_run(server: ModelServer, home: Path, *overrides: str, verb: str = "") -> tuple[JobPlan, int]:
    """The plan, and how many calls were made after it; what was paid and asked must lie inside the plan."""
    line = line_of(server, *overrides)
    asked, spent = server.count(), paid(server)
    plan = planned(line, home)
    assert server.count() == asked
    assert main([verb, *line] if verb else line) in (ExitCode.DONE, ExitCode.GATE_FAILED)
    asked, spent = server.count() - asked, paid(server) - spent
    assert plan.cost is not None
    assert plan.cost.low <= plan.cost.expected <= plan.cost.high
    assert plan.cost.low <= spent <= plan.cost.high
    assert plan.new_low <= asked <= plan.new_high
    assert plan.unique_low - plan.held_high <= asked <= plan.unique_high - plan.held_low
    return plan, asked


@pytest.fixture
def questions(home: Path) -> None:
    """A question set of the user's own in the working directory, which ``home`` makes."""
    shutil.copy(EXAMPLE / "questions.jsonl", "q.jsonl")


OWN = ("questions=file", "questions.path=q.jsonl", "questions.limit=12")


def edit_question(line: int = 0) -> None:
    rows = Path("q.jsonl").read_text(encoding="utf-8").splitlines()
    row = json.loads(rows[line])
    changed = {key: f"{value} Please tell." if key == "question" else value for key, value in row.items()}
    assert changed != row
    rows[line] = json.dumps(changed)
    Path("q.jsonl").write_text("\n".join(rows) + "\n", encoding="utf-8")


def own_documents() -> tuple[str, ...]:
    """The documents of the example in the working directory; where they are there already they stay as they are."""
    if not Path("docs").exists():
        shutil.copytree(EXAMPLE / "documents", "docs")
    return ("knowledge_base=folder", "knowledge_base.path=docs")


def test_the_plan_left_the_controls_out(model_server: ModelServer, home: Path) -> None:
    plan, asked = plan_then_run(model_server, home, "questions.limit=10", "controls.enabled=true")
    assert plan.held_high == 0
    # Words are retrieved without a call, and nothing else in a control is unknown.
    assert plan.unique_high == asked


def test_the_plan_left_the_controls_out_where_everything_is_to_be_embedded(
    model_server: ModelServer, home: Path
) -> None:
    plan, asked = plan_then_run(model_server, home, *DENSE, "questions.limit=10", "controls.enabled=true")
    assert plan.held_high == 0
    assert plan.unique_low < asked <= plan.unique_high <= asked * 1.5
    again, none = plan_then_run(model_server, home, *DENSE, "questions.limit=10", "controls.enabled=true")
    assert none == 0
    assert again.held_low == again.unique_high == asked


def test_nothing_here_is_paid_for_was_said_and_the_controls_were_paid(
    model_server: ModelServer, home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    plan_then_run(model_server, home, *DENSE, "questions.limit=10")
    capsys.readouterr()
    line = [*DENSE, "questions.limit=10", "controls.enabled=true", "controls.sample=4"]
    assert main(["plan", *line_of(model_server, *line)]) == ExitCode.DONE
    assert "nothing here is paid for" not in capsys.readouterr().out
    plan, asked = plan_then_run(model_server, home, *line)
    assert asked == plan.unique_high - plan.held_low > 0
    more, added = plan_then_run(model_server, home, *line[:-1], "controls.sample=6")
    assert added == more.unique_high - more.held_low > 0


def test_controls_showed_no_price_before_they_started(
    model_server: ModelServer, home: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    line = line_of(model_server, "questions.limit=10")
    monkeypatch.setattr("sys.stdin.isatty", lambda: True)
    monkeypatch.setattr("builtins.input", lambda _: "n")
    assert main(["controls", *line]) == ExitCode.DONE
    assert model_server.count() == 0
    first, last = capsys.readouterr().out.strip().splitlines()
    assert last == "nothing was asked and nothing was paid"
    assert main(["controls", "--yes", *line]) in (ExitCode.DONE, ExitCode.GATE_FAILED)
    assert first == capsys.readouterr().out.splitlines()[0]
    assert first.startswith(f"{model_server.count()} calls, 0 of them in the ledger: about $0.")


@pytest.mark.usefixtures("questions")
def test_one_word_in_one_question_made_the_plan_fifteen_times_too_high(model_server: ModelServer, home: Path) -> None:
    plan_then_run(model_server, home, *DENSE, *OWN)
    edit_question()
    plan, asked = plan_then_run(model_server, home, *DENSE, *OWN)
    # Its vector, its answer, its verdicts.
    assert asked == plan.new_high <= 5
    assert plan.new_low >= 1


@pytest.mark.usefixtures("questions")
def test_one_word_in_one_document_made_the_plan_far_too_high(model_server: ModelServer, home: Path) -> None:
    documents = own_documents()
    first, _ = plan_then_run(model_server, home, *DENSE, *OWN, *documents)
    (changed, *_) = sorted(path for path in Path("docs").rglob("*") if path.is_file())
    text = changed.read_text(encoding="utf-8")
    changed.write_text(text.replace(" the ", " the very ", 1), encoding="utf-8")
    assert changed.read_text(encoding="utf-8") != text
    plan, asked = plan_then_run(model_server, home, *DENSE, *OWN, *documents)
    assert asked < plan.new_high / 2
    assert plan.new_low >= 1
    assert first.cost is not None
    assert plan.cost is not None
    assert plan.cost.low < first.cost.low / 4
    assert plan.cost.expected < first.cost.expected / 2


@pytest.mark.usefixtures("questions")
def test_controls_after_one_word_in_one_question(model_server: ModelServer, home: Path) -> None:
    line = (*DENSE, *OWN, "controls.enabled=true", "controls.sample=5")
    plan_then_run(model_server, home, *line)
    edit_question(1)
    plan_then_run(model_server, home, *line)


def test_equal_answers_of_another_prompt_were_not_in_the_low_figure(model_server: ModelServer, home: Path) -> None:
    plan_then_run(model_server, home, "questions.limit=6")
    plan, _ = plan_then_run(model_server, home, "questions.limit=6", "prompt=answer_from_context_v2")
    assert plan.held_low == 0
    assert plan.held_high == plan.unique_high - 6
    assert plan.new_low == 6


def test_an_empty_home_had_calls_in_the_ledger(
    model_server: ModelServer, home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    line = line_of(model_server, *DENSE, "questions.limit=10")
    assert planned(line, home).held_high == 0
    assert main(["plan", *line]) == ExitCode.DONE
    assert "in ledger: 0\n" in capsys.readouterr().out


def test_embeddings_were_counted_in_batches_on_an_empty_home_and_a_question_each_on_a_warm_one(
    model_server: ModelServer, home: Path
) -> None:
    line = (*DENSE, "questions.limit=10", "embedder.batch_size=8")
    first, asked = plan_then_run(model_server, home, *line)
    again, none = plan_then_run(model_server, home, *line)
    assert (first.calls_high, again.calls_high) == (asked, asked)
    assert none == 0


def test_a_sweep_over_prompts_lies_inside_its_plan(model_server: ModelServer, home: Path) -> None:
    prompts = "prompt=answer_from_context_v1,answer_from_context_v2"
    line = (*DENSE, "questions.limit=4", "controls.enabled=true", "controls.sample=2")
    plan_then_run(model_server, home, *line, prompts, verb="-m")
    edited, _ = plan_then_run(model_server, home, *line, prompts, "retriever.top_k=2,3", verb="-m")
    assert edited.new_high > 0
