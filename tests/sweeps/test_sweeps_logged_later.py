"""``compare --log`` and ``calibrate --log``: what they find stands with the sweep's parent run in MLflow, once."""

from __future__ import annotations

import json
import shutil
import sqlite3
import warnings
from pathlib import Path

import pytest

import runner
from runner.cli import main
from runner.errors import ExitCode
from runner.statistics.label_files import read_rows, write_rows
from tests.tracking.conftest import made_tables as made_tables  # noqa: PLC0414
from tests.tracking.test_tracking_server import Server
from tests.tracking.test_tracking_server import server as server  # noqa: PLC0414

LINE = ("stack=extractive", "retriever=bm25", "embedder=none", "judge=[topicality]", "questions.limit=12")


@pytest.fixture(autouse=True)
def ready_store(home: Path, made_tables: Path) -> None:
    """A store whose tables are made already, which takes seconds."""
    home.mkdir()
    shutil.copyfile(made_tables, home / "mlflow.db")


def swept(*overrides: str, top_k: str = "1,3", tracking: str = "mlflow") -> None:
    given = {override.partition("=")[0] for override in overrides}
    line = [word for word in LINE if word.partition("=")[0] not in given]
    assert main(["-m", *line, f"retriever.top_k={top_k}", f"tracking={tracking}", *overrides]) == ExitCode.DONE


def sweeps(home: Path) -> list[tuple[str, str]]:
    """(sweep id, id of its parent run), oldest first."""
    found = [json.loads(path.read_text(encoding="utf-8")) for path in (home / "sweeps").glob("*.json")]
    return [(one["id"], one.get("tracking_run", "")) for one in sorted(found, key=lambda one: one["started_at"])]


def said(capsys: pytest.CaptureFixture[str]) -> list[str]:
    return [line for line in capsys.readouterr().out.splitlines() if "kept in MLflow" in line]


def files(home: Path, run_id: str, folder: str) -> dict[str, str]:
    """What stands in a folder of the run's artifacts."""
    return {
        path.name: path.read_text(encoding="utf-8")
        for path in (home / "mlartifacts" / run_id / "artifacts" / folder).glob("*")
    }


def tags(home: Path, run_id: str) -> dict[str, str]:
    query = "SELECT key, value FROM tags WHERE run_uuid = ? AND (key LIKE 'runner.compare.%' OR key LIKE 'runner.cal%')"
    with sqlite3.connect(home / "mlflow.db") as store:
        return dict(store.execute(query, (run_id,)))


def labelled(sweep: str) -> str:
    """A file of labels as a person leaves it."""
    assert main(["label", sweep, "--count", "20", "--only-file"]) == ExitCode.DONE
    path = Path("labels-topicality.csv")
    rows = read_rows(path)
    for place, row in enumerate(rows):
        row["label"] = str(1 + place % 5)
    write_rows(path, rows)
    return str(path)


