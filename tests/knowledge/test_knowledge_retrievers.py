"""Indexes are built once and only read; a small ``top_k`` is always the beginning of a larger one."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from runner.config.schema import Chunking, Config, Retriever
from runner.errors import ConfigurationError, StorageError
from runner.knowledge import Embedder, Retrieval, open_retriever, split
from runner.knowledge.bm25 import BM25, K1, B
from runner.knowledge.retrievers import maximal_marginal_relevance, reciprocal_rank_fusion
from runner.records import Call, Chunk, Document, Question, Usage
from tests.knowledge.fake_embedder import WordVectors, word_embedder

WORDS = ["apple", "bread", "cheese", "date", "egg", "fig", "grape", "honey", "ice", "jam", "kale", "lemon"]
DOCUMENTS = [
    Document(f"d{number}", " ".join([word] * 3 + [other]), metadata={"group": number % 2})
    for number, (word, other) in enumerate(zip(WORDS, WORDS[1:] + WORDS[:1], strict=True))
]
QUESTIONS = [Question(f"q{number}", f"{word} please", gold=(f"d{number}",)) for number, word in enumerate(WORDS)]


def chunks_of(documents: Sequence[Document]) -> tuple[Chunk, ...]:
    return split(documents, Chunking())


async def retrieve(
    home: Path, kind: str = "dense", top_k: int = 3, documents: Sequence[Document] = DOCUMENTS, **settings: Any
) -> tuple[tuple[Retrieval, ...], WordVectors]:
    embedder, backend = word_embedder(home)
    config = Config(retriever=Retriever(kind=kind, **settings))
    retriever = await open_retriever(config, chunks_of(documents), embedder, home)
    return await retriever.retrieve(QUESTIONS, top_k), backend


def documents_of(results: Sequence[Retrieval]) -> list[list[str]]:
    return [[item.chunk.document_id for item in result.retrieved] for result in results]


def test_dense_finds_the_nearest_with_ranks_scores_and_gold_marks(home: Path) -> None:
    results, _ = asyncio.run(retrieve(home))
    for question, result in zip(QUESTIONS, results, strict=True):
        assert result.retrieved[0].chunk.document_id == question.gold[0]
        assert [item.rank for item in result.retrieved] == [1, 2, 3]
        scores = [item.score for item in result.retrieved]
        assert scores == sorted(scores, reverse=True)
        assert -1 <= scores[-1] <= scores[0] <= 1
        assert [item.gold for item in result.retrieved] == [True, False, False]


def test_scores_are_cosine_similarities(home: Path) -> None:
    results, backend = asyncio.run(retrieve(home))
    item = results[0].retrieved[0]
    expected = float(backend._one(QUESTIONS[0].text) @ backend._one(item.chunk.text))
    assert item.score == pytest.approx(expected, abs=1e-5)


@pytest.mark.parametrize("kind", ["dense", "bm25", "hybrid", "mmr"])
def test_a_small_top_k_is_the_beginning_of_a_larger_one(home: Path, kind: str) -> None:
    settings: dict[str, Any] = {"kind": "dense", "mmr": True} if kind == "mmr" else {"kind": kind}

    async def both() -> None:
        alone, _ = await retrieve(home, top_k=3, **settings)
        embedder, _ = word_embedder(home)
        retriever = await open_retriever(Config(retriever=Retriever(**settings)), chunks_of(DOCUMENTS), embedder, home)
        large, small = await retriever.retrieve(QUESTIONS, 5), await retriever.retrieve(QUESTIONS, 3)
        assert documents_of(small) == documents_of(alone) == [found[:3] for found in documents_of(large)]

    asyncio.run(both())


def test_a_sweep_over_top_k_embeds_each_text_once_and_all_questions_together(home: Path) -> None:
    async def sweep() -> list[list[str]]:
        embedder, backend = word_embedder(home)
        retriever = await open_retriever(Config(), chunks_of(DOCUMENTS), embedder, home)
        for top_k in (1, 3, 5):
            await retriever.retrieve(QUESTIONS, top_k)
        return backend.batches

    chunk_texts = [document.text for document in DOCUMENTS]
    assert asyncio.run(sweep()) == [chunk_texts, [question.text for question in QUESTIONS]]
    _, again = asyncio.run(retrieve(home))
    assert again.batches == []


def test_symptom_68_a_second_job_does_not_see_the_chunks_of_the_first_twice(home: Path) -> None:
    async def twice() -> None:
        for _ in range(2):
            results, _ = await retrieve(home, top_k=30)
            for found in documents_of(results):
                assert sorted(found) == sorted({document.id for document in DOCUMENTS})

    asyncio.run(twice())
    assert len([path for path in (home / "index").iterdir() if path.is_dir()]) == 1


def test_retrievers_that_open_one_index_at_the_same_moment_all_get_it(home: Path) -> None:
    asyncio.run(retrieve(home))
    script = f"""
