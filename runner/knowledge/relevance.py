"""Which chunks of the knowledge base answer a question: what stands below the retrieval metrics over chunks.

A question set names gold documents, and may quote the passages that hold the answer (``evidence``). With evidence a
chunk is relevant where it holds a passage; without, every chunk of a gold document is, for want of anything better.
Passages are texts and not chunk ids, so that one question set serves every way to split the documents.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from difflib import SequenceMatcher

from runner.knowledge.bm25 import words
from runner.records import Chunk, Question


def is_relevant(question: Question, chunk: Chunk) -> bool:
    """Whether the chunk is of a gold document and, where evidence is quoted, holds one of the passages."""
    if chunk.document_id not in question.gold:
        return False
    return not question.evidence or any(holds(chunk.text, passage) for passage in question.evidence)


def holds(text: str, passage: str) -> bool:
    """Whether a chunk holds at least half of the passage's words in a row, or lies within the passage.

    Half, because splitting may cut a passage in two. Words are compared without case, punctuation and line breaks.
    """
    given, wanted = words(text), words(passage)
    if not given or not wanted:
        return False
    needed = min(-(-len(wanted) // 2), len(given))
    return SequenceMatcher(None, wanted, given, autojunk=False).find_longest_match().size >= needed


class RelevantChunks:
    """Counts the relevant chunks of a knowledge base, the denominator of recall over chunks."""

    def __init__(self, chunks: Sequence[Chunk]) -> None:
        self._by_document: dict[str, dict[str, Chunk]] = defaultdict(dict)
        for chunk in chunks:
            self._by_document[chunk.document_id][chunk.id] = chunk
        self._counted: dict[tuple[tuple[str, ...], tuple[str, ...]], int] = {}

    def count(self, question: Question) -> int:
        """How many different chunks are relevant; 0 too where no chunk holds the evidence."""
        asked = question.gold, question.evidence
        if asked not in self._counted:
            self._counted[asked] = sum(
                is_relevant(question, chunk)
                for document in dict.fromkeys(question.gold)
                for chunk in self._by_document.get(document, {}).values()
            )
        return self._counted[asked]
