"""The retrievers: question → ranked chunks. Every kind ranks a pool of candidates that is the same for ``top_k`` 1 to
50, so that the result for a small ``top_k`` is the beginning of the result for a larger one."""

from __future__ import annotations

import asyncio
import copy
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from runner.config import schema
from runner.errors import ConfigurationError, Problem
from runner.importing import loaded
from runner.knowledge.bm25 import BM25
from runner.knowledge.duplicates import report_near_duplicates
from runner.knowledge.embedding import Embedder
from runner.knowledge.index import Hits, Searchable, in_order, open_index, scalar
from runner.knowledge.partial_index import PartialIndex
from runner.knowledge.team_index import open_team_index
from runner.knowledge.vectors import replay
from runner.records import Call, Chunk, Question, Retrieved

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

POOL = 50
"""Candidates that are ranked for every question; twice as many where ``top_k`` is above 50, and so on."""


@dataclass(frozen=True, slots=True)
class Retrieval:
    """What was retrieved for one question, best first, and its share of the embedding calls."""

    retrieved: tuple[Retrieved, ...]
    calls: tuple[Call, ...]


@dataclass(frozen=True, slots=True)
class Ranked:
    """All candidates of one question, ranked, before the cut at ``top_k``."""

    hits: Hits
    pool: int
    """How many candidates were asked for."""
    calls: tuple[Call, ...] = ()


Ranker = Callable[[Sequence[str], int], Awaitable[list[Ranked]]]
"""(texts of questions, size of the pool) → the ranked candidates of each."""


