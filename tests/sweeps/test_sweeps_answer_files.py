"""Several files of recorded answers judged by one command: each whole, together with progress, again for nothing."""

from __future__ import annotations

import csv
import signal
import time
from pathlib import Path

import pytest

from runner.cli import main
from runner.errors import ExitCode
from tests.fakes.model_server import ModelServer
from tests.sweeps.driving import JUDGE, arguments, run, start

pytestmark = pytest.mark.usefixtures("home")

COLUMNS = ("question", "answer_llm", "answer_orig", "document")
SIZES = {"monday.csv": 12, "tuesday.csv": 18}
ASKED = 5
"""Questions that both days were asked, with the same answer: one call each."""


def files() -> list[str]:
    """Two days' answers and the line that judges them."""
    for name, size in SIZES.items():
        day = name.partition(".")[0]
        with Path(name).open("w", encoding="utf-8-sig", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(COLUMNS)
            for n in range(size):
                whose = "both" if n < ASKED else day
                writer.writerow([f'What is "{whose}" {n}, please?', f"It is {n}.\nSee: é🙂", f"It is {n}.", f"d{n}"])
    return ["-m", "experiment=recorded_answers", "questions.path=monday.csv,tuesday.csv"]


def verdict_files() -> dict[int, list[dict[str, str]]]:
    newest = max(Path("outputs").glob("*/*"), key=str)
    found = {}
    for path in newest.glob("*/verdicts.csv"):
        with path.open(encoding="utf-8", newline="") as file:
            found[int(path.parent.name)] = list(csv.DictReader(file))
    return found


def line(server: ModelServer, *overrides: str) -> list[str]:
    """``arguments`` without the retriever, which recorded answers do not have."""
    return [word for word in arguments(server, *files(), *overrides) if not word.startswith("retriever=")]


def test_several_files_are_one_command_with_progress_and_each_comes_out_whole(
    model_server: ModelServer, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(line(model_server)) == ExitCode.DONE
    assert model_server.count(model=JUDGE) == model_server.count() == sum(SIZES.values()) - ASKED
    shown = capsys.readouterr()
    for name, size in SIZES.items():
        assert f"path={name}: done, {size} questions" in shown.err
        assert f"of {size} scored" in shown.out
    found = verdict_files()
    assert [len(found[number]) for number in sorted(found)] == list(SIZES.values())
    for rows in found.values():
        assert list(rows[0]) == ["question", "document", "score", "reasoning"]
        assert all(row["score"] in ("good", "bad") and row["reasoning"] for row in rows)
    assert main(line(model_server)) == ExitCode.DONE
    assert model_server.count() == sum(SIZES.values()) - ASKED
    assert verdict_files() == found


def test_a_kill_in_the_middle_of_several_files_costs_no_verdict() -> None:
    with ModelServer(latency_s=0.2) as server:
        overrides = (*files(), "calls.concurrency=2", "retriever=none")
        process = start(server, *overrides)
        deadline = time.monotonic() + 60
        while server.count() < 8 and time.monotonic() < deadline:
            time.sleep(0.02)
        process.send_signal(signal.SIGKILL)
        process.communicate()
        assert 8 <= server.count() < sum(SIZES.values()) - ASKED
        server.latency_s = 0.0
        assert run(server, *overrides) == ExitCode.DONE
        assert server.unique() == sum(SIZES.values()) - ASKED
        assert server.count() <= server.unique() + 2
        assert [len(rows) for _, rows in sorted(verdict_files().items())] == list(SIZES.values())


def test_a_file_that_is_nowhere_is_said_with_each_folder_once(capsys: pytest.CaptureFixture[str]) -> None:
    Path("conf").mkdir()
    assert main(["experiment=recorded_answers", "stack=extractive", "questions.path=no.csv", "tracking=none"]) == 1
    looked = capsys.readouterr().err.partition("looked in ")[2].strip().split(", ")
    assert len(looked) == len(set(looked)) == 2
