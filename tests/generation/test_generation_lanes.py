"""Asynchronous functions of the user's that misbehave: each costs its own time limit, never the others' or the end."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from pathlib import Path

import pytest

from runner.calls import open_door
from runner.config.schema import Budget, Calls, Generator, Prompt
from runner.generation import open_generator
from runner.records import Answer, AnswerStatus, Question, Reason
from tests.generation.test_generation_applications import QUESTION, answers, from_callable, write

pytestmark = pytest.mark.usefixtures("home")
CHECKOUT = Path(__file__).parents[2]
SWALLOWS = """
import asyncio
async def answer(text):
    while True:
        try: await asyncio.sleep(1000)
        except asyncio.CancelledError: pass
"""
IN_A_THREAD = """
import asyncio, time
async def answer(text): await asyncio.to_thread(time.sleep, 1000)
"""
BLOCKS = """
import asyncio, threading
gate = threading.Event()
async def answer(text):
    if text == "block": gate.wait(60)
    await asyncio.sleep(0)
    return str(id(asyncio.get_running_loop()))
"""


def asked(text: str, *questions: str, timeout_s: float = 20, concurrency: int = 8) -> list[Answer]:
    write(text)
    generator = Generator(kind="callable", target="own_app:answer", model="", timeout_s=timeout_s)
    numbered = tuple(Question(f"q{place}", question) for place, question in enumerate(questions))
    return answers(generator, numbered, concurrency=concurrency)


def timed_out(given: Answer) -> bool:
    return (given.status, given.reason) == (AnswerStatus.FAILED, Reason.TIMEOUT)


@pytest.mark.parametrize("text", [SWALLOWS, BLOCKS, IN_A_THREAD], ids=["swallows", "blocks", "in a thread"])
def test_a_function_that_ignores_its_limit_is_a_timeout_and_the_process_ends(text: str) -> None:
    script = (
        "from tests.generation.test_generation_lanes import *\n"
        f"(given,) = asked({text!r}, 'block', timeout_s=0.3)\n"
        "assert timed_out(given), given\n"
    )
    environment = {**os.environ, "PYTHONPATH": str(CHECKOUT)}
    command = [sys.executable, "-c", script]
    ended = subprocess.run(command, check=False, env=environment, timeout=50, capture_output=True, text=True)
    assert (ended.returncode, ended.stderr) == (0, "")


def test_one_that_blocks_its_loop_costs_no_other_its_answer() -> None:
    given = asked(BLOCKS, "block", "a", "b", "c", timeout_s=3)
    __import__("own_app").gate.set()
    assert [answer.status for answer in given[1:]] == [AnswerStatus.ANSWERED] * 3
    assert timed_out(given[0])


def test_a_question_after_one_that_blocks_is_not_sent_to_the_blocked_loop() -> None:
    given = asked(BLOCKS, "block", "a", "b", timeout_s=1, concurrency=1)
    __import__("own_app").gate.set()
    assert timed_out(given[0])
    # What is shared is shared again.
    assert given[1].text == given[2].text != ""


def test_all_questions_share_one_loop_so_that_a_module_may_hold_a_client() -> None:
    text = (
        "import asyncio\nlock = asyncio.Lock()\n"
        "async def answer(text):\n"
        "    async with lock: await asyncio.sleep(0.001)\n"
        "    return str(id(asyncio.get_running_loop()))\n"
    )
    given = asked(text, "a", "b", "c")
    assert {answer.status for answer in given} == {AnswerStatus.ANSWERED}
    assert len({answer.text for answer in given}) == 1


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("import asyncio\nasync def answer(text): raise asyncio.CancelledError('mine')\n", "CancelledError: mine"),
        ("import asyncio\ndef answer(text): raise asyncio.CancelledError('mine')\n", "CancelledError: mine"),
        (
            "import asyncio\nasync def other(): raise asyncio.CancelledError('mine')\n"
            "def answer(text): return other()\n",
            "CancelledError: mine",
        ),
        (
            "import asyncio\nasync def answer(text):\n"
            "    asyncio.current_task().cancel('mine')\n    await asyncio.sleep(1)\n",
            "CancelledError: mine",
        ),
        ("async def answer(text): raise SystemExit(3)\n", "SystemExit: 3"),
        ("async def answer(text): raise KeyboardInterrupt\n", "KeyboardInterrupt"),
    ],
)
def test_a_function_that_cancels_itself_is_a_failure_of_its_own(text: str, said: str) -> None:
    given = from_callable(text)
    assert (given.status, given.reason) == (AnswerStatus.FAILED, Reason.APPLICATION)
    assert said in given.detail


@pytest.mark.parametrize("text", [SWALLOWS, BLOCKS], ids=["swallows", "blocks"])
def test_an_interruption_does_not_wait_for_the_function(text: str) -> None:
    write("began = []\n" + text.replace("async def answer(text):", "async def answer(text):\n    began.append(1)"))

    async def work() -> None:
        limits = Calls(retries=0)
        async with open_door(limits, Budget(None), (), home=Path("home")) as door:
            generator = Generator(kind="callable", target="own_app:answer", model="", timeout_s=600)
            opened = open_generator(generator, Prompt(id="p"), door, limits, retrieves=False)
            assert opened is not None
            asking = asyncio.create_task(opened.answer(Question("q", "block"), ()))
            while not __import__("own_app").began:
                await asyncio.sleep(0.01)
            asking.cancel()
            with pytest.raises(asyncio.CancelledError):
                await asking

    asyncio.run(work())
    gate = getattr(__import__("own_app"), "gate", None)
    if gate is not None:
        gate.set()


def test_context_variables_follow_into_the_function() -> None:
    write(
        "from runner.calls.context import current\n"
        "async def answer(text): return f'{current().run} {current().question} {current().stage}'\n"
    )
    (given,) = answers(Generator(kind="callable", target="own_app:answer", model=""), (QUESTION,))
    assert given.text == "r q1 generate"