class Retriever:
    """One retriever over the chunks of one knowledge base; the jobs of a sweep over ``top_k`` share it."""

    def __init__(
        self, chunks: Sequence[Chunk], rank: Ranker, threshold: float | None = None, index_calls: tuple[Call, ...] = ()
    ) -> None:
        self._chunks = chunks
        self._rank = rank
        self._threshold = threshold
        self._ranked: dict[str, Ranked] = {}
        self._lock = asyncio.Lock()
        self.index_calls = index_calls
        """The calls that embedded the chunks, one entry a call."""

    def for_another_job(self) -> Retriever:
        """The same retriever for a job that did not pay for the index: its index calls cost that job nothing new."""
        other = copy.copy(self)
        other.index_calls = replay(self.index_calls)
        return other

    async def retrieve(self, questions: Sequence[Question], top_k: int) -> tuple[Retrieval, ...]:
        """The best ``top_k`` chunks of each question, in the order of the questions.

        All questions are embedded in batches and searched at once. What an earlier call with an equal question
        found is used again, and its embedding calls then cost nothing new.
        """
        pool = POOL * -(-top_k // POOL)
        async with self._lock:
            known = {text for text, ranked in self._ranked.items() if ranked.pool >= pool}
            missing = list(dict.fromkeys(question.text for question in questions if question.text not in known))
            if missing:
                self._ranked.update(zip(missing, await self._rank(missing, pool), strict=True))
            fresh = set(missing)
            results = []
            for question in questions:
                ranked = self._ranked[question.text]
                calls = ranked.calls if question.text in fresh else replay(ranked.calls)
                # A second question with an equal text shares the vector and was not paid for.
                fresh.discard(question.text)
                results.append(Retrieval(self._cut(ranked.hits, question, top_k), calls))
        return tuple(results)

    def _cut(self, hits: Hits, question: Question, top_k: int) -> tuple[Retrieved, ...]:
        gold = frozenset(question.gold)
        kept = [hit for hit in hits[:top_k] if self._threshold is None or hit[1] >= self._threshold]
        return tuple(
            Retrieved(self._chunks[place], rank, score, self._chunks[place].document_id in gold)
            for rank, (place, score) in enumerate(kept, 1)
        )


async def open_retriever(
    config: schema.Config, chunks: Sequence[Chunk], embedder: Embedder | None, home: Path
) -> Retriever:
    """The retriever of a configuration; builds the index where the kind needs one and it is not there yet.

    Raises ``ConfigurationError`` where chunks or an embedder are missing, ``StorageError`` for the index folder,
    and what the door raises while embedding.
    """
    cfg = config.retriever
    if cfg.kind == "none":
        return Retriever(chunks, _rank_nothing)
    if not chunks:
        remedy = "choose a knowledge base, or retriever=none"
        raise ConfigurationError([Problem("retriever.kind", f"{cfg.kind} needs documents, there are none", remedy)])
    where = _as_stored(cfg.filter, chunks)
    await loaded("numpy")
    await asyncio.to_thread(report_near_duplicates, chunks, config.knowledge_base.name)
    words = _ByWords(chunks, where) if cfg.kind in ("bm25", "hybrid") else None
    if cfg.kind == "bm25":
        assert words is not None
        return Retriever(chunks, words.rank, cfg.score_threshold)
    if embedder is None:
        remedy = "choose one, for example embedder=minilm, or retriever=bm25"
        raise ConfigurationError([Problem("retriever.kind", f"{cfg.kind} needs an embedder", remedy)])
    if cfg.server:
        index = await open_team_index(cfg.server, chunks, embedder)
    else:
        index = await open_index(home, chunks, embedder)
    return Retriever(chunks, _ranker(index, embedder, cfg, where, words), cfg.score_threshold, index.calls)


async def open_partial_retriever(config: schema.Config, chunks: Sequence[Chunk], embedder: Embedder) -> Retriever:
    """The retriever of a configuration as far as vectors are stored: chunks without one are never found by vector.

    For plans: what it finds is what the whole index finds, as long as none of these chunks belongs there.
    """
    cfg = config.retriever
    where = _as_stored(cfg.filter, chunks)
    known = embedder.known([chunk.text for chunk in chunks])
    places = [place for place, chunk in enumerate(chunks) if chunk.text in known and _fits(chunk, where)]
    embedded = await embedder.embed([chunks[place].text for place in places])
    words = _ByWords(chunks, where) if cfg.kind == "hybrid" else None
    return Retriever(
        chunks, _ranker(PartialIndex(places, embedded.vectors), embedder, cfg, where, words), cfg.score_threshold
    )


def _ranker(
    index: Searchable, embedder: Embedder, cfg: schema.Retriever, where: Mapping[str, Any], words: _ByWords | None
) -> Ranker:
    dense = _ByVector(index, embedder, cfg, where)
    return dense.rank if words is None else _fused(dense.rank, words.rank, cfg.fusion_constant)


async def _rank_nothing(texts: Sequence[str], pool: int) -> list[Ranked]:
    return [Ranked((), pool) for _ in texts]


class _ByVector:
    """Cosine similarity of embeddings, with maximal marginal relevance where it is wished."""

    def __init__(self, index: Searchable, embedder: Embedder, cfg: schema.Retriever, where: Mapping[str, Any]) -> None:
        self._where = where
        self._index = index
        self._embedder = embedder
        self._cfg = cfg

    async def rank(self, texts: Sequence[str], pool: int) -> list[Ranked]:
        embedded = await self._embedder.embed(texts, "query")
        found = await asyncio.to_thread(self._index.query, embedded.vectors, pool, self._where)
        if self._cfg.mmr and self._cfg.kind == "dense":
            found = [await asyncio.to_thread(self._diverse, hits) for hits in found]
        return [Ranked(hits, pool, calls) for hits, calls in zip(found, embedded.calls, strict=True)]

    def _diverse(self, hits: Hits) -> Hits:
        vectors = self._index.vectors([place for place, _ in hits])
        order = maximal_marginal_relevance([score for _, score in hits], vectors, self._cfg.mmr_lambda)
        return tuple(hits[at] for at in order)


def maximal_marginal_relevance(relevance: Sequence[float], vectors: NDArray[np.float32], balance: float) -> list[int]:
    """The order that takes, each time, the highest balance·relevance - (1 - balance)·(likeness to what was taken).

    Likeness is the highest cosine similarity to a chunk taken before (Carbonell and Goldstein 1998).
    """
    import numpy as np

    if not len(relevance):
        return []
    unit = vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12)
    wanted = np.asarray(relevance, dtype=np.float64)
    likeness = np.zeros(len(wanted))
    left = np.ones(len(wanted), dtype=bool)
    order: list[int] = []
    for _ in range(len(wanted)):
        value = np.where(left, balance * wanted - (1 - balance) * likeness, -np.inf)
        best = int(np.argmax(value))
        order.append(best)
        left[best] = False
        likes = (unit @ unit[best]).astype(np.float64)
        likeness = likes if len(order) == 1 else np.maximum(likeness, likes)
    return order