def test_a_comparison_is_kept_with_the_sweep_and_the_same_again_replaces_it(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    swept("judge=[topicality,grounding]")
    ((sweep, parent),) = sweeps(home)
    assert main(["compare", sweep]) == ExitCode.DONE
    assert said(capsys) == []
    assert files(home, parent, "compare") == tags(home, parent) == {}

    only = ["--metric", "topicality", "--log"]
    assert main(["compare", sweep, *only]) == ExitCode.DONE
    (line,) = said(capsys)
    assert line.startswith("kept in MLflow: compare/ of ")
    assert parent in line
    found = runner.compare(sweep, metric="topicality")
    kept, tagged = files(home, parent, "compare"), tags(home, parent)
    assert set(kept) == {"topicality.md", "topicality.csv", "topicality_standings.csv", "topicality.json"}
    assert json.loads(kept["topicality.json"])["pairs"][0]["sentence"] == found.pairs[0].sentence
    assert len(kept["topicality.csv"].splitlines()) == 2
    assert found.pairs[0].sentence[:60] in " ".join(kept["topicality.md"].split())
    assert "\x1b" not in kept["topicality.md"]
    assert tagged == {"runner.compare.topicality": found.pairs[0].sentence}

    assert main(["compare", sweep, *only]) == ExitCode.DONE
    assert (files(home, parent, "compare"), tags(home, parent)) == (kept, tagged)
    options = ["--measure", "pass_rate", "--margin", "0.2", "--metric", "retrieval/hit_rate_at_1"]
    agreement = ["--agreement", "topicality", "grounding"]
    assert main(["compare", sweep, *options, "--metric", "topicality", *agreement, "--log"]) == ExitCode.DONE
    assert "retrieval_hit_rate_at_1_pass_rate.md" in files(home, parent, "compare")
    assert "Gwet AC1" in files(home, parent, "compare")["agreement_topicality_grounding.md"]
    assert "margin 0.2" in files(home, parent, "compare")["topicality_pass_rate.md"]
    assert files(home, parent, "compare")["topicality.md"] == kept["topicality.md"]
    with sqlite3.connect(home / "mlflow.db") as store:
        assert store.execute("SELECT COUNT(*) FROM runs").fetchone() == (3,), "no run was made for it"
        assert store.execute("SELECT status FROM runs WHERE run_uuid = ?", (parent,)).fetchone() == ("FINISHED",)


def test_a_calibration_is_kept_with_the_sweep(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    swept()
    ((sweep, parent),) = sweeps(home)
    path = labelled(sweep)
    for _ in range(2):
        capsys.readouterr()
        assert main(["calibrate", sweep, "--labels", path, "--log"]) == ExitCode.DONE
        (line,) = said(capsys)
        assert "calibration/ of " in line
        kept = files(home, parent, "calibration")
        assert set(kept) == {"topicality.md", "topicality.csv", "topicality_agreement.csv", "topicality.json"}
        (name, value), *others = tags(home, parent).items()
        assert (name, others) == ("runner.calibration.topicality", [])
        shown = " ".join(kept["topicality.md"].split())
        count = value.partition(" labels (a random sample): percent agreement ")[0]
        assert f"topicality against {count} labelled answers" in shown
        assert "alpha (ordinal)" in value

    found = runner.calibrate(sweep, labels=[path], measure="pass_rate", log=True)
    assert str(found.labelled) == count
    assert list(found.to_frame()["kind"]) == ["mean", "mean", "difference"]
    assert found.judge_human is not None
    assert "percent" in set(found.judge_human.to_frame()["coefficient"])
    assert "runner.calibration.topicality_pass_rate" in tags(home, parent)


def test_runs_are_kept_with_their_own_sweeps_however_they_are_named(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    swept()
    swept("name=other", top_k="2,5")
    (_, first), (other, second) = sweeps(home)
    one, three = (run.job_key for run in runner.load(first))
    capsys.readouterr()
    assert main(["compare", one, three, "--log"]) == ExitCode.DONE
    assert [(first in line, second in line) for line in said(capsys)] == [(True, False)]
    assert main(["compare", one, "top_k=5", "--log"]) == ExitCode.DONE
    assert [(first in line, second in line) for line in said(capsys)] == [(True, False), (False, True)]
    shutil.rmtree(home / "mlartifacts" / second / "artifacts" / "compare")
    assert main(["compare", second, "--log"]) == ExitCode.DONE
    assert len(said(capsys)) == 1
    assert files(home, second, "compare")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        runner.compare(*runner.load(other), log=True)
    assert "top_k=2" in tags(home, second)["runner.compare.topicality"]
    # The sweep's own name in the home is forgotten, as on another machine: the store knows the parent.
    shutil.rmtree(home / "sweeps")
    shutil.rmtree(home / "mlartifacts" / first / "artifacts" / "compare")
    assert main(["compare", first, "--log"]) == ExitCode.DONE
    assert [first in line for line in said(capsys)] == [True]
    assert files(home, first, "compare")
    assert main(["compare", one, three, "--log"]) == ExitCode.DONE
    assert all(line.startswith("not kept in MLflow: no tracked sweep has ") for line in said(capsys))


def test_without_a_run_or_a_store_a_sentence_says_so_and_the_result_is_shown(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    swept(tracking="none")
    ((sweep, parent),) = sweeps(home)
    assert parent == ""
    capsys.readouterr()
    assert main(["compare", sweep, "--log"]) == ExitCode.DONE
    shown = capsys.readouterr().out
    assert "topicality (mean, all pairs)" in shown
    assert shown.splitlines()[-1] == f"not kept in MLflow: sweep {sweep} was not tracked, so it has no run there"
    path = labelled(sweep)
    capsys.readouterr()
    assert main(["calibrate", sweep, "--labels", path, "--log"]) == ExitCode.DONE
    assert len(said(capsys)) == 1
    with pytest.warns(UserWarning, match="was not tracked"):
        found = runner.compare(sweep, log=True)
    assert found.pairs

    swept("name=tracked", top_k="2,5")
    (_, (sweep, parent)) = sweeps(home)
    with sqlite3.connect(home / "mlflow.db") as store:
        store.execute("UPDATE runs SET lifecycle_stage = 'deleted' WHERE run_uuid = ?", (parent,))
    capsys.readouterr()
    assert main(["compare", sweep, "--log"]) == ExitCode.DONE
    assert f"the run {parent} was deleted" in said(capsys)[0]
    for name in ("mlflow.db", "mlflow.db-wal", "mlflow.db-shm"):
        (home / name).unlink(missing_ok=True)
    assert main(["compare", sweep, "--log"]) == ExitCode.DONE
    assert "there is no MLflow store" in said(capsys)[0]
    assert not (home / "mlflow.db").exists()


@pytest.mark.timeout(400)
def test_it_works_over_a_tracking_server_and_says_when_that_is_away(
    home: Path, server: Server, capsys: pytest.CaptureFixture[str]
) -> None:
    swept(f"tracking.uri={server.uri}")
    ((sweep, parent),) = sweeps(home)
    capsys.readouterr()
    assert main(["compare", sweep, "--log"]) == ExitCode.DONE
    assert parent in said(capsys)[0]
    assert {path.name for path in (server.folder / "served").rglob("compare/*")} >= {"topicality.md", "topicality.csv"}
    assert "runner.compare.topicality" in tags(server.folder, parent)
    server.stop()
    assert main(["compare", sweep, "--log"]) == ExitCode.DONE
    shown = capsys.readouterr().out
    assert "topicality (mean, all pairs)" in shown
    assert f"not kept in MLflow: the tracking server {server.uri} does not answer" in shown.splitlines()[-1]
