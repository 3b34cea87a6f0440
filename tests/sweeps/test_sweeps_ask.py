"""The verb ask: piped lines, and a conversation through a pseudo-terminal, as a person has it."""

from __future__ import annotations

import contextlib
import io
import json
import os
import pty
import re
import select
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from runner.cli import main
from runner.config.schema import Questions
from runner.errors import ExitCode
from runner.knowledge import load_questions
from tests.fakes.model_server import ModelServer
from tests.sweeps.driving import CHECKOUT, GENERATOR, JUDGE, arguments

pytestmark = pytest.mark.usefixtures("home")

PATIENCE_S = 60.0
START = """
import fcntl, sys, termios
fcntl.ioctl(0, termios.TIOCSCTTY, 0)
from runner.cli import main
sys.exit(main())
"""
"""Makes the pseudo-terminal the process's own first, so that Ctrl-C typed there is a signal."""
PARKING = "Where can I park my car?"


def piped(server: ModelServer, monkeypatch: pytest.MonkeyPatch, *lines: str) -> int:
    monkeypatch.setattr(sys, "stdin", io.StringIO("".join(line + "\n" for line in lines)))
    return main(["ask", *arguments(server, "questions.limit=3")])


def test_a_piped_question_is_answered_judged_and_paid_once(
    model_server: ModelServer, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert piped(model_server, monkeypatch, PARKING) == ExitCode.DONE
    said = capsys.readouterr().out
    assert f"question> {PARKING}" in said
    for shown in ("grounding: ", "topicality: ", "  1. ", "tokens in", "new cost $0.0", "3 calls, 0 of them stored"):
        assert shown in said
    assert (model_server.count(model=GENERATOR), model_server.count(model=JUDGE)) == (1, 2)
    assert piped(model_server, monkeypatch, PARKING) == ExitCode.DONE
    assert "3 calls, 3 of them stored · new cost $0," in capsys.readouterr().out
    assert model_server.count() == 3


def test_commands_change_what_is_asked_next(
    model_server: ModelServer, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = [":k 1", ":judge grounding", PARKING, ":judge all", ":k 0", ":judge groundin", ":nonsense", ":help"]
    assert piped(model_server, monkeypatch, *lines, "q", "not asked") == ExitCode.DONE
    said = capsys.readouterr().out
    assert (model_server.count(model=GENERATOR), model_server.count(model=JUDGE)) == (1, 1)
    assert "  1. " in said
    assert "  2. " not in said
    assert ":k wants a number from 1 to" in said
    assert "groundin: there is no such judge; did you mean grounding?" in said
    assert ":nonsense: there is no such command" in said
    assert "append the last question" in said


def test_saved_questions_are_a_question_file(
    model_server: ModelServer, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("mine.jsonl").write_text('{"id": "a", "question": "What is a?"}', encoding="utf-8")
    known = "How many credit hours do I need to graduate?"
    lines = [":save mine.jsonl", PARKING, ":save mine.jsonl", ":save mine.jsonl", known, ":save mine.jsonl"]
    assert piped(model_server, monkeypatch, *lines) == ExitCode.DONE
    said = capsys.readouterr().out
    assert ":save wants a file, after a question was asked" in said
    assert "holds this question already" in said
    loaded = load_questions(Questions(name="mine", path="mine.jsonl"), seed=1)
    assert [question.text for question in loaded] == ["What is a?", PARKING, known]
    assert loaded[2].reference is not None
    assert loaded[2].gold


def saved(
    model_server: ModelServer, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], name: str
) -> str:
    known = "How many credit hours do I need to graduate?"
    lines = [PARKING, f":save {name}", f":save {name}", known, f":save {name}", ":k 2"]
    assert piped(model_server, monkeypatch, *lines) == ExitCode.DONE
    said = capsys.readouterr().out
    assert "top_k=2" in said, "the session goes on"
    return said


@pytest.mark.parametrize("suffix", ["jsonl", "ndjson", "json", "csv", "tsv"])
def test_save_writes_the_format_of_the_suffix(
    suffix: str, model_server: ModelServer, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    said = saved(model_server, monkeypatch, capsys, f"new.{suffix}")
    assert said.count(f"saved to new.{suffix}") == 2
    assert said.count("holds this question already") == 1
    loaded = load_questions(Questions(name="mine", path=f"new.{suffix}"), seed=1)
    assert [question.text for question in loaded] == [PARKING, "How many credit hours do I need to graduate?"]
    assert loaded[0].id.startswith("ask-")
    assert loaded[1].reference
    assert loaded[1].gold


@pytest.mark.parametrize(
    ("name", "there", "note"),
    [
        ("a.json", '[{"id": "a", "question": "Q?"}]', ""),
        ("a.json", '{"questions": [{"id": "a", "question": "Q?"}]}', ""),
        ("a.csv", "\ufeffquestion;gold;reference;id\nQ?;;;a", ""),
        ("a.csv", 'note,question\r\n"x, y",Q?\r\n', ", without reference and gold: it has no such column"),
    ],
)
def test_save_appends_to_what_is_there_in_its_own_columns(
    name: str,
    there: str,
    note: str,
    model_server: ModelServer,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    Path(name).write_text(there, encoding="utf-8", newline="")
    assert f"saved to {name}{note}\n" in saved(model_server, monkeypatch, capsys, name)
    loaded = load_questions(Questions(name="mine", path=name), seed=1)
    assert [question.text for question in loaded][:2] == ["Q?", PARKING]
    assert bool(loaded[2].gold) is not bool(note)


@pytest.mark.parametrize(
    ("name", "there", "said"),
    [
        ("a.txt", None, "no question file ends in .txt; name a .jsonl"),
        ("a", None, "no question file ends in nothing; name a .jsonl"),
        ("a.csv", b"x,y\n1,2\n", "no column question"),
        ("a.csv", b"caf\xe9,question\n", "not UTF-8"),
        ("a.jsonl", b'[{"id": "a"}]\n', "line 1 is no JSON object"),
        ("a.jsonl", b"x,y\n", "line 1 is no JSON object"),
        ("a.json", b"3", "no JSON list"),
        ("a.json", b"[" * 100_000, "no JSON list"),
        ("no/such/a.json", None, "cannot be written"),
        ("~no-such-user/a.json", None, "cannot be written"),
    ],
)
def test_save_refuses_in_one_line_and_leaves_the_file(
    name: str,
    there: bytes | None,
    said: str,
    model_server: ModelServer,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    if there is not None:
        Path(name).write_bytes(there)
    assert said in saved(model_server, monkeypatch, capsys, name)
    assert (Path(name).read_bytes() if Path(name).exists() else None) == there


def test_a_piped_line_that_is_not_utf_8_is_refused_and_the_next_is_asked(
    model_server: ModelServer, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = b"\xef\xbb\xbf:k 1\ncaf\xe9?\n" + PARKING.encode() + b"\nq\n"
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(lines), encoding="utf-8"))
    assert main(["ask", *arguments(model_server, "questions.limit=3")]) == ExitCode.INCOMPLETE
    said = capsys.readouterr().out
    assert "top_k=1" in said
    assert "this line is not UTF-8 text" in said
    assert f"question> {PARKING}" in said
    assert model_server.count(model=GENERATOR) == 1


class _Keyboard(io.StringIO):
    encoding = "utf-8"

    def isatty(self) -> bool:
        return True


def test_a_typed_line_that_is_not_utf_8_is_refused_and_the_session_goes_on(
    model_server: ModelServer, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    # What input() gives depends on readline and the locale: an error, or halves of characters for the bytes.
    typed: list[str | None] = [None, "caf\udce9?", ":k 2", "q"]

    def typing(_: str) -> str:
        line = typed.pop(0)
        return b"caf\xe9?".decode() if line is None else line

    monkeypatch.setattr("builtins.input", typing)
    monkeypatch.setattr(sys, "stdin", _Keyboard())
    assert main(["ask", *arguments(model_server, "questions.limit=3")]) == ExitCode.INCOMPLETE
    said = capsys.readouterr().out
    assert said.count("this line is not UTF-8 text") == 2
    assert "top_k=2" in said
    assert model_server.count() == 0


def test_a_failed_verdict_is_shown_with_its_reason_and_makes_the_exit_code_three(
    model_server: ModelServer, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    model_server.when("refusal", model=JUDGE)
    assert piped(model_server, monkeypatch, PARKING, "quit") == ExitCode.INCOMPLETE
    assert "grounding: failed (refused)" in capsys.readouterr().out


def test_piped_lines_end_with_the_first_error_that_ends_a_question(
    model_server: ModelServer, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    model_server.when("unauthorized")
    assert piped(model_server, monkeypatch, PARKING, "What else?") == ExitCode.INCOMPLETE
    printed = capsys.readouterr()
    assert "401" in printed.err
    assert "Traceback" not in printed.err
    assert "What else?" not in printed.out


class Terminal:
    """A process on a pseudo-terminal, and what it has printed."""

    def __init__(self, process: subprocess.Popen[bytes], file: int) -> None:
        self._process = process
        self._file = file
        self.printed = ""

    def type(self, text: str) -> None:
        os.write(self._file, text.encode())

    def expect(self, pattern: str) -> str:
        """Waits until the pattern is printed after what was expected before; returns all up to there."""
        end = time.monotonic() + PATIENCE_S
        while (found := re.search(pattern, self.printed)) is None:
            assert time.monotonic() < end, f"{pattern!r} did not come; there is {self.printed!r}"
            if not select.select([self._file], [], [], 0.2)[0]:
                continue
            try:
                self.printed += os.read(self._file, 65_536).decode(errors="replace")
            except OSError:  # the other side is closed
                assert re.search(pattern, self.printed), f"{pattern!r} did not come; there is {self.printed!r}"
        seen, self.printed = self.printed[: found.end()], self.printed[found.end() :]
        return seen

    def insist(self, key: str) -> None:
        """Types a key that leaves, again after a while: one that comes between the prompt and the waiting for input
        is noticed with the next one only, as at every readline prompt."""
        for _ in range(int(PATIENCE_S / 3)):
            with contextlib.suppress(OSError):
                self.type(key)
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(timeout=3)
                return

    def ended(self) -> int:
        """The exit code; what is printed until then is read, so that nobody waits for the other."""
        end = time.monotonic() + PATIENCE_S
        while self._process.poll() is None and time.monotonic() < end:
            if select.select([self._file], [], [], 0.2)[0]:
                try:
                    self.printed += os.read(self._file, 65_536).decode(errors="replace")
                except OSError:
                    break
        return self._process.wait(timeout=PATIENCE_S)


@contextmanager
def terminal(server: ModelServer, *overrides: str) -> Iterator[Terminal]:
    ours, theirs = pty.openpty()
    environment = {**os.environ, "PYTHONPATH": str(CHECKOUT), "TERM": "xterm-256color", "COLUMNS": "100"}
    environment.pop("NO_COLOR", None)
    process = subprocess.Popen(
        [sys.executable, "-c", START, "ask", *arguments(server, "questions.limit=3", *overrides)],
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        env=environment,
        start_new_session=True,
    )
    os.close(theirs)
    try:
        yield Terminal(process, ours)
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()
        os.close(ours)


def test_a_conversation_in_a_terminal(model_server: ModelServer, home: Path) -> None:
    with terminal(model_server) as person:
        greeting = person.expect("question> ")
        assert f"{GENERATOR} answers, judges: grounding, topicality" in greeting
        person.type(PARKING + "\n")
        answer = person.expect("question> ")
        assert re.search("\x1b\\[[0-9;]*3[12]m[^\n]*pass", answer), "a value that passes is green, another red"
        assert "tokens in" in answer
        person.type(":k 2\n")
        person.expect("top_k=2")
        person.type(":judge topicality\n")
        person.expect("judges: topicality")
        person.type("What do rooms cost?\n")
        assert "grounding:" not in person.expect("tokens in")
        person.type(":save asked.jsonl\n")
        person.expect("saved to asked.jsonl")
        person.expect("question> ")
        person.type("\x1b[A\x1b[A\x1b[A\x1b[A\x1b[A\n")  # the history: five lines up is the first question
        assert PARKING in person.expect("calls, ")
        person.expect("question> ")
        person.type("exit\n")
        assert person.ended() == ExitCode.DONE
    assert json.loads(Path("asked.jsonl").read_text(encoding="utf-8"))["question"] == "What do rooms cost?"
    assert PARKING in (home / "ask_history").read_text(encoding="utf-8")


@pytest.mark.parametrize("key", ["\x03", "\x04"], ids=["ctrl-c", "ctrl-d"])
def test_ctrl_c_and_the_end_of_the_input_leave_without_a_traceback(model_server: ModelServer, key: str) -> None:
    with terminal(model_server) as person:
        person.expect("question> ")
        person.insist(key)
        assert person.ended() == ExitCode.DONE
        assert "Traceback" not in person.printed


def test_ctrl_d_as_the_very_first_key_leaves(model_server: ModelServer) -> None:
    with terminal(model_server) as person:
        # Before anybody reads: the terminal keeps it as a zero, which readline takes for another key.
        person.type("\x04")
        assert person.ended() == ExitCode.DONE
        assert "Traceback" not in person.printed


def test_ctrl_c_while_an_answer_is_made_drops_the_question_and_stays(model_server: ModelServer) -> None:
    model_server.latency_s = 30.0
    with terminal(model_server) as person:
        person.expect("question> ")
        person.type(PARKING + "\n")
        end = time.monotonic() + PATIENCE_S
        while model_server.count() == 0 and time.monotonic() < end:
            time.sleep(0.05)
        person.type("\x03")
        person.expect("this question was dropped")
        person.expect("question> ")
        person.type("q\n")
        assert person.ended() == ExitCode.DONE
        assert "Traceback" not in person.printed
