"""Marks what differs between two texts, word by word."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

MOST_WORDS = 600
"""Words of each text that are compared; the time grows with the square, and nobody reads further."""
_WORDS = re.compile(r"\s+|\w+|[^\w\s]")


@dataclass(frozen=True, slots=True)
class Piece:
    """A stretch of a text that the other text has too, or has not."""

    text: str
    only_here: bool


def marked(left: str, right: str) -> tuple[tuple[Piece, ...], tuple[Piece, ...]]:
    """Both texts in pieces; joined again they are the texts. What lies beyond ``MOST_WORDS`` is not marked."""
    ours, rest = _words(left)
    theirs, their_rest = _words(right)
    matcher = SequenceMatcher(None, ours, theirs, autojunk=False)
    ours_in, theirs_in = [False] * len(ours), [False] * len(theirs)
    for block in matcher.get_matching_blocks():
        ours_in[block.a : block.a + block.size] = [True] * block.size
        theirs_in[block.b : block.b + block.size] = [True] * block.size
    return (
        tuple(_pieces(ours, ours_in, rest)),
        tuple(_pieces(theirs, theirs_in, their_rest)),
    )


def _words(text: str) -> tuple[list[str], str]:
    words: list[str] = []
    end = 0
    for found in _WORDS.finditer(text):
        if len(words) == MOST_WORDS:
            break
        words.append(found.group())
        end = found.end()
    return words, text[end:]


def _pieces(words: Sequence[str], shared: Sequence[bool], rest: str) -> Iterator[Piece]:
    run: list[str] = []
    state = True
    for word, in_both in zip(words, shared, strict=True):
        # A space between two marked words belongs to the mark, a lone space is no difference.
        here = in_both if word.strip() else (state if run else True)
        if here != state and run:
            yield Piece("".join(run), not state)
            run = []
        state = here
        run.append(word)
    if run:
        yield Piece("".join(run), not state)
    if rest:
        yield Piece(rest, False)
