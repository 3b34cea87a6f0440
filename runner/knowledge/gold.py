"""Which document a gold name means: its id, or its file's name with the ending, as a listing of sources shows it."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import PurePosixPath

from runner.records import Document, Question


def with_gold_ids(questions: Sequence[Question], documents: Sequence[Document]) -> tuple[Question, ...]:
    """The questions with ids where gold named the file of a document (``policies/housing.md``); others as they are.

    An id wins over a file's name, so that nothing that is an id ever means another document.
    """
    known = {document.id for document in documents}
    files = {one.source: one.id for one in documents if one.source not in known and _bare(one.source) == one.id}
    return tuple(_renamed(question, files) for question in questions) if files else tuple(questions)


def nearest(gold: str, known: Iterable[str]) -> str:
    """The id that a gold name nobody has was most likely meant to be; empty where none is near."""
    ids = sorted(known)
    for form in _FORMS:
        same = [identity for identity in ids if form(identity) == form(gold)]
        if len(same) == 1:
            return same[0]
    return next(iter(difflib.get_close_matches(gold, ids, n=1)), "")


def _renamed(question: Question, files: Mapping[str, str]) -> Question:
    gold = tuple(dict.fromkeys(files.get(name, name) for name in question.gold))
    return question if gold == question.gold else replace(question, gold=gold)


def _bare(name: str) -> str:
    """A file's name without its ending."""
    path = PurePosixPath(name)
    return path.with_suffix("").as_posix() if path.name else name


_FORMS: tuple[Callable[[str], str], ...] = (
    str.casefold,
    lambda name: _bare(name.casefold()),
    lambda name: PurePosixPath(_bare(name.casefold())).name,
)
"""What two names may have in common, the closest first: all but case, also the ending, also the folder."""
