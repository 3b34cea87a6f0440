"""Retrieval metrics of one question over documents, with linear (binary) gain. Pure functions.

Formulas: as trec_eval has them, except that the order given is the order judged (trec_eval sorts ties again).
Chunks of one document count once, at their first rank, so that no metric can exceed 1.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from runner.records import Question, Retrieved


def retrieval_metrics(question: Question, retrieved: Sequence[Retrieved], top_k: int) -> dict[str, float]:
    """The metrics at ``top_k`` by name, such as ``hit_rate_at_3``; empty for a question without gold documents.

    - hit_rate: 1 if any gold document is among the ``top_k`` chunks
    - precision: gold documents found / ``top_k`` (also where fewer were returned)
    - recall: gold documents found / all gold documents
    - mrr: 1 / rank of the first gold document, 0 if there is none
    - map: mean over all gold documents of the precision at their ranks (0 for those not found)
    - ndcg: sum of 1 / log2(rank + 1), divided by its best possible value for that many gold documents
    """
    gold = frozenset(question.gold)
    if not gold:
        return {}
    ordered = sorted(retrieved, key=lambda item: item.rank)[:top_k]
    documents = list(dict.fromkeys(item.chunk.document_id for item in ordered))
    ranks = [rank for rank, document in enumerate(documents, 1) if document in gold]
    gains = [float(document in gold) for document in documents]
    ideal = [1.0] * min(len(gold), top_k)
    values = {
        "hit_rate": 1.0 if ranks else 0.0,
        "precision": len(ranks) / top_k,
        "recall": len(ranks) / len(gold),
        "mrr": 1 / ranks[0] if ranks else 0.0,
        "map": sum(found / rank for found, rank in enumerate(ranks, 1)) / len(gold),
        "ndcg": discounted_gain(gains) / discounted_gain(ideal),
    }
    return {f"{name}_at_{top_k}": value for name, value in values.items()}


def discounted_gain(gains: Sequence[float]) -> float:
    """DCG with linear gain: the sum of gain / log2(rank + 1), best rank first (Järvelin & Kekäläinen; trec_eval)."""
    return sum(gain / math.log2(rank + 1) for rank, gain in enumerate(gains, 1))
