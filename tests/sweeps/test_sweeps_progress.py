"""How far a sweep is: a live table on a terminal of any width, plain lines elsewhere, a time left that can be known."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import struct
import subprocess
import sys
import termios
from pathlib import Path

import pytest
from rich.console import Console

from runner.cli import main
from runner.errors import ExitCode
from runner.sweeps.pace import Pace, time_left
from runner.sweeps.progress_view import JobProgress, table
from tests.fakes.model_server import ModelServer
from tests.sweeps.driving import CHECKOUT, arguments

pytestmark = pytest.mark.usefixtures("home")

SWEEP = ("-m", "retriever.top_k=1,3", "questions.limit=3")
COLOUR = re.compile(rb"\x1b\[[0-9;]*(3[0-7]|4[0-7]|38|9[0-7])[0-9;]*m")


def on_a_terminal(server: ModelServer, width: int, *given: str, **environment: str) -> bytes:
    """What a sweep writes to a pseudo-terminal of this width, its result left out."""
    controller, terminal = pty.openpty()
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 24, width, 0, 0))
    variables = {**os.environ, "PYTHONPATH": str(CHECKOUT), "TERM": "xterm-256color", **environment}
    command = [sys.executable, "-m", "runner", *arguments(server, *SWEEP, *given)]
    process = subprocess.Popen(
        command, env=variables, stdin=terminal, stdout=subprocess.DEVNULL, stderr=terminal, start_new_session=True
    )
    os.close(terminal)
    written = b""
    while True:
        try:
            written += os.read(controller, 65536)
        except OSError:  # the last one who had it open is gone
            break
    os.close(controller)
    assert process.wait(60) == ExitCode.DONE
    return written


@pytest.mark.parametrize(("width", "columns"), [(40, "failed"), (120, "new spend")])
def test_a_terminal_shows_a_table_that_fits(width: int, columns: str) -> None:
    with ModelServer(latency_s=0.2) as server:
        written = on_a_terminal(server, width).decode()
    plain = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", written)
    lines = [line.rstrip() for line in re.split(r"[\r\n]+", plain) if line.strip()]
    assert max(len(line) for line in lines) <= width
    heads = [line for line in lines if line.startswith("job ")]
    assert heads
    assert heads[-1].endswith((columns, "time left"))
    assert any(re.search(r"top_k=1 +3/3", line) for line in lines)
    assert "6/6 questions" in plain
    assert "started" not in plain


def test_without_colour_there_is_none() -> None:
    with ModelServer(latency_s=0.1) as server:
        assert not COLOUR.search(on_a_terminal(server, 80, NO_COLOR="1"))


def test_a_terminal_that_cannot_move_its_cursor_gets_lines() -> None:
    with ModelServer() as server:
        written = on_a_terminal(server, 80, TERM="dumb")
    assert b"\x1b" not in written
    assert b"top_k=1: started, 3 questions" in written


def test_elsewhere_there_is_one_line_a_change_of_state(
    model_server: ModelServer, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments(model_server, *SWEEP)) == ExitCode.DONE
    lines = [line for line in capsys.readouterr().err.splitlines() if line.startswith("top_k=")]
    assert sorted(line.partition(",")[0] for line in lines) == [
        "top_k=1: done",
        "top_k=1: started",
        "top_k=3: done",
        "top_k=3: started",
    ]
    assert any(re.fullmatch(r"top_k=1: done, 3 questions, 3 scored, new spend \$0\.\d+", line) for line in lines)
    assert main(arguments(model_server, *SWEEP)) == ExitCode.DONE
    assert "top_k=1: done, 3 questions (3 stored), 3 scored\n" in capsys.readouterr().err


def test_quiet_says_only_what_came_out(model_server: ModelServer, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(arguments(model_server, *SWEEP, "--quiet")) == ExitCode.DONE
    said = capsys.readouterr()
    assert said.err == ""
    assert "top_k=3" in said.out
    assert "RUNNER_QUIET" not in os.environ


def test_a_failed_job_is_told_however_quiet(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    with ModelServer(models=["answerer"]) as server:
        assert main(arguments(server, *SWEEP, "--quiet")) == ExitCode.INCOMPLETE
    assert "grader" in capsys.readouterr().err


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def test_nothing_is_said_about_the_time_before_it_can_be_known() -> None:
    clock = Clock()
    pace = Pace(clock)
    assert pace.seconds_left(100) is None
    clock.now += 60  # the index is built, the first answers are on their way
    for done in range(1, 101):
        pace.one_more()
        left = pace.seconds_left(100 - done)
        assert left is None or left == pytest.approx(100 - done)
        assert (left is None) == (done < 10 or done == 100)
        clock.now += 1


def test_a_burst_of_first_answers_promises_nothing() -> None:
    clock = Clock()
    pace = Pace(clock)
    for _ in range(50):
        pace.one_more()
    clock.now += 1
    assert pace.seconds_left(450) is None


@pytest.mark.parametrize(
    ("seconds", "said"),
    [(None, ""), (4, "seconds"), (42, "~40 s"), (89, "~90 s"), (200, "~3 min"), (3 * 3600, "~3.0 h")],
)
def test_the_time_left_is_no_more_exact_than_it_is(seconds: float | None, said: str) -> None:
    assert time_left(seconds) == said


def test_more_jobs_than_lines_leave_room_for_those_under_way() -> None:
    jobs = [JobProgress(f"top_k={k}", 10, done=10, state="done") for k in range(1, 21)]
    jobs += [JobProgress(f"top_k={k}", 10, done=k == 22) for k in range(21, 41)]
    console = Console(width=80, height=12, force_terminal=False)
    with console.capture() as captured:
        console.print(table(jobs, "the whole", 80, 12))
    lines = captured.get().splitlines()
    assert len(lines) < 12
    assert any(line.startswith("top_k=22") for line in lines)
    assert lines[-2].strip() == "and 34 more jobs: 20 ended, 14 under way"
    assert lines[-1].strip() == "the whole"
