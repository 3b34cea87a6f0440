"""Draws which stored answers a person should label: a seeded random order over questions and runs, blind to both.

The order is drawn as a whole, so that whoever labels the first 40 of 100 has still labelled a random sample. What was
drawn can be drawn again from the runs and the seed, which is how ``calibrate`` knows a random sample from any other.
"""

from __future__ import annotations

import hashlib
import random
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from runner.errors import ConfigurationError
from runner.records import AnswerStatus, Record, RunResult


class Design(StrEnum):
    """What is drawn at random."""

    ANSWERS = "answers"
    """Single answers: best for the mean of each run."""
    QUESTIONS = "questions"
    """Questions, with the answers of every run: best for differences between runs."""


FEW_RUNS = 4
"""Up to this many runs whole questions are drawn unless the user says otherwise."""


@dataclass(frozen=True, slots=True)
class Unit:
    """One answer that was drawn, in the order drawn."""

    item: str
    """Tells nothing of run or score. Equal answers to one question from the same context share it: labelled once."""
    run: int
    """Place of its run; for whoever calibrates, never shown to whoever labels."""
    record: Record


@dataclass(frozen=True, slots=True)
class Draw:
    """A sample and what is needed to draw it again."""

    units: tuple[Unit, ...]
    seed: int
    count: int
    design: Design
    population: str
    """Hash of the runs and questions drawn from."""

    @property
    def stamp(self) -> str:
        """Written beside every label: ``seed=7 count=60 design=answers of=3f2a...``."""
        return f"seed={self.seed} count={self.count} design={self.design.value} of={self.population}"


def draw_sample(runs: Sequence[RunResult], count: int, seed: int, design: Design | str | None = None) -> Draw:
    """Draw ``count`` answers (fewer where there are fewer) of the runs.

    Raises
    ------
    ConfigurationError
        No run has an answer.
    """
    runs = sorted(runs, key=lambda run: run.job_key)
    chosen = Design(design) if design is not None else Design.QUESTIONS if len(runs) <= FEW_RUNS else Design.ANSWERS
    everything = [
        (place, record)
        for place, run in enumerate(runs)
        for record in run.records
        if record.answer.status == AnswerStatus.ANSWERED
    ]
    if not everything:
        raise ConfigurationError("label: these runs hold no answers")
    everything.sort(key=lambda unit: (unit[1].question.id, unit[0]))
    text = "\n".join(f"{runs[place].job_key} {record.question.id}" for place, record in everything)
    generator = random.Random(f"{seed} {chosen.value}")
    if chosen == Design.ANSWERS:
        generator.shuffle(everything)
    else:
        questions = dict.fromkeys(record.question.id for _, record in everything)
        rank = {question: generator.random() for question in questions}
        inside = [generator.random() for _ in everything]
        order = sorted(range(len(everything)), key=lambda k: (rank[everything[k][1].question.id], inside[k]))
        everything = [everything[k] for k in order]
    units = tuple(Unit(item_of(record, seed), place, record) for place, record in everything[:count])
    return Draw(units, seed, count, chosen, hashlib.sha256(text.encode()).hexdigest()[:12])


def item_of(record: Record, seed: int) -> str:
    """The id under which an answer is labelled."""
    parts = [str(seed), record.question.id, record.answer.text, *contexts_of(record)]
    return hashlib.sha256("\x1f".join(parts).encode("utf-8", "surrogatepass")).hexdigest()[:10]


def contexts_of(record: Record) -> tuple[str, ...]:
    """The texts that the answer was made from."""
    return record.answer.contexts or tuple(one.chunk.text for one in record.retrieved)
