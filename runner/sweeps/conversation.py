"""One conversation with a configuration: a question to its answer, and the commands that begin with a colon."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

from rich.console import Console
from rich.text import Text

from runner.calls import calling
from runner.config import Job
from runner.config.spelling import did_you_mean
from runner.evaluation import Pipeline, evaluate_question
from runner.journal import failures
from runner.records import Question, Record
from runner.report.answer import render_record
from runner.report.text import plain
from runner.sweeps.saving import NotSaved, save_question

LEAVE = ("quit", "exit", "q", ":quit", ":q")
MOST_K = 10_000

HELP = """type a question, or
  :k 5               retrieve 5 chunks a question
  :judge grounding   only this judge (several: with commas; all: :judge all; no name: which there are)
  :save FILE         append the last question to a .jsonl, .json or .csv question file
  :help              this
  quit, exit, q      leave (Ctrl-C and Ctrl-D too)"""


class Conversation:
    """What is asked with, and what was asked last."""

    def __init__(self, job: Job, pipeline: Pipeline, console: Console) -> None:
        self._job = job
        self._pipeline = pipeline
        self._judges, self._panels = pipeline.judges, pipeline.panels
        self._console = console
        self._known = {question.text.strip(): question for question in pipeline.questions}
        self._records: list[Record] = []
        self.failures = 0
        """Questions that ended in an error, or of which a part failed."""
        self._commands: Mapping[str, Callable[[str], None]] = {
            "k": self._set_k,
            "judge": self._set_judges,
            "save": self._save,
            "help": lambda _: self.say(HELP),
        }

    @property
    def records(self) -> tuple[Record, ...]:
        """Everything that was answered, in the order asked."""
        return tuple(self._records)

    @property
    def greeting(self) -> str:
        """One line that says whom one talks to."""
        generator = self._job.config.generator
        who = generator.model if generator.kind == "model" else generator.kind
        judges = ", ".join(self._judges) or "none"
        return f"{who} answers, judges: {judges}, top_k={self._pipeline.top_k}; :help lists the commands, q leaves"

    def say(self, text: str, style: str = "") -> None:
        """Prints a text that may hold anything."""
        self._console.print(Text(plain(text), style=style))

    async def ask(self, text: str) -> None:
        """Brings the question through the configuration and shows what came of it.

        A question of the configuration's own set keeps its reference answer and its gold documents.
        """
        question = self._known.get(text) or Question(id=_identifier(text), text=text)
        deadline = self._pipeline.question_deadline_s
        began = time.monotonic()
        with calling(run="ask", question=question.id, deadline=deadline):
            (retrieval,) = await self._pipeline.retriever.retrieve((question,), self._pipeline.top_k)
            record = await evaluate_question(question, retrieval, self._pipeline)
        if failures(record):
            self.failures += 1
        self._records.append(record)
        self._console.print(render_record(record, time.monotonic() - began))
        self._console.print()

    def command(self, line: str) -> None:
        """Does what stands behind the colon; says what is wrong with it where it cannot be done."""
        name, _, rest = line[1:].partition(" ")
        act = self._commands.get(name)
        if act is None:
            self.say(f":{name}: there is no such command; {did_you_mean(name, tuple(self._commands))}", "yellow")
        else:
            act(rest.strip())

    def _set_k(self, value: str) -> None:
        if not value.isdecimal() or not 1 <= int(value) <= MOST_K:
            self.say(f":k wants a number from 1 to {MOST_K}, such as :k 5", "yellow")
            return
        self._pipeline = replace(self._pipeline, top_k=int(value))
        self.say(f"top_k={int(value)}")

    def _set_judges(self, names: str) -> None:
        chosen = [name.strip() for name in names.split(",") if name.strip()]
        if not chosen:
            self.say(f"judges: {', '.join(self._pipeline.judges) or 'none'}; there are {', '.join(self._judges)}")
            return
        if chosen == ["all"]:
            chosen = list(self._judges)
        unknown = [name for name in chosen if name not in self._judges]
        if unknown:
            self.say(f"{unknown[0]}: there is no such judge; {did_you_mean(unknown[0], tuple(self._judges))}", "yellow")
            return
        self._pipeline = replace(
            self._pipeline,
            judges={name: judge for name, judge in self._judges.items() if name in chosen},
            panels=self._panels if len(chosen) == len(self._judges) else {},
        )
        self.say(f"judges: {', '.join(self._pipeline.judges)}")

    def _save(self, name: str) -> None:
        if not self._records or not name:
            self.say(":save wants a file, after a question was asked, such as :save questions.jsonl", "yellow")
            return
        path = Path(name)
        try:
            path = path.expanduser()
            self.say(save_question(self._records[-1].question, path))
        except (OSError, ValueError, RuntimeError) as error:
            self.say(f"{path}: cannot be written ({error})", "yellow")
        except NotSaved as refused:
            self.say(f"{path}: not saved: {refused}", "yellow")


def _identifier(text: str) -> str:
    """The same question has the same id, whenever it is asked."""
    return "ask-" + hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:12]
