"""What a launch leaves to be read, and what the verb report writes again from stored runs without a call."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import pytest

import runner
from runner.cli import main
from runner.errors import ExitCode
from runner.journal import load_record
from runner.sweeps import report_file, reporting
from runner.sweeps.report_file import commands
from tests.fakes.model_server import ModelServer
from tests.fakes.runs import make_run
from tests.sweeps.driving import arguments, run

pytestmark = pytest.mark.usefixtures("home")


def test_a_sweep_leaves_one_report_and_stored_runs_give_every_file_again(
    model_server: ModelServer, home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(model_server, "-m", "retriever.top_k=1,3", "questions.limit=3") == ExitCode.DONE
    (path,) = Path(".").rglob("report.html")
    assert sorted(one.name for one in path.parent.iterdir() if one.is_dir()) == ["0", "1"]
    text = path.read_text(encoding="utf-8")
    for said in ("top_k=1 or top_k=3", "Planned: ", "python -m runner -m retriever.top_k=1,3", "grader"):
        assert said in text

    asked = model_server.count()
    (sweep,) = (one.stem for one in (home / "sweeps").glob("*.json"))
    files = ["--html", "again.html", "--csv", "all.csv", "--jsonl", "all.jsonl"]
    assert main(["report", sweep, *files]) == ExitCode.DONE
    assert model_server.count() == asked
    again = Path("again.html").read_text(encoding="utf-8")
    assert "Written again from what the launch stored" in again
    assert "top_k=1 or top_k=3" in again
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


def _sections(page: str) -> dict[str, str]:
    """Id of a section → what is to be read in it."""
    found = re.findall(r'<section id="([a-z-]+)"[^>]*>(.*?)</section>', page, re.DOTALL)
    return {name: " ".join(re.sub(r"<[^>]+>", " ", text).split()) for name, text in found}


def _paid_sweep(server: ModelServer, *overrides: str) -> int:
    """Two jobs with embeddings and controls that are paid for."""
    line = ["embedder=openai_compatible", "embedder.model=embedder", "retriever=dense", "retriever.top_k=1,2"]
    more = ["questions.limit=3", "judge=[topicality]", "controls.enabled=true", "controls.sample=2", *overrides]
    given = arguments(server, "-m", *line, f"embedder.endpoint.base_url={server.base_url}", *more)
    with Path("conf/prices/test.yaml").open("a", encoding="utf-8") as file:
        file.write("  - {model: embedder, input: 0.02, output: 0}\n")
    return main(given)


def test_a_report_written_again_lacks_nothing_that_the_first_one_had(model_server: ModelServer, home: Path) -> None:
    assert _paid_sweep(model_server) == ExitCode.DONE
    (path,) = Path("outputs").rglob("report.html")
    (sweep,) = (one.stem for one in (home / "sweeps").glob("*.json"))
    first = _sections(path.read_text(encoding="utf-8"))
    assert "Planned: " in first["money"]
    assert "embedder" in first["money"]
    assert "other answer" in first["controls"]
    # What a later launch does to the same jobs changes nothing of what this one was.
    assert _paid_sweep(model_server) == ExitCode.DONE
    asked = model_server.count()
    assert main(["report", sweep, "--html", "again.html"]) == ExitCode.DONE
    assert model_server.count() == asked
    assert _sections(Path("again.html").read_text(encoding="utf-8")) == first


def test_a_single_stored_run_keeps_its_controls_and_the_calls_of_its_index(
    model_server: ModelServer, home: Path
) -> None:
    assert _paid_sweep(model_server) == ExitCode.DONE
    (path,) = (home / "sweeps").glob("*.json")
    keys = [job["key"] for job in json.loads(path.read_text(encoding="utf-8"))["jobs"]]
    for key in keys:
        (run,) = runner.load(key)
        assert run.controls
        assert run.control_calls
        assert {call.model for call in run.index_calls} == {"embedder"}
        assert all(call.from_ledger and call.new_cost == 0 for call in (*run.control_calls, *run.index_calls))


def test_what_an_older_version_stored_can_still_be_read(model_server: ModelServer, home: Path) -> None:
    assert run(model_server, "-m", "retriever.top_k=1,3", "questions.limit=2") == ExitCode.DONE
    (path,) = (home / "sweeps").glob("*.json")
    kept = json.loads(path.read_text(encoding="utf-8"))
    old = {name: kept[name] for name in ("id", "name", "status", "started_at", "finished_at")}
    old["jobs"] = [{name: job[name] for name in ("key", "name", "status")} for job in kept["jobs"]]
    path.write_text(json.dumps(old), encoding="utf-8")
    for job in (home / "jobs").glob("*/job.json"):
        description = json.loads(job.read_text(encoding="utf-8"))
        del description["ended"], description["question_ids"]
        job.write_text(json.dumps(description), encoding="utf-8")
    assert main(["report", path.stem, "--html", "again.html"]) == ExitCode.DONE
    again = _sections(Path("again.html").read_text(encoding="utf-8"))
    assert {"leaderboard", "comparison", "money", "reproduce"} <= set(again)
    assert "Planned: " not in again["money"]


def test_a_sweep_whose_jobs_run_one_by_one_shows_one_table(
    model_server: ModelServer, home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each job's own table, with its own "compare" and "files", stood before that of the sweep."""
    assert _paid_sweep(model_server, "launch=basic") == ExitCode.DONE
    shown = capsys.readouterr().out
    assert shown.count("compare question by question") == 1
    assert shown.count("files: ") == 1
    assert shown.count("total cost") in (1, 2), "one table, or a block a job"


def test_jobs_launched_one_by_one_leave_the_same_report_as_jobs_launched_together(
    model_server: ModelServer, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    reports = []
    for launcher in ("shared", "basic"):
        monkeypatch.setenv("RUNNER_HOME", str(home / launcher))
        assert _paid_sweep(model_server, f"launch={launcher}", f"hydra.sweep.dir={launcher}") == ExitCode.DONE
        page = Path(launcher, "report.html").read_text(encoding="utf-8")
        reports.append({name: re.sub(r"\d+\.\d+ s\b", "", text) for name, text in _sections(page).items()})
        assert "top_k=1 and top_k=2 are equivalent on topicality" in page
    together, one_by_one = reports
    assert list(one_by_one) == list(together)
    assert "Planned: " in one_by_one["money"]
    for name in set(together) - {"reproduce"}:
        assert one_by_one[name] == together[name]


@pytest.mark.parametrize("columns", [40, 60, 80, 160])
def test_no_id_of_a_sweep_is_cut_in_a_narrow_terminal(
    home: Path, columns: int, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    name = "a sweep over retriever.top_k and the rubric's versions [v1]"
    described = {"sweep_id": "20260101-abcdef", "name": name, "started_at": "2026-01-01T00:00:00.000000", "jobs": ["a"]}
    monkeypatch.setattr(
        reporting, "stored_sweeps", lambda _: [{"id": "20260101-abcdef", "status": "complete", **described}]
    )
    monkeypatch.setenv("COLUMNS", str(columns))
    assert main(["report"]) == ExitCode.DONE
    shown = capsys.readouterr().out
    assert "…" not in shown
    assert max(map(len, shown.splitlines())) <= columns
    for text in ("20260101-abcdef", "2026-01-01T00:00:00", "complete", name):
        assert "".join(text.split()) in "".join(shown.split())
