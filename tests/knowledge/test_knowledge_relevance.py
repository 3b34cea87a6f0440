"""Metrics over chunks: which chunks are relevant, duplicates, unknown denominators, and ir_measures as the oracle."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runner.config.schema import Chunking, QuestionFields, Questions
from runner.knowledge import RelevantChunks, load_questions, retrieval_metrics, split
from runner.knowledge.relevance import holds, is_relevant
from runner.records import Chunk, Document, Question, Retrieved

TEXT = (
    "Enrolment opens in August. Lectures start in September and last until January. "
    "The exam office moves to the main building in March. Books are returned in June."
)
PASSAGE = "the exam office moves to the main building, in March"


def retrieved(chunks: Sequence[Chunk]) -> tuple[Retrieved, ...]:
    return tuple(Retrieved(chunk, rank, 1 - rank / 100) for rank, chunk in enumerate(chunks, 1))


def chunk_metrics(question: Question, chunks: Sequence[Chunk], top_k: int, relevant: int | None) -> dict[str, float]:
    found = retrieval_metrics(question, retrieved(chunks), top_k, relevant)
    return {name: value for name, value in found.items() if name.startswith("chunk_")}


def cut(size: int) -> tuple[Chunk, ...]:
    documents = (Document("exams", TEXT), Document("other", "Nothing of this kind. " * 8))
    return split(documents, Chunking(kind="recursive", size=size))


def test_with_evidence_only_the_chunk_that_holds_it_is_relevant() -> None:
    chunks = cut(80)
    asked = Question("q", "Where is the exam office?", gold=("exams",), evidence=(PASSAGE,))
    relevant = [chunk for chunk in chunks if is_relevant(asked, chunk)]
    assert 1 <= len(relevant) < sum(chunk.document_id == "exams" for chunk in chunks)
    assert RelevantChunks(chunks).count(asked) == len(relevant)
    without = Question("q", "Where is the exam office?", gold=("exams",))
    assert RelevantChunks(chunks).count(without) == sum(chunk.document_id == "exams" for chunk in chunks)


@pytest.mark.parametrize("size", [25, 40, 60, 100, 400])
def test_a_passage_that_splitting_cut_is_still_found_in_a_perfect_ranking(size: int) -> None:
    chunks = cut(size)
    asked = Question("q", "?", gold=("exams",), evidence=(PASSAGE,))
    count = RelevantChunks(chunks).count(asked)
    assert count >= 1
    best = sorted(chunks, key=lambda chunk: not is_relevant(asked, chunk))
    values = chunk_metrics(asked, best, count, count)
    assert len(values) == 6
    assert set(values.values()) == {1.0}, "a perfect ranking is 1"


def test_half_of_a_passage_in_a_row_counts_and_scattered_words_do_not() -> None:
    assert holds("… MAIN building,\nin March. Books are", "the main building in March")
    assert holds("exam office moves", PASSAGE), "a chunk that lies within the passage"
    assert not holds("The office: a building to which the exam in March of the main moves", PASSAGE)
    assert not holds("", PASSAGE)
    assert not holds(TEXT, "?!")


def test_one_chunk_found_twice_counts_once_and_two_of_one_document_count_twice() -> None:
    chunks = cut(80)
    asked = Question("q", "?", gold=("exams",))
    mine = [chunk for chunk in chunks if chunk.document_id == "exams"][:2]
    values = retrieval_metrics(asked, retrieved([mine[0], mine[0], mine[1]]), 3, 2)
    assert values["precision_at_3"] == pytest.approx(1 / 3)
    assert values["chunk_precision_at_3"] == pytest.approx(2 / 3)
    assert values["chunk_recall_at_3"] == values["chunk_map_at_3"] == values["chunk_ndcg_at_3"] == 1


def test_an_unknown_denominator_leaves_recall_out_and_evidence_in_no_chunk_everything() -> None:
    chunks = cut(80)
    asked = Question("q", "?", gold=("exams",))
    assert set(chunk_metrics(asked, chunks, 2, None)) == {
        "chunk_hit_rate_at_2",
        "chunk_precision_at_2",
        "chunk_mrr_at_2",
    }
    lost = Question("q", "?", gold=("exams",), evidence=("a sentence that stands nowhere in it at all",))
    assert RelevantChunks(chunks).count(lost) == 0
    values = retrieval_metrics(lost, retrieved(chunks), 2, 0)
    assert values["hit_rate_at_2"] == 1, "over documents the question counts"
    assert not any(name.startswith("chunk_") for name in values)
    assert retrieval_metrics(Question("q", "?"), retrieved(chunks), 2, 0) == {}


numbers = st.integers(0, 7)


@given(st.lists(numbers, max_size=8, unique=True), st.sets(numbers, min_size=1), st.integers(1, 10))
def test_over_chunks_equal_to_ir_measures(found: list[int], relevant: set[int], top_k: int) -> None:
    ir_measures = pytest.importorskip("ir_measures")
    from ir_measures import AP, RR, P, R, Success, nDCG

    passage = "the passage that holds the answer"
    chunks = [Chunk(f"c{k}", "d", k, passage if k in relevant else "something else") for k in range(8)]
    asked = Question("q", "?", gold=("d",), evidence=(passage,))
    count = RelevantChunks(chunks).count(asked)
    assert count == len(relevant)
    ours = chunk_metrics(asked, [chunks[k] for k in found], top_k, count)
    if not found:
        assert set(ours.values()) == {0.0}
        return
    names = {
        Success @ top_k: "hit_rate",
        P @ top_k: "precision",
        R @ top_k: "recall",
        RR @ top_k: "mrr",
        AP @ top_k: "map",
        nDCG @ top_k: "ndcg",
    }
    judged = [ir_measures.Qrel("q", f"c{k}", 1) for k in relevant]
    scored = [ir_measures.ScoredDoc("q", f"c{k}", 100.0 - place) for place, k in enumerate(found)]
    for measured in ir_measures.iter_calc(list(names), judged, scored):
        assert ours[f"chunk_{names[measured.measure]}_at_{top_k}"] == pytest.approx(measured.value, abs=1e-9)


def test_evidence_is_read_as_a_text_or_a_list_and_changes_no_id(tmp_path: Path) -> None:
    rows = [
        {"question": "one?", "gold": "exams", "evidence": PASSAGE},
        {"question": "two?", "gold": "exams", "evidence": [PASSAGE, "Books are returned in June"]},
        {"question": "three?", "gold": "exams", "evidence": json.dumps([PASSAGE])},
        {"question": "four?", "gold": "exams"},
    ]
    path = tmp_path / "questions.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    read = load_questions(Questions(name="q", path=str(path)), 7)
    assert [one.evidence for one in read] == [(PASSAGE,), (PASSAGE, "Books are returned in June"), (PASSAGE,), ()]
    ignored = load_questions(Questions(name="q", path=str(path), fields=QuestionFields(evidence=None)), 7)
    assert [one.id for one in ignored] == [one.id for one in read]
    assert not any(one.evidence for one in ignored)
