"""Each text is embedded once per embedder: over calls, launches, tasks and kills; money adds up to the last digit."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Sequence
from decimal import Decimal
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from runner.errors import StorageError
from runner.knowledge import Embedder
from runner.knowledge.vectors import Stored, VectorStore, merged, shares
from runner.records import Call, Stage, Usage


def vector_of(text: str) -> NDArray[np.float32]:
    """A unit vector that depends on the text alone."""
    seed = int.from_bytes(hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()[:8])
    vector = np.random.default_rng(seed).normal(size=8).astype(np.float32)
    return np.asarray(vector / np.linalg.norm(vector), dtype=np.float32)


def call(key: str, tokens: int = 10, cost: str | None = "0.0000002") -> Call:
    money = None if cost is None else Decimal(cost)
    zero = None if cost is None else Decimal(0)
    return Call(
        key, Stage.EMBED, "m", "openai", "ok", False, Usage(tokens), money, zero, money, money, 0.1, 1, "2026-01-01"
    )


class Counting:
    """An embedder backend that notes each batch and can fail at one."""

    def __init__(self, identity: str = "fake", batch_size: int = 3, fail_at: int = -1) -> None:
        self.identity = identity
        self.batch_size = batch_size
        self.batches: list[list[str]] = []
        self._fail_at = fail_at

    async def embed(self, texts: Sequence[str]) -> tuple[NDArray[np.float32], list[Call]]:
        number = len(self.batches)
        self.batches.append(list(texts))
        await asyncio.sleep(0)
        if number == self._fail_at:
            raise RuntimeError("cut")
        return np.stack([vector_of(text) for text in texts]), [call(f"{self.identity}-{texts[0]}", 10 * len(texts))]

    @property
    def texts(self) -> list[str]:
        return [text for batch in self.batches for text in batch]


TEXTS = ["one", "two", "three", "four", "two", "five"]


def test_batches_order_and_equal_texts(tmp_path: Path) -> None:
    backend = Counting()
    embedded = asyncio.run(Embedder(backend, tmp_path).embed(TEXTS))
    assert backend.batches == [["one", "two", "three"], ["four", "five"]]
    assert np.array_equal(embedded.vectors, np.stack([vector_of(text) for text in TEXTS]))
    assert embedded.calls[4] == ()
    calls = [one for of_text in embedded.calls for one in of_text]
    assert {one.key for one in calls} == {"fake-one", "fake-four"}
    assert sum(one.usage.input_tokens for one in calls if one.usage) == 50
    assert sum((one.new_cost or Decimal(0) for one in calls), Decimal(0)) == Decimal("0.0000004")


def test_a_second_launch_pays_nothing_and_shows_the_same_total(tmp_path: Path) -> None:
    first = asyncio.run(Embedder(Counting(), tmp_path).embed(TEXTS))
    again = Counting()
    second = asyncio.run(Embedder(again, tmp_path).embed(TEXTS))
    assert again.batches == []
    assert np.array_equal(first.vectors, second.vectors)
    for before, after in zip(first.calls, second.calls, strict=True):
        for paid, replayed in zip(before, after, strict=True):
            assert replayed.from_ledger
            assert replayed.new_cost == 0
            assert (replayed.total_cost, replayed.usage, replayed.key) == (paid.total_cost, paid.usage, paid.key)


def test_a_cut_build_keeps_what_was_paid_and_the_next_one_embeds_only_the_rest(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match="cut"):
        asyncio.run(Embedder(Counting(batch_size=1, fail_at=2), tmp_path).embed(["a", "b", "c", "d"]))
    again = Counting()
    asyncio.run(Embedder(again, tmp_path).embed(["a", "b", "c", "d"]))
    assert again.texts == ["c"]


def test_symptom_69_vectors_of_two_embedders_are_never_mixed(tmp_path: Path) -> None:
    one, two = Counting("one"), Counting("two")
    asyncio.run(Embedder(one, tmp_path).embed(["a"]))
    asyncio.run(Embedder(two, tmp_path).embed(["a"]))
    assert (one.texts, two.texts) == (["a"], ["a"])
    assert len(list(tmp_path.glob("*.db"))) == 2


def test_symptom_69_another_model_behind_the_same_name_is_noticed(tmp_path: Path) -> None:
    class Larger(Counting):
        async def embed(self, texts: Sequence[str]) -> tuple[NDArray[np.float32], list[Call]]:
            return np.ones((len(texts), 16), dtype=np.float32), []

    asyncio.run(Embedder(Counting(), tmp_path).embed(["a"]))
    with pytest.raises(StorageError, match="vectors of 8 and 16 dimensions"):
        asyncio.run(Embedder(Larger(), tmp_path).embed(["a", "b"]))


def test_tasks_that_ask_for_the_same_texts_at_once_pay_once(tmp_path: Path) -> None:
    backends = [Counting() for _ in range(5)]

    async def together() -> None:
        await asyncio.gather(*(Embedder(backend, tmp_path).embed(TEXTS) for backend in backends))

    asyncio.run(together())
    assert sorted(text for backend in backends for text in backend.texts) == sorted(set(TEXTS))


def test_what_is_missing_is_known_without_writing_anything(tmp_path: Path) -> None:
    embedder = Embedder(Counting(), tmp_path / "vectors")
    assert embedder.missing(["a", "b", "a"]) == ("a", "b")
    assert not (tmp_path / "vectors").exists()
    asyncio.run(embedder.embed(["a"]))
    assert embedder.missing(["a", "b", "a"]) == ("b",)


def test_an_unknown_price_stays_unknown(tmp_path: Path) -> None:
    store = VectorStore(tmp_path, "x")
    store.save({"a": Stored(vector_of("a"), (call("k", cost=None),))})
    (read,) = store.load(["a"])["a"].calls
    assert (read.total_cost, read.new_cost) == (None, None)


def test_no_text_at_all(tmp_path: Path) -> None:
    embedded = asyncio.run(Embedder(Counting(), tmp_path).embed([]))
    assert (embedded.vectors.shape[0], embedded.calls) == (0, ())


def test_many_texts_and_odd_ones(tmp_path: Path) -> None:
    texts = [*(f"text {number}" for number in range(1200)), "", "😀\0", "\ud800"]
    asyncio.run(Embedder(Counting(batch_size=500), tmp_path).embed(texts))
    again = Counting()
    embedded = asyncio.run(Embedder(again, tmp_path).embed(texts))
    assert again.batches == []
    assert np.array_equal(embedded.vectors[-1], vector_of("\ud800"))


def test_a_store_that_cannot_be_written_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "vectors").write_text("a file where the folder should be")
    with pytest.raises(StorageError, match="vectors cannot be stored"):
        asyncio.run(Embedder(Counting(), tmp_path / "vectors").embed(["a"]))


amounts = st.decimals(min_value=0, max_value=10, places=9)


@given(st.lists(st.text(max_size=20), min_size=1, max_size=30), st.integers(0, 5000), amounts)
def test_shares_add_up_exactly_and_merge_to_the_call(texts: list[str], tokens: int, cost: Decimal) -> None:
    whole = call("key", tokens, str(cost))
    (again,) = merged(shares(whole, texts))
    assert again == whole
