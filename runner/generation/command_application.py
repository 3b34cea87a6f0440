"""A program of the user's as the generator: one JSON object on its standard input, one on its standard output."""

from __future__ import annotations

import json
import shutil
import sys
from typing import TYPE_CHECKING, Any

from runner.config.applications import command_files
from runner.config.schema import Calls, Generator
from runner.errors import ConfigurationError, Problem
from runner.generation.application import Application, NoAnswer
from runner.generation.program import run
from runner.generation.replies import decoded, parsed
from runner.generation.returned import Unusable
from runner.records import Question, Reason
from runner.text.surrogates import without_surrogates

if TYPE_CHECKING:
    from runner.calls import Door

_SHOWN = 300
"""Characters of what a program said that a message shows."""


class CommandApplication(Application):
    """Starts the program once for each question, without a shell."""

    def __init__(self, generator: Generator, door: Door, calls: Calls) -> None:
        """Looks for the program, without starting it. Raises ConfigurationError where there is none."""
        super().__init__(" ".join(generator.command), generator, door, calls)
        if not generator.command:
            raise ConfigurationError([Problem("generator.command", "is empty", "write [PROGRAM, ARGUMENT, ...]")])
        files = command_files(generator.command)
        command = [str(files.get(place, part)) for place, part in enumerate(generator.command)]
        if command[0] in ("python", "python3"):
            # The interpreter that runs us: its packages are the ones that the user installed.
            command[0] = sys.executable
        found = shutil.which(command[0])
        if found is None:
            what = f"there is no program {generator.command[0]}, or it may not be executed"
            raise ConfigurationError([Problem("generator.command", what, "correct the name or install it")])
        self._command = [found, *command[1:]]

    async def ask(self, question: Question, contexts: tuple[str, ...]) -> Any:
        """The object on its standard output."""
        told = {
            "id": question.id,
            "question": question.text,
            "settings": self._generator.settings,
            "contexts": list(contexts),
        }
        line = without_surrogates(json.dumps(told, ensure_ascii=False)).encode() + b"\n"
        try:
            ended = await run(self._command, line)
        except (OSError, ValueError) as error:
            raise NoAnswer(Reason.APPLICATION, f"{self._name} could not be started ({error})") from None
        if ended.code != 0:
            last = ended.complaints.decode("utf-8", "replace").strip()[-_SHOWN:]
            detail = f"{self._name} ended with exit code {ended.code}{': ' + last if last else ''}"
            raise NoAnswer(Reason.APPLICATION, detail)
        text = decoded(ended.output).strip()
        if not text:
            raise Unusable(Reason.EMPTY, "wrote nothing to its standard output")
        return parsed(text)
