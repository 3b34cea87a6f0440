"""What a launch leaves to be read, and what the verb report writes again from stored runs without a call."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

import runner
from runner.cli import main
from runner.errors import ExitCode
from runner.journal import load_record
from runner.sweeps import report_file
from runner.sweeps.report_file import commands
from tests.fakes.model_server import ModelServer
from tests.fakes.runs import make_run
from tests.sweeps.driving import run

pytestmark = pytest.mark.usefixtures("home")


def test_a_sweep_leaves_one_report_and_stored_runs_give_every_file_again(
    model_server: ModelServer, home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(model_server, "-m", "retriever.top_k=1,3", "questions.limit=3") == ExitCode.DONE
    (path,) = Path(".").rglob("report.html")
    assert sorted(one.name for one in path.parent.iterdir() if one.is_dir()) == ["0", "1"]
    text = path.read_text(encoding="utf-8")
    for said in ("top_k=1 and top_k=3", "Planned: ", "python -m runner -m retriever.top_k=1,3", "grader"):
        assert said in text

    asked = model_server.count()
    (sweep,) = (one.stem for one in (home / "sweeps").glob("*.json"))
    files = ["--html", "again.html", "--csv", "all.csv", "--jsonl", "all.jsonl"]
    assert main(["report", sweep, *files]) == ExitCode.DONE
    assert model_server.count() == asked
    again = Path("again.html").read_text(encoding="utf-8")
    assert "Written from stored runs" in again
    assert "top_k=1 and top_k=3" in again
    assert len(Path("all.csv").read_text(encoding="utf-8").splitlines()) >= 7
    lines = [json.loads(line) for line in Path("all.jsonl").read_text(encoding="utf-8").splitlines()]
    assert [line.pop("run") for line in lines] == ["top_k=1"] * 3 + ["top_k=3"] * 3
    assert all(line.pop("job_key") for line in lines)
    assert load_record(json.dumps(lines[0])).question.text in text

    frame = runner.frame(sweep)
    assert list(frame["run"]) == ["top_k=1"] * 3 + ["top_k=3"] * 3
    assert frame["grounding_score"].between(1, 5).all()
    capsys.readouterr()
    assert main(["report", "--csv", "x.csv"]) == ExitCode.BAD_CONFIGURATION
    assert "say which sweep or run" in capsys.readouterr().err
    assert main(["report", sweep, "--csv", "no/such/folder/x.csv"]) == ExitCode.BAD_CONFIGURATION
    assert "cannot be written" in capsys.readouterr().err


def test_a_report_that_cannot_be_made_is_a_sentence_and_no_lost_run(
    model_server: ModelServer, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def breaks(*_: object) -> str:
        raise ValueError("boom")

    monkeypatch.setattr(report_file, "report_html", breaks)
    assert run(model_server, "questions.limit=1") == ExitCode.DONE
    assert "could not be made (unforeseen ValueError: boom); the runs are whole" in " ".join(
        capsys.readouterr().out.split()
    )
    assert list(Path("outputs").rglob("stats.json"))


def test_importing_runner_does_not_load_pandas() -> None:
    import subprocess

    code = "import sys, runner, runner.api; sys.exit('pandas' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], cwd=Path(__file__).parents[2], check=False).returncode == 0


@pytest.mark.parametrize(
    ("lines", "shown"),
    [
        ([["a=1"]], ["python -m runner a=1"]),
        ([["a=1", "b=x"], ["a=1", "b=y"]], ["python -m runner -m a=1 b=x,y"]),
        ([["a=1", "b=x"], ["a=2", "b=y"]], ["python -m runner a=1 b=x", "python -m runner a=2 b=y"]),
        ([["a=1", "b=x"], ["a=1"]], ["python -m runner a=1 b=x", "python -m runner a=1"]),
        ([["a=[1,2]"], ["a=[3]"]], ["python -m runner 'a=[1,2]'", "python -m runner 'a=[3]'"]),
        ([[], []], ["python -m runner", "python -m runner"]),
    ],
)
def test_the_command_is_one_line_where_the_jobs_are_a_grid(lines: list[list[str]], shown: list[str]) -> None:
    runs = [make_run(f"r{k}", [], overrides=tuple(line)) for k, line in enumerate(lines)]
    assert list(commands(runs)) == shown
