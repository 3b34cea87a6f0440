"""Finds chunks that say nearly the same: they fill a prompt twice and make retrieval metrics look worse or better."""

from __future__ import annotations

import logging
import threading
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from runner.knowledge.bm25 import words
from runner.records import Chunk

_log = logging.getLogger(__name__)

SIMILARITY = 0.8
"""Share of common word triples from which on two chunks are reported (Jaccard)."""
_RUN = 3
"""Words in a run; shorter runs are alike by chance."""
_SKETCH = 4
"""The smallest hashes of a chunk: pairs that share one are compared. Near-duplicates nearly always do."""
_BUCKET_LIMIT = 50
"""Boilerplate shared by more chunks than this is not compared pair by pair."""
_SHOWN = 5
_reported: set[int] = set()
_lock = threading.Lock()


@dataclass(frozen=True, slots=True)
class NearDuplicate:
    """Two chunks that are nearly the same."""

    first: Chunk
    second: Chunk
    similarity: float
    """Jaccard similarity of their sets of word triples; 1.0 where they are equal but for case and signs."""

    def __str__(self) -> str:
        return f"{_name(self.first)} and {_name(self.second)} ({self.similarity:.0%})"


def near_duplicates(chunks: Sequence[Chunk], similarity: float = SIMILARITY) -> tuple[NearDuplicate, ...]:
    """All pairs found, most alike first. Pairs at the very limit of ``similarity`` may be missed, none is invented."""
    runs = [_runs(chunk.text) for chunk in chunks]
    found = []
    for one, other in _candidates(runs):
        alike = len(runs[one] & runs[other]) / len(runs[one] | runs[other])
        if alike >= similarity:
            found.append(NearDuplicate(chunks[one], chunks[other], alike))
    return tuple(sorted(found, key=lambda pair: -pair.similarity))


def report_near_duplicates(chunks: Sequence[Chunk], name: str) -> tuple[NearDuplicate, ...]:
    """Find them and say so in the log, once in a process for the same chunks."""
    key = hash(tuple(chunk.id for chunk in chunks))
    with _lock:
        if key in _reported:
            return ()
        _reported.add(key)
    pairs = near_duplicates(chunks)
    if pairs:
        shown = "; ".join(str(pair) for pair in pairs[:_SHOWN])
        more = f" and {len(pairs) - _SHOWN} more" if len(pairs) > _SHOWN else ""
        _log.warning("%s: %d pairs of chunks are nearly the same: %s%s", name, len(pairs), shown, more)
    return pairs


def _runs(text: str) -> frozenset[int]:
    """Hashes of all runs of words; of the words themselves where the text is shorter than a run."""
    found = words(text)
    if len(found) < _RUN:
        return frozenset({zlib.crc32(" ".join(found).encode("utf-8", "surrogatepass"))})
    hashes = [zlib.crc32(word.encode("utf-8", "surrogatepass")) for word in found]
    return frozenset(hash(tuple(hashes[at : at + _RUN])) for at in range(len(hashes) - _RUN + 1))


def _candidates(runs: Sequence[frozenset[int]]) -> Iterator[tuple[int, int]]:
    """Pairs that share one of the smallest hashes (a bottom-k sketch), each once."""
    buckets: dict[int, list[int]] = {}
    for place, hashes in enumerate(runs):
        for value in sorted(hashes)[:_SKETCH]:
            buckets.setdefault(value, []).append(place)
    seen: set[tuple[int, int]] = set()
    for places in buckets.values():
        if len(places) > _BUCKET_LIMIT:
            continue
        for at, one in enumerate(places):
            for other in places[at + 1 :]:
                if (one, other) not in seen:
                    seen.add((one, other))
                    yield one, other


def _name(chunk: Chunk) -> str:
    return f"{chunk.document_id} #{chunk.position + 1}"
