"""Texts whose ``${`` opens a reference to another key that nobody can read: which file and key, and what to write."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from runner.config.environment import strings
from runner.config.provenance import shown
from runner.config.search_path import ConfigSource
from runner.errors import Problem

REMEDY = r"write \${ where the signs themselves are meant; a reference to another key is ${key}"
_LONGEST = 40


def is_unreadable(error: BaseException | None) -> bool:
    """Whether OmegaConf could not read a reference."""
    return type(error).__name__ == "GrammarParseError"


def unreadable(where: str, text: str) -> Problem:
    """The problem of one text."""
    start = text.find("${")
    begun = " ".join(text[start : start + _LONGEST].split())
    return Problem(where, f"{begun!r} is not a reference to another key that can be read", REMEDY)


def unreadable_in_files(source: ConfigSource) -> Iterator[tuple[Path, Problem]]:
    """(file, problem) of every such text in the configuration files, each with its file, line and key."""
    for folder in source.all_folders():
        for file in sorted(folder.rglob("*.yaml")):
            written = file.read_text(encoding="utf-8", errors="replace")
            for key, text in strings(_content(written)):
                if "${" in text and not _readable(text):
                    yield file, unreadable(f"{shown(file)} line {_line(written, text)}: {key}", text)


def _content(written: str) -> Mapping[Any, Any]:
    import yaml

    try:
        content = yaml.safe_load(written)
    except yaml.YAMLError:
        return {}
    return content if isinstance(content, Mapping) else {}


def _readable(text: str) -> bool:
    from omegaconf.errors import OmegaConfBaseException
    from omegaconf.grammar_parser import parse

    try:
        parse(text)
    except OmegaConfBaseException:
        return False
    return True


def _line(written: str, text: str) -> int:
    """The line of the first ``${`` of the text in the file."""
    start = text.find("${")
    begun = text[start:].splitlines()[0][:_LONGEST]
    return written[: max(written.find(begun), 0)].count("\n") + 1
