"""Retrieval metrics against hand-computed values and against ir_measures."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runner.knowledge import retrieval_metrics
from runner.records import Chunk, Question, Retrieved


def ranked(documents: Sequence[str]) -> tuple[Retrieved, ...]:
    return tuple(
        Retrieved(Chunk(f"{document}/{place}", document, place, "text"), place, 1 - place / 100)
        for place, document in enumerate(documents, 1)
    )


def metrics(documents: Sequence[str], gold: Sequence[str], top_k: int) -> dict[str, float]:
    """The metrics over documents."""
    found = retrieval_metrics(Question("q", "text", gold=tuple(gold)), ranked(documents), top_k)
    return {name: value for name, value in found.items() if not name.startswith("chunk_")}


def test_values_of_the_literature() -> None:
    # qrels q1: d2, q2: d2 and d3; runs by score q1: d3 d1 d2, q2: d1 d3 d2 (values equal in three libraries)
    one, two = metrics(["d3", "d1", "d2"], ["d2"], 3), metrics(["d1", "d3", "d2"], ["d2", "d3"], 3)
    assert one["map_at_3"] == pytest.approx(0.333333, abs=1e-6)
    assert two["map_at_3"] == pytest.approx(0.583333, abs=1e-6)
    assert one["ndcg_at_3"] == pytest.approx(0.5)
    assert two["ndcg_at_3"] == pytest.approx(0.693426, abs=1e-6)
    assert (one["mrr_at_3"], two["mrr_at_3"]) == (pytest.approx(1 / 3), 0.5)
    assert (one["precision_at_3"], two["precision_at_3"]) == (pytest.approx(1 / 3), pytest.approx(2 / 3))
    assert (one["recall_at_3"], two["recall_at_3"], one["hit_rate_at_3"]) == (1, 1, 1)
    assert (one["map_at_3"] + two["map_at_3"]) / 2 == pytest.approx(0.458333, abs=1e-6)
    assert (one["ndcg_at_3"] + two["ndcg_at_3"]) / 2 == pytest.approx(0.596713, abs=1e-6)
    assert two["hit_rate_at_3"] == 1
    for found, gold in ((["d3", "d1", "d2"], ["d2"]), (["d1", "d3", "d2"], ["d2", "d3"])):
        assert set(metrics(found, gold, 1).values()) == {0.0}


def test_names_carry_k_without_an_at_sign_which_mlflow_refuses() -> None:
    names = ("hit_rate", "precision", "recall", "mrr", "map", "ndcg")
    found = set(retrieval_metrics(Question("q", "text", gold=("a",)), ranked(["a"]), 5, 1))
    assert found == {f"{over}{name}_at_5" for over in ("", "chunk_") for name in names}
    assert max(map(len, found)) <= len("chunk_precision_at_5")


def test_a_question_without_gold_documents_has_no_metrics_and_an_empty_retrieval_has_zeros() -> None:
    assert metrics(["a"], [], 3) == {}
    assert set(metrics([], ["a"], 3).values()) == {0.0}


def test_symptom_18_chunks_of_one_document_count_once_at_their_first_rank() -> None:
    found = metrics(["a", "a", "a", "b"], ["a", "b"], 4)
    assert found["recall_at_4"] == 1
    assert found["precision_at_4"] == 0.5
    assert found["ndcg_at_4"] == 1
    assert found["map_at_4"] == 1


documents = st.sampled_from("abcdefgh")


@given(st.lists(documents, max_size=12), st.sets(documents, min_size=1), st.integers(1, 15))
def test_symptom_18_no_metric_leaves_zero_to_one(found: list[str], gold: set[str], top_k: int) -> None:
    assert all(0 <= value <= 1 for value in metrics(found, sorted(gold), top_k).values())


@given(st.lists(documents, max_size=12), st.sets(documents, min_size=1), st.integers(1, 14))
def test_hit_rate_and_recall_only_rise_with_k(found: list[str], gold: set[str], top_k: int) -> None:
    small, large = metrics(found, sorted(gold), top_k), metrics(found, sorted(gold), top_k + 1)
    for name in ("hit_rate", "recall", "mrr"):
        assert small[f"{name}_at_{top_k}"] <= large[f"{name}_at_{top_k + 1}"]


@given(st.lists(documents, max_size=8, unique=True), st.sets(documents, min_size=1), st.integers(1, 10))
def test_equal_to_ir_measures(found: list[str], gold: set[str], top_k: int) -> None:
    ir_measures = pytest.importorskip("ir_measures")
    from ir_measures import AP, RR, P, R, Success, nDCG

    names = {
        Success @ top_k: "hit_rate",
        P @ top_k: "precision",
        R @ top_k: "recall",
        RR @ top_k: "mrr",
        AP @ top_k: "map",
        nDCG @ top_k: "ndcg",
    }
    judged = [ir_measures.Qrel("q", document, 1) for document in gold]
    scored = [ir_measures.ScoredDoc("q", document, 100.0 - place) for place, document in enumerate(found)]
    ours = metrics(found, sorted(gold), top_k)
    # Where every chunk is a document of its own the two ways to count are one.
    both = retrieval_metrics(Question("q", "text", gold=tuple(sorted(gold))), ranked(found), top_k, len(gold))
    assert {name: both[f"chunk_{name}"] for name in ours} == pytest.approx(ours)
    if not scored:
        assert set(ours.values()) == {0.0}
        return
    for measured in ir_measures.iter_calc(list(names), judged, scored):
        assert ours[f"{names[measured.measure]}_at_{top_k}"] == pytest.approx(measured.value, abs=1e-9)
