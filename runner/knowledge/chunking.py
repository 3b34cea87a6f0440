"""Documents → chunks. Every chunker only says where to cut; the cuts cover a document without gap or doubling."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from runner.config.schema import Chunking
from runner.errors import ConfigurationError, Problem
from runner.records import Chunk, Document

_TOKEN = re.compile(r"\w{1,16}|[^\w\s]")
"""A token, near enough: a word (long ones cut at 16 letters) or a sign. About 3/4 of what model tokenizers count."""
_SENTENCE_END = re.compile(r"[.!?…][\"')\]”’»]*\s+|[。！？]|\n\s*\n\s*")
_HEADING = re.compile(r"^(#{1,6})[ \t]+(.+?)[ \t#]*$")
_FENCE = re.compile(r"^\s*(```|~~~)")
_BREAKS = (re.compile(r"\n\s*\n\s*"), re.compile(r"\n"), _SENTENCE_END, re.compile(r"\s+"))
"""Where the recursive chunker likes to cut, best first: paragraph, line, sentence, word."""


@dataclass(frozen=True, slots=True)
class Span:
    """A chunk's place in its document's text: characters ``start`` to ``end``, of which the first are overlap."""

    start: int
    end: int
    overlap: int = 0
    """How many characters at the start also stand at the end of the chunk before."""
    heading: str = ""


def split(documents: Sequence[Document], chunking: Chunking) -> tuple[Chunk, ...]:
    """The chunks of all documents, in order; a chunk's text is its span without the white space around it.

    Raises ``ConfigurationError`` where the overlap is not smaller than the size.
    """
    chunks: list[Chunk] = []
    for document in documents:
        kept = ((span, text) for span in spans(document.text, chunking) if (text := _slice(document.text, span)))
        for position, (span, text) in enumerate(kept):
            metadata: dict[str, Any] = dict(document.metadata)
            if document.title:
                metadata.setdefault("title", document.title)
            if span.heading:
                metadata["heading"] = span.heading
            identity = chunk_id(document.id, position, text)
            source = document.source or document.id
            chunks.append(Chunk(identity, document.id, position, text, source, metadata))
    return tuple(chunks)


def chunk_id(document_id: str, position: int, text: str) -> str:
    """Hash of document id, position and text: equal in every process, and other whenever one of them is."""
    content = f"{len(document_id)}:{document_id}\n{position}\n{text}"
    return hashlib.sha256(content.encode("utf-8", "surrogatepass")).hexdigest()[:32]


def spans(text: str, chunking: Chunking) -> list[Span]:
    """Where a text is cut. Without their overlaps the spans, joined, are the text."""
    if chunking.kind != "document" and chunking.overlap >= chunking.size:
        what = f"is {chunking.overlap}, which is not less than the size of {chunking.size}"
        raise ConfigurationError([Problem("knowledge_base.chunking.overlap", what)])
    return _CHUNKERS[chunking.kind](text, chunking) if text else []


def _slice(text: str, span: Span) -> str:
    return text[span.start : span.end].strip()


def _whole(text: str, chunking: Chunking) -> list[Span]:
    return [Span(0, len(text))]


def _recursive(text: str, chunking: Chunking, start: int = 0, end: int | None = None, heading: str = "") -> list[Span]:
    """At most ``size`` characters a chunk, cut at the best break that fits."""
    end = len(text) if end is None else end
    found: list[Span] = []
    overlap = 0
    while start < end:
        stop = _cut(text, start, min(start + chunking.size - overlap, end), end)
        found.append(Span(start - overlap, stop, overlap, heading))
        start = stop
        overlap = _overlap(text, found[-1], chunking.overlap)
    return found


def _cut(text: str, start: int, limit: int, end: int) -> int:
    """The last good break before ``limit``; a break in the first quarter is passed over for a finer one."""
    if limit >= end:
        return end
    earliest = start + max(1, (limit - start) // 4)
    for pattern in _BREAKS:
        cuts = [match.end() for match in pattern.finditer(text, start, limit) if match.end() >= earliest]
        if cuts:
            return cuts[-1]
    return limit


def _overlap(text: str, before: Span, wanted: int) -> int:
    """How many characters of the chunk before to repeat: at most ``wanted``, from the start of a word on."""
    room = min(wanted, before.end - before.start - 1)
    begin = before.end - room
    if room <= 0:
        return 0
    if not text[begin - 1].isspace():
        space = re.compile(r"\s+").search(text, begin, before.end)
        begin = space.end() if space and space.end() < before.end else begin
    return before.end - begin


def _by_unit(starts: list[int], length: int, chunking: Chunking) -> list[Span]:
    """Windows of ``size`` units, ``overlap`` of them shared; ``starts`` says where each unit begins."""
    starts[0] = 0
    bounds = [*starts, length]
    found = [Span(0, bounds[min(chunking.size, len(starts))])]
    first = chunking.size
    while first < len(starts):
        begin = first - chunking.overlap
        last = min(begin + chunking.size, len(starts))
        found.append(Span(bounds[begin], bounds[last], bounds[first] - bounds[begin]))
        first = last
    return found


def _tokens(text: str, chunking: Chunking) -> list[Span]:
    return _by_unit([match.start() for match in _TOKEN.finditer(text)] or [0], len(text), chunking)


def _sentences(text: str, chunking: Chunking) -> list[Span]:
    starts = [0, *(match.end() for match in _SENTENCE_END.finditer(text) if match.end() < len(text))]
    return _by_unit(starts, len(text), chunking)


def _headings(text: str, chunking: Chunking) -> list[Span]:
    """One chunk a section; sections longer than ``size`` characters are cut further, as kind recursive cuts."""
    sections = list(_sections(text))
    found: list[Span] = []
    for place, (start, heading) in enumerate(sections):
        end = sections[place + 1][0] if place + 1 < len(sections) else len(text)
        found.extend(_recursive(text, chunking, start, end, heading))
    return found


def _sections(text: str) -> Iterator[tuple[int, str]]:
    """Where each section begins, with its path of headings; lines inside code fences are no headings."""
    path: list[tuple[int, str]] = []
    fence = ""
    position = 0
    if not _HEADING.match(text.split("\n", 1)[0]):
        yield 0, ""
    for line in text.split("\n"):
        mark = _FENCE.match(line)
        if mark and (not fence or mark.group(1) == fence):
            fence = "" if fence else mark.group(1)
        heading = None if fence else _HEADING.match(line)
        if heading:
            level = len(heading.group(1))
            path = [*(item for item in path if item[0] < level), (level, heading.group(2))]
            yield position, " > ".join(title for _, title in path)
        position += len(line) + 1


_CHUNKERS: dict[str, Callable[[str, Chunking], list[Span]]] = {
    "document": _whole,
    "recursive": _recursive,
    "tokens": _tokens,
    "heading": _headings,
    "sentences": _sentences,
}
