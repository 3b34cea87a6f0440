"""Retrieval metrics of one question, over documents and over chunks, with linear (binary) gain. Pure functions.

Formulas: as trec_eval has them, except that the order given is the order judged (trec_eval sorts ties again).
What occurs twice counts once, at its first rank, so that no metric can exceed 1: over documents the chunks of one
document, over chunks the chunk itself. ``relevance`` says which chunks are relevant.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from runner.knowledge.relevance import is_relevant
from runner.records import Question, Retrieved

OVER_CHUNKS = "chunk_"
"""Begins the names of the metrics over chunks: ``chunk_precision_at_3``."""


def retrieval_metrics(
    question: Question, retrieved: Sequence[Retrieved], top_k: int, relevant_chunks: int | None = None
) -> dict[str, float]:
    """The metrics at ``top_k`` by name, such as ``hit_rate_at_3``; empty for a question without gold documents.

    - hit_rate: 1 if any gold document is among the ``top_k`` chunks
    - precision: gold documents found / ``top_k`` (also where fewer were returned)
    - recall: gold documents found / all gold documents
    - mrr: 1 / rank of the first gold document, 0 if there is none
    - map: mean over all gold documents of the precision at their ranks (0 for those not found)
    - ndcg: sum of 1 / log2(rank + 1), divided by its best possible value for that many gold documents

    The same over chunks begin with ``chunk_``, with relevant chunks in the place of gold documents. They are left out
    for a question whose evidence stands in no chunk, and in part where the denominator is not known.

    Parameters
    ----------
    relevant_chunks
        How many chunks of the whole knowledge base are relevant; ``None``: not known, so that recall, map and ndcg
        over chunks are not either.
    """
    if not question.gold:
        return {}
    ordered = sorted(retrieved, key=lambda item: item.rank)[:top_k]
    gold = frozenset(question.gold)
    documents = dict.fromkeys(item.chunk.document_id for item in ordered)
    found = _values([document in gold for document in documents], len(gold), top_k)
    if relevant_chunks != 0:
        chunks = {item.chunk.id: item.chunk for item in ordered}
        over_chunks = _values([is_relevant(question, chunk) for chunk in chunks.values()], relevant_chunks, top_k)
        found |= {f"{OVER_CHUNKS}{name}": value for name, value in over_chunks.items()}
    return {f"{name}_at_{top_k}": value for name, value in found.items()}


def _values(relevant: Sequence[bool], all_relevant: int | None, top_k: int) -> dict[str, float]:
    """The metrics of one ranking without duplicates, of which ``all_relevant`` could have been found."""
    ranks = [rank for rank, one in enumerate(relevant, 1) if one]
    values = {
        "hit_rate": 1.0 if ranks else 0.0,
        "precision": len(ranks) / top_k,
        "mrr": 1 / ranks[0] if ranks else 0.0,
    }
    if all_relevant is not None:
        ideal = [1.0] * min(all_relevant, top_k)
        values["recall"] = len(ranks) / all_relevant
        values["map"] = sum(found / rank for found, rank in enumerate(ranks, 1)) / all_relevant
        values["ndcg"] = discounted_gain([float(one) for one in relevant]) / discounted_gain(ideal)
    return values


def discounted_gain(gains: Sequence[float]) -> float:
    """DCG with linear gain: the sum of gain / log2(rank + 1), best rank first (Järvelin & Kekäläinen; trec_eval)."""
    return sum(gain / math.log2(rank + 1) for rank, gain in enumerate(gains, 1))