import asyncio
from pathlib import Path
from tests.knowledge.test_knowledge_retrievers import *

async def together():
    home = Path({str(home)!r})
    return await asyncio.gather(*(retrieve(home, kind=kind) for kind in ["dense", "hybrid"] * 4))

found = [documents_of(results) for results, _ in asyncio.run(together())]
print(all(one == found[at % 2] for at, one in enumerate(found)), len(found))
"""
    root = Path(__file__).parents[2]
    said = subprocess.run([sys.executable, "-c", script], cwd=root, capture_output=True, text=True, check=True)
    assert said.stdout.strip() == "True 8"


def test_symptom_69_another_embedder_has_another_index(home: Path) -> None:
    async def other() -> None:
        for identity in ("one", "two"):
            embedder, _ = word_embedder(home, identity)
            await open_retriever(Config(), chunks_of(DOCUMENTS), embedder, home)

    asyncio.run(other())
    assert len([path for path in (home / "index").iterdir() if path.is_dir()]) == 2


def test_one_new_document_embeds_one_document_and_a_deleted_index_none(home: Path) -> None:
    asyncio.run(retrieve(home))
    _, backend = asyncio.run(retrieve(home, documents=[Document("new", "mango nut"), *DOCUMENTS]))
    assert backend.texts == ["mango nut"]
    for left in (home / "index").iterdir():
        subprocess.run(["rm", "-r", str(left)], check=True)
    _, backend = asyncio.run(retrieve(home))
    assert backend.texts == []


def test_a_build_that_was_killed_leaves_no_half_index(home: Path) -> None:
    half = home / "index" / "tmp-left-1"
    half.mkdir(parents=True)

    class Cut(WordVectors):
        async def embed(self, texts: Sequence[str]) -> Any:
            raise RuntimeError("killed")

    embedder, _backend = word_embedder(home)
    embedder._backend = Cut()
    with pytest.raises(RuntimeError, match="killed"):
        asyncio.run(open_retriever(Config(), chunks_of(DOCUMENTS), embedder, home))
    assert [path.name for path in (home / "index").iterdir() if path.is_dir()] == ["tmp-left-1"]
    results, _ = asyncio.run(retrieve(home))
    assert results[0].retrieved[0].chunk.document_id == "d0"


def test_a_build_that_was_killed_with_signal_9_goes_on_with_the_missing_chunks(home: Path) -> None:
    script = f"""
import asyncio, os, signal
from pathlib import Path
from tests.knowledge.test_knowledge_retrievers import *

class Killed(WordVectors):
    async def embed(self, texts):
        if len(self.batches) == 2:
            await asyncio.sleep(0.5)
            os.kill(os.getpid(), signal.SIGKILL)
        return await super().embed(texts)

