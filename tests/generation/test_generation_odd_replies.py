"""Replies that nobody expects: too deep, too big, not UTF-8, halves of characters, pipes held open by a child."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from typing import Any

import pytest

from runner.generation.replies import decoded
from runner.generation.returned import Unusable
from runner.records import Answer, AnswerStatus, Reason
from tests.generation.test_generation_applications import (
    _Service,
    answers,
    by_command,
    by_http,
    from_callable,
    service,  # noqa: F401 (a fixture)
)

pytestmark = pytest.mark.usefixtures("home")
HUGE = '{"answer":"ok","usage":{"model":"m","input_tokens":99999999999999999999999,"output_tokens":1}}'


def malformed(given: Answer, said: str) -> None:
    assert (given.status, given.reason) == (AnswerStatus.FAILED, Reason.MALFORMED)
    assert said in given.detail
    assert len(given.detail) < 700
    given.detail.encode()


def by_program(text: str) -> Answer:
    (given,) = answers(by_command(text))
    return given


def by_service(service: _Service, body: str | bytes, headers: dict[str, str] | None = None, **values: Any) -> Answer:  # noqa: F811
    service.queue.append((200, body, headers or {}))
    (given,) = answers(by_http(service, **values))
    return given


def test_json_nested_too_deeply_fails_one_answer(service: _Service) -> None:  # noqa: F811
    malformed(by_program("print('[' * 100_000)"), "nested too deeply")
    malformed(by_service(service, "[" * 100_000), "nested too deeply")
    malformed(
        from_callable("def answer(text):\n    a = []\n    for _ in range(10**5): a = [a]\n    return {'answer': a}"),
        "list",
    )


@pytest.mark.parametrize(
    ("usage", "said"),
    [
        ("{'input_tokens': 10**23}", "input_tokens=1000"),
        ("{'input_tokens': 10**5000}", "input_tokens=a value of type int"),
        ("{'completion_tokens': 1.5}", "completion_tokens=1.5"),
        ("{'cost_usd': 10**30}", "cost_usd=1000"),
        ("{'cost_usd': 'inf'}", "cost_usd='inf'"),
        ("{'cost_usd': 10**5000}", "cost_usd=a value of type int"),
        ("{'model': deep()}", "model=a list"),
    ],
)
def test_absurd_usage_fails_one_answer(usage: str, said: str) -> None:
    deep = "def deep():\n    a = []\n    for _ in range(10**5): a = [a]\n    return a\n"
    malformed(from_callable(f"{deep}def answer(text): return {{'answer': 'ok', 'usage': {usage}}}\n"), said)


def test_absurd_token_counts_of_a_program_and_a_service_fail_one_answer(service: _Service) -> None:  # noqa: F811
    malformed(by_program(f"print({HUGE!r})"), "input_tokens=99999999999999999999999")
    malformed(by_service(service, HUGE, usage_path="usage"), "input_tokens=99999999999999999999999")


@pytest.mark.parametrize(
    "body",
    [
        "class Odd(dict):\n        def __getitem__(self, key): raise OSError('gone')\n    return Odd(answer='x')",
        "class Odd(dict):\n        def __contains__(self, key): raise RuntimeError\n    return Odd(answer='x')",
    ],
)
def test_an_object_that_fails_when_it_is_looked_at_fails_one_answer(body: str) -> None:
    malformed(from_callable(f"def answer(text):\n    {body}\n"), "cannot be read")


def test_an_exception_that_cannot_be_written_fails_one_answer() -> None:
    odd = "class Odd(Exception):\n    def __str__(self): raise ValueError('again')\n"
    given = from_callable(f"{odd}def answer(text): raise Odd\n")
    assert (given.status, given.reason) == (AnswerStatus.FAILED, Reason.APPLICATION)
    assert "raised Odd" in given.detail


def test_halves_of_characters_in_a_reply_are_replaced(service: _Service) -> None:  # noqa: F811
    reply = {"answer": "a\ud83d", "contexts": ["\ude00b"], "usage": {"model": "m\ud83d", "input_tokens": 1}}
    told = json.dumps(reply)
    paths: dict[str, Any] = {"contexts_path": "contexts", "usage_path": "usage"}
    for given in (
        by_program(f"print({told!r})"),
        by_service(service, told, **paths),
        from_callable(f"def answer(text): return {reply!r}\n"),
    ):
        assert (given.text, given.contexts, given.calls[0].model) == ("a�", ("�b",), "m�")


def test_halves_of_characters_in_an_exception_are_replaced() -> None:
    given = from_callable("def answer(text): raise ValueError('a' + chr(0xd83d))\n")
    assert "ValueError: a�" in given.detail
    malformed(from_callable("def answer(text): return {chr(0xd83d): 1}\n"), "there is: �")


def test_a_reply_that_is_not_utf_8_is_refused_and_a_mark_before_it_is_not(service: _Service) -> None:  # noqa: F811
    write = "import sys; sys.stdout.buffer.write({!r})"
    latin, marked = b'{"answer": "caf\xe9"}', b'\xef\xbb\xbf{"answer": "caf\xc3\xa9"}'
    malformed(by_program(write.format(latin)), "not UTF-8 text (byte 0xe9 at place 15)")
    malformed(by_service(service, latin), "not UTF-8 text (byte 0xe9 at place 15)")
    declared = {"Content-Type": "application/json; charset=latin-1"}
    told = (by_program(write.format(marked)), by_service(service, marked), by_service(service, latin, declared))
    assert [given.text for given in told] == ["café"] * 3


def test_charsets_that_nobody_knows_are_read_as_utf_8() -> None:
    assert decoded("é".encode(), "no-such") == "é"
    assert decoded(b"\xef\xbb\xbfx", "UTF_8") == "x"
    with pytest.raises(Unusable, match="not utf-16"):
        decoded(b"\xfe\xff\xd8", "utf-16")


CHILD = (
    "import subprocess, json; print(json.dumps({{'answer': 'ok'}}), flush=True)\n"
    "child = subprocess.Popen(['sleep', '25']{})\n"
)


def test_a_program_that_leaves_a_child_keeps_its_answer_and_the_child_is_ended() -> None:
    (given,) = answers(by_command(CHILD.format("") + "open('pid', 'w').write(str(child.pid))", timeout_s=20))
    assert (given.status, given.text) == (AnswerStatus.ANSWERED, "ok")
    child = Path(f"/proc/{Path('pid').read_text()}/stat")
    for _ in range(200):
        if not child.exists() or child.read_text().split()[2] == "Z":
            return
        time.sleep(0.01)
    pytest.fail("the child still runs")


def test_a_child_outside_the_group_does_not_cost_the_answer() -> None:
    text = CHILD.format(", start_new_session=True") + "open('pid', 'w').write(str(child.pid))"
    (given,) = answers(by_command(text, timeout_s=20))
    os.kill(int(Path("pid").read_text()), 9)
    assert given.text == "ok"


def test_a_program_that_reads_nothing_and_writes_much_is_heard_to_its_end() -> None:
    (given,) = answers(by_command("import json; print(json.dumps({'answer': 'x' * 3_000_000}))"))
    assert len(given.text) == 3_000_000
