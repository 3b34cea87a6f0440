"""An embedder without a model: words become numbers, so that nearness can be told by hand. Counts its batches."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from runner.knowledge import Embedder
from runner.records import Call

DIMENSION = 64


class WordVectors:
    """A text's vector is the sum of its words' random directions: texts with the same words are near."""

    def __init__(self, identity: str = "words", batch_size: int = 100) -> None:
        self.identity = identity
        self.batch_size = batch_size
        self.batches: list[list[str]] = []

    async def embed(self, texts: Sequence[str]) -> tuple[NDArray[np.float32], list[Call]]:
        self.batches.append(list(texts))
        return np.stack([self._one(text) for text in texts]), []

    def _one(self, text: str) -> NDArray[np.float32]:
        total = np.full(DIMENSION, 1e-3)
        for word in text.casefold().split():
            total += np.random.default_rng(zlib.crc32(f"{self.identity}:{word}".encode())).normal(size=DIMENSION)
        return np.asarray(total / np.linalg.norm(total), dtype=np.float32)

    @property
    def texts(self) -> list[str]:
        return [text for batch in self.batches for text in batch]


def word_embedder(home: Path, identity: str = "words", batch_size: int = 100) -> tuple[Embedder, WordVectors]:
    """An embedder with its store in ``home``, and the backend that counts."""
    backend = WordVectors(identity, batch_size)
    return Embedder(backend, home / "vectors"), backend
