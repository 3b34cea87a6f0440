"""The verb ``ask``: questions typed one after the other, answered and judged by one configuration."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import sys
from collections.abc import Iterator, Sequence

from rich.console import Console

from runner.calls import Door, open_door
from runner.config import Job, home
from runner.config.arguments import parse_arguments
from runner.config.composition import prepare
from runner.config.schema import Config
from runner.errors import ConfigurationError, ExitCode, RunnerError
from runner.records import Question
from runner.sweeps.asked_run import AskedRun
from runner.sweeps.conversation import LEAVE, Conversation
from runner.sweeps.parts import Data, Parts
from runner.text.surrogates import without_surrogates

PROMPT = "question> "
SCRIPT_WIDTH = 100_000
"""Characters of a line that nobody wraps."""
MOST_HISTORY = 1_000
"""Lines of the history that are kept from one session to the next."""


def main(argv: Sequence[str]) -> int:
    """``runner ask [--track] [overrides]``; exit 3 where an answer or a verdict failed.

    In a terminal an error that ends a question does not end the session; piped, it does. ``--track``: the questions
    also go to the tracking store, as a run of their own.
    """
    arguments = parse_arguments([argument for argument in argv if argument != "--track"])
    if arguments.information or arguments.multirun:
        raise ConfigurationError("ask: give only overrides; it asks one configuration")
    (job,) = prepare(arguments.overrides, multirun=False, source=arguments.source)
    # A script reads whole lines; a person reads what fits the terminal.
    console = Console(highlight=False, width=None if sys.stdout.isatty() else SCRIPT_WIDTH)
    return ask(job, console, interactive=sys.stdin.isatty(), track="--track" in argv)


def ask(job: Job, console: Console, *, interactive: bool, track: bool = False) -> int:
    """Reads lines until the end of the input, ``quit`` or Ctrl-C. Returns the exit code."""
    data = Data()
    problems = data.problems((job,), asks_set=False)
    if problems:
        raise ConfigurationError(problems)
    tracked = AskedRun.open(job, data) if track else None
    with _session(job, data, console) as (conversation, loop):
        try:
            _talk(conversation, loop, interactive=interactive)
        finally:
            for note in () if tracked is None else tracked.finish(conversation.records):
                conversation.say(note, style="yellow")
        return ExitCode.INCOMPLETE if conversation.failures else ExitCode.DONE


def _talk(conversation: Conversation, loop: asyncio.Runner, *, interactive: bool) -> None:
    if interactive:
        conversation.say(conversation.greeting)
    for line in _lines(interactive):
        if line is None:
            conversation.failures += 1
            conversation.say(f"this line is not {_encoding()} text, so it was not asked", style="yellow")
            continue
        if line.lower() in LEAVE:
            return
        if line.startswith(":"):
            conversation.command(line)
        elif line:
            if not interactive:
                conversation.say(f"{PROMPT}{line}")
            _one(conversation, loop, line, interactive=interactive)


@contextlib.contextmanager
def _session(job: Job, data: Data, console: Console) -> Iterator[tuple[Conversation, asyncio.Runner]]:
    """The parts of the configuration, open while the user thinks: the loop only turns while a question is asked."""
    config = job.config
    with asyncio.Runner() as loop:
        stack = contextlib.AsyncExitStack()
        opening = open_door(config.calls, config.budget, config.prices, home=home(), metadata=config.metadata)
        door: Door = loop.run(stack.enter_async_context(opening))
        try:
            parts = Parts(door, home(), data)
            parts.check((job,))
            pipeline = loop.run(parts.pipeline(job))
            yield Conversation(job, dataclasses.replace(pipeline, questions=_fitting(config, data)), console), loop
        finally:
            loop.run(stack.aclose())


def _fitting(config: Config, data: Data) -> tuple[Question, ...]:
    """The questions of the set whose gold is in the documents: reference answers of other documents are none here."""
    known = {document.id for document in data.documents(config)}
    return tuple(one for one in data.questions(config) if not known or known.issuperset(one.gold))


def _one(conversation: Conversation, loop: asyncio.Runner, line: str, *, interactive: bool) -> None:
    try:
        loop.run(conversation.ask(line))
    except KeyboardInterrupt:
        if not interactive:
            raise
        conversation.say("this question was dropped; Ctrl-C again leaves", style="yellow")
    except RunnerError as error:
        if not interactive:
            raise
        conversation.failures += 1
        conversation.say(str(error), style="yellow")


def _lines(interactive: bool) -> Iterator[str | None]:
    """What the user types, or the lines of a pipe; ``None`` for a line whose bytes are no text."""
    if not interactive:
        yield from _piped()
        return
    with _history():
        while True:
            try:
                line = input(PROMPT).strip()
            except (EOFError, KeyboardInterrupt):
                print()
                return
            except UnicodeDecodeError:
                yield None
            else:
                yield line if line == without_surrogates(line) else None


def _piped() -> Iterator[str | None]:
    # Not the text stream: where that meets a byte that is no text, the lines after it are lost.
    for raw in getattr(sys.stdin, "buffer", sys.stdin):
        try:
            line = raw if isinstance(raw, str) else raw.decode(_encoding())
        except UnicodeDecodeError:
            yield None
        else:
            yield line.removeprefix("\N{ZERO WIDTH NO-BREAK SPACE}").strip()


def _encoding() -> str:
    return (sys.stdin.encoding or "utf-8").upper()


@contextlib.contextmanager
def _history() -> Iterator[None]:
    """Arrow keys and what was typed before; without it where Python was built without readline."""
    try:
        import readline
    except ImportError:
        yield
        return
    if "libedit" not in (readline.__doc__ or ""):
        # Ctrl-D that is typed before the prompt waits reaches readline as a zero: the terminal made that of it.
        readline.parse_and_bind(r'"\C-@": "\C-d"')
    path = home() / "ask_history"
    with contextlib.suppress(OSError):
        readline.read_history_file(path)
    try:
        yield
    finally:
        readline.set_history_length(MOST_HISTORY)
        with contextlib.suppress(OSError):
            readline.write_history_file(path)
