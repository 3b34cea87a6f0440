"""``runner label`` and ``runner calibrate`` on runs that a real sweep stored, as a person would use them."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from runner import cli
from runner.errors import ConfigurationError, ExitCode
from runner.statistics.label_files import Scale, read_rows, write_rows
from runner.sweeps.labelling import ask_for_labels, main
from tests.fakes.model_server import ModelServer
from tests.sweeps.driving import run

pytestmark = pytest.mark.usefixtures("home")


@pytest.fixture
def sweep_id(model_server: ModelServer, home: Path, capsys: pytest.CaptureFixture[str]) -> str:
    assert run(model_server, "-m", "retriever.top_k=1,3", "questions.limit=12") == ExitCode.DONE
    capsys.readouterr()
    (path,) = (home / "sweeps").glob("*.json")
    return path.stem


def test_a_file_is_written_labelled_and_calibrated(
    sweep_id: str, model_server: ModelServer, capsys: pytest.CaptureFixture[str]
) -> None:
    before = len(model_server.requests)
    assert cli.main(["label", sweep_id, "--judge", "grounding", "--count", "24", "--only-file"]) == ExitCode.DONE
    path = Path("labels-grounding.csv")
    assert "top_k" not in path.read_text(encoding="utf-8-sig")
    rows = read_rows(path)
    for k, row in enumerate(rows):
        row["label"] = str(1 + k % 5)
    write_rows(path, rows)
    whole = Path("calibration.json")
    assert (
        cli.main(["calibrate", sweep_id, "--judge", "grounding", "--labels", str(path), "--json", str(whole)])
        == ExitCode.DONE
    )
    shown = " ".join(capsys.readouterr().out.split())
    assert "grounding against 24 labelled answers" in shown
    assert "corrected by" in shown
    assert "Gwet AC1" in shown
    content = json.loads(whole.read_text(encoding="utf-8"))
    assert content["calibration"]["random_sample"] is True
    assert len(model_server.requests) == before


def test_labels_out_of_order_correct_nothing(sweep_id: str, capsys: pytest.CaptureFixture[str]) -> None:
    cli.main(["label", sweep_id, "--judge", "grounding", "--count", "24", "--only-file"])
    path = Path("labels-grounding.csv")
    rows = read_rows(path)
    for row in rows[5:]:
        row["label"] = "5"
    write_rows(path, rows)
    capsys.readouterr()
    assert cli.main(["calibrate", sweep_id, "--judge", "grounding", "--labels", str(path)]) == ExitCode.DONE
    shown = " ".join(capsys.readouterr().out.split())
    assert "5 items before the last labelled one have no label" in shown
    assert "not corrected" in shown


def test_labels_that_are_all_equal_give_no_kappa_of_0_and_no_interval_of_width_0(
    sweep_id: str, capsys: pytest.CaptureFixture[str]
) -> None:
    cli.main(["label", sweep_id, "--judge", "grounding", "--count", "4", "--only-file"])
    path, whole = Path("labels-grounding.csv"), Path("calibration.json")
    write_rows(path, [{**row, "label": "1"} for row in read_rows(path)])
    capsys.readouterr()
    line = ["calibrate", sweep_id, "--judge", "grounding", "--labels", str(path), "--json", str(whole)]
    assert cli.main(line) == ExitCode.DONE
    shown = " ".join(capsys.readouterr().out.split())
    assert "humans gave every answer the same rating: kappa would be 0" in shown or "Every rating is" in shown
    found = json.loads(whole.read_text(encoding="utf-8"))["calibration"]
    intervals = [one["interval"] for one in found["judge_human"]["coefficients"].values()]
    intervals += [one["corrected"]["interval"] for one in found["means"] + found["differences"] if one["corrected"]]
    intervals.append(found["judge_human"]["bias_interval"])
    assert all(one is None or one["low"] < one["high"] for one in intervals)
    assert found["judge_human"]["coefficients"]["cohen"]["value"] is None


def test_labelling_in_the_terminal_goes_on_where_it_stopped(
    sweep_id: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = [sweep_id, "--judge", "grounding", "--count", "6"]
    monkeypatch.setattr("sys.stdin", io.StringIO("4\n9\n5\nq\n"))
    assert main(arguments) == ExitCode.DONE
    assert "'9' is not on the scale" in capsys.readouterr().out
    assert [row["label"] for row in read_rows(Path("labels-grounding.csv"))][:3] == ["4", "5", ""]
    monkeypatch.setattr("sys.stdin", io.StringIO("?\n"))
    assert main(arguments) == ExitCode.DONE
    assert [row["label"] for row in read_rows(Path("labels-grounding.csv"))][:4] == ["4", "5", "?", ""]
    with pytest.raises(ConfigurationError, match="holds another sample"):
        main([*arguments[:-1], "5"])


def test_an_answer_cannot_steer_the_terminal_of_whoever_labels() -> None:
    row = dict.fromkeys(("item", "question", "reference", "context", "answer", "label", "note", "sample"), "")
    row["answer"] = "\x1b[2Jgood"
    shown: list[str] = []
    said: Iterator[str] = iter(["3"])
    ask_for_labels([row], Scale({}, 1, 5, 4), lambda: None, lambda prompt: next(said), shown.append)
    assert row["label"] == "3"
    assert "\x1b" not in "".join(shown)
