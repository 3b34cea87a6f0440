"""Retrieval over a real course FAQ (79 records, 395 questions) that no one here wrote; skips where it is absent."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from runner.config.schema import Config, DocumentFields, KnowledgeBase, QuestionFields, Questions, Retriever
from runner.knowledge import check_questions, load_documents, load_questions, open_retriever, retrieval_metrics, split

DATA = Path(__file__).parents[3] / "shared" / "data" / "course_faq"
pytestmark = pytest.mark.skipif(not DATA.is_dir(), reason="the course FAQ is not on this machine")


def test_bm25_over_question_and_answer_is_in_the_published_region(home: Path) -> None:
    fields = DocumentFields(text="question,answer", title="question", metadata=["section"])
    base = KnowledgeBase(name="course", path=str(DATA / "faq-llm-zoomcamp-reconstructed.json"), fields=fields)
    asked = Questions(
        name="course",
        path=str(DATA / "ground_truth-new.csv"),
        fields=QuestionFields(text="question", gold="document"),
    )
    documents, questions = load_documents(base), load_questions(asked, 7)
    assert (len(documents), len(questions)) == (79, 395)
    assert check_questions(questions, documents, needs_reference=[]) == []

    async def hit_rates() -> list[float]:
        config = Config(retriever=Retriever("bm25"))
        retriever = await open_retriever(config, split(documents, base.chunking), None, home)
        means = []
        for top_k in (1, 3, 5, 10):
            found = await retriever.retrieve(questions, top_k)
            name = f"hit_rate_at_{top_k}"
            hits = [
                retrieval_metrics(question, retrieval.retrieved, top_k)[name]
                for question, retrieval in zip(questions, found, strict=True)
            ]
            means.append(sum(hits) / len(hits))
        return means

    # Published, with boosted TF-IDF: .8152 .9519 .9747 .9949.
    found = asyncio.run(hit_rates())
    print([round(value, 4) for value in found])
    assert all(abs(value - known) < 0.05 for value, known in zip(found, (0.8152, 0.9519, 0.9747, 0.9949), strict=True))
