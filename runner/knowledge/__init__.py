"""Knowledge bases and question sets: loading, chunking, embedding, index, retrievers, retrieval metrics."""

from __future__ import annotations

from runner.knowledge.checks import check_questions
from runner.knowledge.chunking import split
from runner.knowledge.documents import load_documents
from runner.knowledge.duplicates import NearDuplicate, near_duplicates
from runner.knowledge.embedding import Embedded, Embedder, open_embedder
from runner.knowledge.gold import with_gold_ids
from runner.knowledge.index import is_built
from runner.knowledge.metrics import retrieval_metrics
from runner.knowledge.question_sets import load_questions
from runner.knowledge.relevance import RelevantChunks
from runner.knowledge.retrievers import Retrieval, Retriever, open_partial_retriever, open_retriever

__all__ = [
    "Embedded",
    "Embedder",
    "NearDuplicate",
    "RelevantChunks",
    "Retrieval",
    "Retriever",
    "check_questions",
    "is_built",
    "load_documents",
    "load_questions",
    "near_duplicates",
    "open_embedder",
    "open_partial_retriever",
    "open_retriever",
    "retrieval_metrics",
    "split",
    "with_gold_ids",
]
