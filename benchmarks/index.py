"""How long and how much memory an index of many chunks takes: python -m benchmarks.index [chunks] [dimension]

The embedder is a fast fake, so that only our own part and Chroma's are measured. Prints one JSON object.
"""

from __future__ import annotations

import asyncio
import json
import resource
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from runner.config.schema import Chunking, Config, Retriever
from runner.knowledge import Embedder, open_retriever, split
from runner.records import Call, Document, Question

QUESTIONS = 1000
CENTRES = 2000
"""Chunks lie around this many centres, as texts about the same things do."""


class FastFake:
    """Random vectors around centres; a question lies near the chunk whose number it names."""

    identity = "fast-fake"
    batch_size = 2048

    def __init__(self, dimension: int) -> None:
        self._dimension = dimension
        self._centres = np.random.default_rng(0).normal(size=(CENTRES, dimension))
        self.texts = 0

    async def embed(self, texts: Sequence[str]) -> tuple[NDArray[np.float32], list[Call]]:
        self.texts += len(texts)
        numbers = [int(text.split()[1]) for text in texts]
        vectors = np.stack([self._one(number) for number in numbers])
        vectors += np.array([[0.05 if text.startswith("question") else 0.0] for text in texts])
        return (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32), []

    def _one(self, number: int) -> NDArray[np.float64]:
        noise = np.random.default_rng(number + 1).normal(size=self._dimension)
        return np.asarray(self._centres[number % CENTRES] + 0.6 * noise)


async def measure(count: int, dimension: int, home: Path) -> dict[str, float]:
    words = np.random.default_rng(1).integers(0, 20_000, size=(count, 60))
    documents = [
        Document(f"d{number}", f"chunk {number} " + " ".join(f"w{word}" for word in row))
        for number, row in enumerate(words)
    ]
    asked = range(0, count, max(1, count // QUESTIONS))
    questions = [Question(f"q{number}", f"question {number} ?", gold=(f"d{number}",)) for number in asked]
    config = Config(retriever=Retriever("dense", top_k=5))
    figures: dict[str, float] = {"chunks": count, "dimension": dimension, "questions": len(questions)}
    started = time.perf_counter()

    def lap(name: str) -> None:
        nonlocal started
        figures[name] = round(time.perf_counter() - started, 2)
        started = time.perf_counter()

    chunks = split(documents, Chunking())
    lap("split_s")
    fake = FastFake(dimension)
    retriever = await open_retriever(config, chunks, Embedder(fake, home / "vectors"), home)
    lap("build_s")
    found = await retriever.retrieve(questions, 5)
    lap("query_all_s")
    figures["hit_rate_at_5"] = sum(any(item.gold for item in one.retrieved) for one in found) / len(found)
    before = fake.texts
    await open_retriever(config, chunks, Embedder(fake, home / "vectors"), home)
    lap("open_again_s")
    figures["embedded_again"] = fake.texts - before
    figures["peak_mb"] = round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
    figures["disk_mb"] = await asyncio.to_thread(_disk_mb, home)
    return figures


def _disk_mb(folder: Path) -> int:
    return round(sum(path.stat().st_size for path in folder.rglob("*") if path.is_file()) / 2**20)


def main() -> None:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
    dimension = int(sys.argv[2]) if len(sys.argv) > 2 else 384
    with tempfile.TemporaryDirectory() as folder:
        print(json.dumps(asyncio.run(measure(count, dimension, Path(folder)))))


if __name__ == "__main__":
    main()
