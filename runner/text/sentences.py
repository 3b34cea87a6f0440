"""Where the sentences of a text begin and end; code blocks stay whole, list items count as sentences."""

# ruff: noqa: SIM905 (a list of words is read as a sentence, not as forty literals)
from __future__ import annotations

import re

_FENCE = re.compile(r"```.*?(?:```|\Z)", re.DOTALL)
_ITEM = re.compile(r"^\s*(?:[-*•+]|\(?\d{1,2}[.)]|#{1,6}|>)\s+")
_ABBREVIATIONS = frozenset(
    "mr mrs ms dr prof st vs etc e.g i.e eg ie cf approx dept jan feb mar apr jun jul aug sep "
    "sept oct nov dec a.m p.m u.s u.k inc ltd co al".split()
)
_BEFORE_NUMBER = frozenset("no nr fig sec ch art p pp vol".split())
_END = re.compile(r"[.!?…]+[\"'”’)\]*_]*(?=\s|$)|[。！？]")


def sentences(text: str) -> tuple[str, ...]:
    """The sentences of a text in order, without surrounding blanks, list marks and headings' signs.

    A line break ends a sentence only at a list item, a heading or an empty line; a fenced code block is one
    sentence. "Dr.", "e.g.", "3.5" and single initials do not end one.
    """
    found: list[str] = []
    position = 0
    for fence in _FENCE.finditer(text):
        found.extend(_prose(text[position : fence.start()]))
        found.append(fence.group().strip())
        position = fence.end()
    found.extend(_prose(text[position:]))
    return tuple(sentence for sentence in found if any(sign.isalnum() for sign in sentence))


def _prose(text: str) -> list[str]:
    paragraphs: list[list[str]] = [[]]
    for line in text.splitlines():
        if not line.strip():
            paragraphs.append([])
        elif _ITEM.match(line):
            paragraphs.append([_ITEM.sub("", line, count=1)])
            if line.lstrip().startswith("#"):
                paragraphs.append([])
        else:
            paragraphs[-1].append(line)
    return [sentence for lines in paragraphs for sentence in _split(" ".join(line.strip() for line in lines))]


def _split(line: str) -> list[str]:
    parts: list[str] = []
    start = 0
    for end in _END.finditer(line):
        if end.group().startswith(".") and _goes_on(line[start : end.start()], line[end.end() :].lstrip()):
            continue
        parts.append(line[start : end.end()].strip())
        start = end.end()
    parts.append(line[start:].strip())
    return [part for part in parts if part]


def _goes_on(before: str, after: str) -> bool:
    """Whether a full stop between these two ends an abbreviation and not a sentence."""
    last = before.rsplit(maxsplit=1)[-1].lstrip("(\"'“‘[").casefold() if before.split() else ""
    if not after:
        return False
    if last in _BEFORE_NUMBER:
        return after[0].isdigit()
    return last in _ABBREVIATIONS or (len(last) == 1 and last.isalpha() and last != "i")
