"""Retrieval metrics against trec_eval's own test collection and a graded example of the literature."""

from __future__ import annotations

from collections import defaultdict
from statistics import mean

import pytest

from runner.knowledge import retrieval_metrics
from runner.knowledge.metrics import discounted_gain
from runner.records import Chunk, Question, Retrieved
from tests.fakes.shared_data import shared


def collection() -> list[tuple[Question, tuple[Retrieved, ...]]]:
    """Three topics; as trec_eval has it, by score and then by document id downwards, whatever the rank column says."""
    gold, found = defaultdict(list), defaultdict(list)
    for line in shared("trec/qrels.test").read_text().splitlines():
        topic, _, document, relevance = line.split()
        if int(relevance) > 0:
            gold[topic].append(document)
    for line in shared("trec/results.test").read_text().splitlines():
        topic, _, document, _, score, _ = line.split()
        found[topic].append((float(score), document))
    return [
        (
            Question(topic, "text", gold=tuple(gold[topic])),
            tuple(
                Retrieved(Chunk(document, document, 0, "text"), rank, score)
                for rank, (score, document) in enumerate(sorted(ranked, reverse=True), 1)
            ),
        )
        for topic, ranked in found.items()
    ]


@pytest.mark.parametrize(
    ("name", "top_k", "expected"),
    [
        ("map", 1000, 0.1785),
        ("mrr", 1000, 0.4064),
        ("precision", 5, 0.2667),
        ("precision", 10, 0.3000),
        ("ndcg", 1000, 0.4021),
        ("ndcg", 10, 0.3016),
        ("recall", 10, 0.0317),
    ],
)
def test_trec_evals_own_test_collection(name: str, top_k: int, expected: float) -> None:
    values = [retrieval_metrics(question, found, top_k)[f"{name}_at_{top_k}"] for question, found in collection()]
    assert mean(values) == pytest.approx(expected, abs=5.1e-5)


_MEASURES = {"P": "precision", "recall": "recall", "ndcg_cut": "ndcg", "map_cut": "map", "success": "hit_rate"}
_WHOLE = {"map": "map", "recip_rank": "mrr"}


def test_every_number_of_trec_evals_own_output_topic_by_topic_and_in_the_mean() -> None:
    """The expected output beside the collection: each cut-off of each measure that is one of ours, over chunks too."""
    topics = {question.id: (question, found) for question, found in collection()}
    measured: dict[tuple[str, int], list[float]] = defaultdict(list)
    expected: dict[tuple[str, int], float] = {}
    checked = 0
    for line in shared("trec/out.test.aq").read_text().splitlines():
        name, topic, text = line.split(maxsplit=2)
        base, _, cut = name.rpartition("_")
        if base in _MEASURES and cut.isdigit():
            key = _MEASURES[base], int(cut)
        elif name in _WHOLE:
            key = _WHOLE[name], 1000
        else:
            continue
        if topic == "all":
            expected[key] = float(text)
            continue
        question, found = topics[topic]
        values = retrieval_metrics(question, found, key[1], len(question.gold))
        value = values[f"{key[0]}_at_{key[1]}"]
        assert value == pytest.approx(float(text), abs=5.1e-5), line
        assert values[f"chunk_{key[0]}_at_{key[1]}"] == pytest.approx(value), "each chunk is a document here"
        measured[key].append(value)
        checked += 1
    assert checked >= 3 * 29
    assert {key: round(mean(measured[key]), 4) for key in expected} == pytest.approx(expected, abs=1.01e-4)


def test_graded_gain_of_the_literature() -> None:
    gains = [3, 2, 3, 0, 1, 2]
    assert discounted_gain(gains) == pytest.approx(6.861127, abs=1e-6)
    assert discounted_gain(gains) / discounted_gain(sorted(gains, reverse=True)) == pytest.approx(0.960808, abs=1e-6)