class _ByWords:
    """BM25 over the chunks whose metadata fits the filter."""

    def __init__(self, chunks: Sequence[Chunk], where: Mapping[str, Any]) -> None:
        self._places = [place for place, chunk in enumerate(chunks) if _fits(chunk, where)]
        self._bm25 = BM25([chunks[place].text for place in self._places])

    async def rank(self, texts: Sequence[str], pool: int) -> list[Ranked]:
        return await asyncio.to_thread(lambda: [Ranked(self._hits(text, pool), pool) for text in texts])

    def _hits(self, text: str, pool: int) -> Hits:
        import numpy as np

        scores = self._bm25.scores(text)
        best = np.argsort(-scores, kind="stable")[:pool]
        return in_order((self._places[at], float(scores[at])) for at in best if scores[at] > 0)


def _values(chunk: Chunk) -> dict[str, Any]:
    """What a filter may ask about."""
    return {**chunk.metadata, "document_id": chunk.document_id, "position": chunk.position}


def _fits(chunk: Chunk, where: Mapping[str, Any]) -> bool:
    values = _values(chunk)
    return all(key in values and scalar(values[key]) == value for key, value in where.items())


def _as_stored(wanted: Mapping[str, Any], chunks: Sequence[Chunk]) -> dict[str, Any]:
    """The filter with its values as the chunks have them: what is 3 on the command line is "3" in a CSV file.

    Raises ``ConfigurationError`` for a condition that no chunk meets, which is a typo.
    """
    found: dict[str, Any] = {}
    problems: list[Problem] = []
    for key, value in wanted.items():
        same = (
            scalar(values[key])
            for values in map(_values, chunks)
            if key in values and str(scalar(values[key])).casefold() == str(scalar(value)).casefold()
        )
        stored = next(same, None)
        if stored is None:
            remedy = "metadata comes from knowledge_base.fields.metadata; document_id and position are known too"
            problems.append(Problem(f"retriever.filter.{key}", f"no chunk has the value {value}", remedy))
        else:
            found[key] = stored
    if problems:
        raise ConfigurationError(problems)
    return found


def _fused(one: Ranker, other: Ranker, constant: int) -> Ranker:
    """Reciprocal rank fusion of two rankings."""

    async def rank(texts: Sequence[str], pool: int) -> list[Ranked]:
        first, second = await one(texts, pool), await other(texts, pool)
        return [
            Ranked(reciprocal_rank_fusion([a.hits, b.hits], constant), pool, (*a.calls, *b.calls))
            for a, b in zip(first, second, strict=True)
        ]

    return rank


def reciprocal_rank_fusion(rankings: Sequence[Hits], constant: int) -> Hits:
    """score = sum over the rankings that hold the chunk of 1 / (constant + rank) (Cormack, Clarke, Büttcher 2009)."""
    totals: dict[int, float] = {}
    for hits in rankings:
        for rank, (place, _) in enumerate(hits, 1):
            totals[place] = totals.get(place, 0.0) + 1 / (constant + rank)
    return in_order(totals.items())
