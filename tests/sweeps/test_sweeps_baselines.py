"""A baseline named as the tracking store knows it: run id, tag, name; in a local store, on a server, in any home."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

import runner
from runner.cli import main
from runner.errors import ConfigurationError, ExitCode, TrackingUnavailable
from runner.records import RunResult
from tests.tracking.conftest import made_tables as made_tables  # noqa: PLC0414
from tests.tracking.test_tracking_server import Server

EXTRACTIVE = ("stack=extractive", "tracking=mlflow", "retriever=bm25", "embedder=none", "judge=[topicality]")
LINE = ("questions.limit=4", "name=pull_request")


@pytest.fixture(autouse=True)
def ready_store(home: Path, made_tables: Path) -> None:
    """A store whose tables are made already, which takes seconds."""
    home.mkdir()
    shutil.copyfile(made_tables, home / "mlflow.db")


def evaluated(*overrides: str) -> int:
    return main([*EXTRACTIVE, *LINE, *overrides])


def runs_of(uri: str) -> dict[str, Any]:
    import mlflow

    client = mlflow.MlflowClient(tracking_uri=uri)
    experiments = [one.experiment_id for one in client.search_experiments()]
    return {run.info.run_id: run for run in client.search_runs(experiments, order_by=["start_time ASC"])}


def scores(run: RunResult) -> list[tuple[str, str, float | None]]:
    """What a baseline must bring with it, whether it comes from the home or from the store."""
    return [(one.question.id, one.answer.text, one.scores["topicality"].value) for one in run.records]


def gated(capsys: pytest.CaptureFixture[str], baseline: str, *overrides: str) -> tuple[int, str]:
    capsys.readouterr()
    code = evaluated(f"gate.baseline.run={baseline}", "gate.baseline.margin=1", *overrides)
    shown = capsys.readouterr()
    return code, " ".join((shown.out + shown.err).split())


def test_a_run_id_a_tag_and_a_name_of_mlflow_name_the_baseline_in_this_home_and_in_another(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert evaluated("+tracking.tags.branch=old") == ExitCode.DONE
    assert evaluated("+tracking.tags.branch=main") == ExitCode.DONE
    assert evaluated("-m", "retriever.top_k=1,2", "+tracking.tags.branch=topic", "name=other") == ExitCode.DONE
    store = f"sqlite:///{home / 'mlflow.db'}"
    found = runs_of(store)
    tagged = {
        branch: [run for run in found.values() if run.data.tags["branch"] == branch] for branch in ("main", "topic")
    }
    kinds = [run.data.tags["runner.kind"] for run in tagged["main"]]
    assert kinds == ["sweep", "job"], "the tag is on the sweep and on its job, and both are one launch"
    parent, child = (run.info.run_id for run in tagged["main"])
    (here,) = runner.load(child)
    assert here.job_key == tagged["main"][1].data.tags["runner.job_key"]
    topic = [run.info.run_name for run in tagged["topic"][1:]]
    assert sorted(topic) == ["top_k=1", "top_k=2"]
    assert [run.name for run in runner.load("tag:branch=topic")] == ["top_k=1", "top_k=2"]
    compared = runner.compare("tag:branch=topic", baseline=child)
    assert len(compared.pairs) == 2, "both against the baseline, which is none of them"

    code, shown = gated(capsys, "tag:branch:topic")
    assert code == ExitCode.BAD_CONFIGURATION
    assert "is a sweep of 2 runs: top_k=1 (" in shown
    code, shown = gated(capsys, "tag:branch:nowhere")
    assert code == ExitCode.BAD_CONFIGURATION
    assert "tag:branch:nowhere: no stored run or sweep of this name or tag" in shown
    code, shown = gated(capsys, "tag:branch")
    assert (code, "such as tag:branch:main" in shown) == (ExitCode.BAD_CONFIGURATION, True)

    # As on another machine: an empty home, and the same store.
    monkeypatch.setenv("RUNNER_HOME", str(tmp_path / "elsewhere"))
    for name in (parent, child, "tag:branch=main", "pull_request"):
        (there,) = runner.load(name, uri=store)
        assert scores(there) == scores(here)
        assert there.status == here.status
        assert {key: there.choices[key] for key in here.choices} == here.choices
    with pytest.raises(ConfigurationError, match="no stored run or sweep of this name or tag"):
        runner.load(child)
    code, shown = gated(capsys, "tag:branch:main", "tracking=none", f"tracking.uri={store}")
    assert code == ExitCode.DONE, shown
    assert "gate passed: 1 check" in shown


def test_a_tag_on_runs_of_two_experiments_is_refused_with_the_candidates(home: Path) -> None:
    import mlflow

    assert evaluated("name=one") == ExitCode.DONE
    assert evaluated("name=two") == ExitCode.DONE
    store = f"sqlite:///{home / 'mlflow.db'}"
    client = mlflow.MlflowClient(tracking_uri=store)
    children = [run for run in runs_of(store).values() if run.data.tags["runner.kind"] == "job"]
    for run in children:
        client.set_tag(run.info.run_id, "release gate", "it's 1.0")
    client.set_tag(children[0].info.run_id, "mine", "yes")
    (one,) = runner.load("tag:mine=yes")
    assert one.job_key == children[0].data.tags["runner.job_key"]
    with pytest.raises(ConfigurationError) as caught:
        runner.load("tag:release gate=it's 1.0")
    for run in children:
        assert run.info.run_id in str(caught.value)
    foreign = client.create_run(client.create_experiment("foreign"), run_name="x").info.run_id
    with pytest.raises(ConfigurationError, match="none of this program"):
        runner.load(foreign)


def test_keys_that_begin_alike_are_listed(home: Path) -> None:
    for key, name in (("abcdef01", "first"), ("abcdef02", "second")):
        folder = home / "jobs" / key
        folder.mkdir(parents=True)
        description = {"key": key, "name": name, "choices": {}, "overrides": [], "questions": 0}
        (folder / "job.json").write_text(json.dumps(description), encoding="utf-8")
    with pytest.raises(ConfigurationError, match=r"abcdef: 2 begin with this: .*first.*; give more of it"):
        runner.load("abcdef")


def test_the_baseline_of_a_tracking_server_is_found_from_an_empty_home(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copyfile(home / "mlflow.db", tmp_path / "mlflow.db")
    server = Server(tmp_path)
    server.start()
    try:
        line = f"tracking.uri={server.uri}"
        assert evaluated(line, "+tracking.tags.branch=main") == ExitCode.DONE
        monkeypatch.setenv("RUNNER_HOME", str(tmp_path / "elsewhere"))
        code, shown = gated(capsys, "tag:branch:main", line)
        assert (code, "gate passed: 1 check" in shown) == (ExitCode.DONE, True), shown
        (baseline,) = runner.load("tag:branch=main", uri=server.uri)
        assert len(baseline.records) == 4
    finally:
        server.stop()
    with pytest.raises(TrackingUnavailable, match="does not answer"):
        runner.load("tag:branch=main", uri=server.uri)
    code, shown = gated(capsys, "tag:branch:main", line, "tracking.kind=none")
    assert code == ExitCode.BAD_CONFIGURATION
    assert "gate.baseline.run: " in shown