home = Path({str(home)!r})
embedder = Embedder(Killed(batch_size=4), home / "vectors")
asyncio.run(open_retriever(Config(), chunks_of(DOCUMENTS), embedder, home))
"""
    ended = subprocess.run([sys.executable, "-c", script], cwd=Path(__file__).parents[2], check=False)
    assert ended.returncode == -9
    results, backend = asyncio.run(retrieve(home))
    assert backend.batches[0] == [document.text for document in DOCUMENTS[8:]]
    assert results[0].retrieved[0].chunk.document_id == "d0"
    left = [path.name for path in (home / "index").iterdir() if path.is_dir()]
    assert len(left) == 1
    assert not left[0].startswith("tmp-")


def test_a_damaged_index_says_what_to_delete(home: Path) -> None:
    asyncio.run(retrieve(home))
    (folder,) = (path for path in (home / "index").iterdir() if path.is_dir())
    (folder / "calls.json").unlink()
    with pytest.raises(StorageError, match="delete this folder"):
        asyncio.run(retrieve(home))


def test_processes_that_start_together_build_one_index_and_agree(home: Path) -> None:
    script = (
        "import asyncio; from pathlib import Path; from tests.knowledge.test_knowledge_retrievers import *\n"
        f"results, backend = asyncio.run(retrieve(Path({str(home)!r})))\n"
        "print(len(backend.texts), documents_of(results))"
    )
    root = Path(__file__).parents[2]
    started = [
        subprocess.Popen([sys.executable, "-c", script], cwd=root, stdout=subprocess.PIPE, text=True) for _ in range(2)
    ]
    outputs = [process.communicate(timeout=100)[0].split(" ", 1) for process in started]
    assert outputs[0][1] == outputs[1][1]
    assert sum(int(count) for count, _ in outputs) == len(DOCUMENTS) + len(QUESTIONS)


@pytest.mark.parametrize("kind", ["dense", "bm25", "hybrid"])
def test_filter_keeps_only_chunks_with_that_metadata(home: Path, kind: str) -> None:
    results, _ = asyncio.run(retrieve(home, kind=kind, top_k=12, filter={"group": 1}))
    for result in results:
        assert all(item.chunk.metadata["group"] == 1 for item in result.retrieved)
    assert any(result.retrieved for result in results)
    results, _ = asyncio.run(retrieve(home, kind=kind, top_k=12, filter={"group": 1, "document_id": "d1"}))
    assert {item.chunk.document_id for result in results for item in result.retrieved} == {"d1"}


def test_a_filter_that_fits_no_chunk_is_a_typo(home: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"retriever\.filter\.grup: no chunk has the value 1"):
        asyncio.run(retrieve(home, kind="bm25", filter={"grup": 1}))
    with pytest.raises(ConfigurationError, match=r"retriever\.filter\.group: no chunk has the value 3"):
        asyncio.run(retrieve(home, kind="bm25", filter={"group": 3}))
    assert documents_of(asyncio.run(retrieve(home, filter={"group": "1"}))[0])[0]


def test_threshold_drops_what_is_below_it(home: Path) -> None:
    results, _ = asyncio.run(retrieve(home, top_k=12, score_threshold=0.5))
    assert all(item.score >= 0.5 for result in results for item in result.retrieved)
    assert all(1 <= len(result.retrieved) < 12 for result in results)


def test_symptom_17_retriever_none_gives_an_empty_retrieval_and_needs_nothing(home: Path) -> None:
    async def nothing() -> tuple[Retrieval, ...]:
        retriever = await open_retriever(Config(retriever=Retriever(kind="none")), (), None, home)
        return await retriever.retrieve(QUESTIONS, 3)

    assert all(result == Retrieval((), ()) for result in asyncio.run(nothing()))
    assert not home.exists()


def test_what_is_missing_is_said() -> None:
    with pytest.raises(ConfigurationError, match="dense needs documents"):
        asyncio.run(open_retriever(Config(), (), None, Path("x")))
    with pytest.raises(ConfigurationError, match="dense needs an embedder"):
        asyncio.run(open_retriever(Config(), chunks_of(DOCUMENTS), None, Path("x")))


def test_equal_questions_share_their_result_and_pay_once(home: Path) -> None:
    async def twice() -> None:
        embedder, backend = word_embedder(home)
        retriever = await open_retriever(Config(), chunks_of(DOCUMENTS), embedder, home)
        same = [Question("1", "apple", gold=("d0",)), Question("2", "apple", gold=("d1",))]
        one, two = await retriever.retrieve(same, 2)
        assert [item.chunk for item in one.retrieved] == [item.chunk for item in two.retrieved]
        assert [item.gold for item in one.retrieved] != [item.gold for item in two.retrieved]
        assert backend.texts.count("apple") == 1

    asyncio.run(twice())


def test_bm25_by_hand() -> None:
    import math

    scores = BM25(["the cat sat", "the dog", "a cat and a cat"]).scores("Cat!")
    idf = math.log(1 + (3 - 2 + 0.5) / (2 + 0.5))
    mean = 10 / 3

    def expected(count: int, length: int) -> float:
        return idf * count * (K1 + 1) / (count + K1 * (1 - B + B * length / mean))

    assert scores.tolist() == pytest.approx([expected(1, 3), 0, expected(2, 5)])


def test_bm25_shares_no_word_no_hit(home: Path) -> None:
    results, _ = asyncio.run(retrieve(home, kind="bm25", documents=[Document("a", "zebra")]))
    assert documents_of(results) == [[] for _ in QUESTIONS]


@given(st.lists(st.text(alphabet="ab c", max_size=12), min_size=1, max_size=8), st.text(alphabet="abc ", max_size=8))
def test_bm25_scores_are_never_negative_and_zero_without_a_shared_word(texts: list[str], question: str) -> None:
    scores = BM25(texts).scores(question)
    for text, score in zip(texts, scores, strict=True):
        assert (score > 0) == bool(set(text.split()) & set(question.split()))


def test_reciprocal_rank_fusion_by_hand() -> None:
    fused = reciprocal_rank_fusion([((7, 0.9), (8, 0.5)), ((8, 12.0), (9, 3.0))], 60)
    assert fused == ((8, round(1 / 62 + 1 / 61, 6)), (7, round(1 / 61, 6)), (9, round(1 / 62, 6)))


def test_mmr_passes_over_a_copy_of_what_was_taken() -> None:
    vectors = np.array([[1, 0], [1, 0.01], [0.6, 0.8]], dtype=np.float32)
    relevance = [0.9, 0.89, 0.7]
    assert maximal_marginal_relevance(relevance, vectors, 0.5) == [0, 2, 1]
    assert maximal_marginal_relevance(relevance, vectors, 1.0) == [0, 1, 2]
    assert maximal_marginal_relevance([], vectors[:0], 0.5) == []


def test_a_job_that_did_not_pay_for_the_index_shows_its_price_but_no_new_spend(home: Path) -> None:
    class Paid(WordVectors):
        async def embed(self, texts: Sequence[str]) -> Any:
            vectors, _ = await super().embed(texts)
            return vectors, [call_of(f"key {texts[0]}")]

    async def opened() -> tuple[Any, Any]:
        retriever = await open_retriever(
            Config(), chunks_of(DOCUMENTS), Embedder(Paid(batch_size=5), home / "vectors"), home
        )
        return retriever, await retriever.retrieve(QUESTIONS, 3)

    first, answers = asyncio.run(opened())
    assert len(first.index_calls) == 3
    assert [call.new_cost for call in first.index_calls] == [Decimal("0.01")] * 3
    other = first.for_another_job()
    assert [(call.total_cost, call.new_cost) for call in other.index_calls] == [(Decimal("0.01"), Decimal(0))] * 3
    later, again = asyncio.run(opened())
    assert [(call.total_cost, call.new_cost) for call in later.index_calls] == [(Decimal("0.01"), Decimal(0))] * 3
    shares = [call for answer in answers for call in answer.calls]
    assert sum((call.new_cost or Decimal(0) for call in shares), Decimal(0)) == Decimal("0.03")
    replayed = [call for answer in again for call in answer.calls]
    assert [call.total_cost for call in replayed] == [call.total_cost for call in shares]
    assert not any(call.new_cost for call in replayed)


def call_of(key: str) -> Call:
    cent, zero = Decimal("0.01"), Decimal(0)
    return Call(key, "embed", "m", "openai", "ok", False, Usage(7), cent, zero, cent, cent, 0.1, 1, "2026-01-01")


@pytest.fixture
def chroma_server(tmp_path: Path) -> Iterator[str]:
    program = Path(sys.executable).with_name("chroma")
    if not program.exists():
        pytest.skip("the chroma program is not installed")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [str(program), "run", "--path", str(tmp_path / "server"), "--host", "127.0.0.1", "--port", str(port)]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        for _ in range(200):
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
                break
            time.sleep(0.1)
        yield f"http://127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait()


def test_a_team_shares_the_index_on_a_chroma_server(home: Path, tmp_path: Path, chroma_server: str) -> None:
    local, _ = asyncio.run(retrieve(home))
    one, _ = asyncio.run(retrieve(home, server=chroma_server))
    other_home = tmp_path / "other"
    two, backend = asyncio.run(retrieve(other_home, server=chroma_server))
    assert documents_of(local) == documents_of(one) == documents_of(two)
    assert set(backend.texts) == {question.text for question in QUESTIONS}
    assert not (other_home / "index").exists()


def test_a_chroma_server_that_is_away_is_one_sentence(home: Path) -> None:
    for url in ("http://127.0.0.1:9", "chroma"):
        with pytest.raises(ConfigurationError, match=r"retriever\.server: no Chroma server answers"):
            asyncio.run(retrieve(home, server=url))
