"""The dense index: one Chroma folder per (chunks, embedder), built aside under a lock, renamed when whole, then only
read. Two writers on one Chroma folder give wrong neighbours without an error, so there is never a second writer."""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import shutil
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from runner.errors import StorageError
from runner.importing import loaded
from runner.knowledge.embedding import Embedder
from runner.knowledge.locks import locked
from runner.knowledge.vectors import call_from_json, call_to_json, merged, replay
from runner.records import Call, Chunk

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

COLLECTION = "chunks"
_FORMAT = 1
"""Part of the key: raised when what stands in an index folder changes."""
_HNSW = {"space": "cosine", "ef_construction": 200, "max_neighbors": 32, "ef_search": 200}
"""Wider than Chroma's defaults (100, 16, 100): a missed neighbour would look like a fault of the embedder."""
_EMBED_AT_ONCE = 4096
"""Chunks between two writes to the index; bounds memory."""
_CALLS_FILE = "calls.json"

Hits = tuple[tuple[int, float], ...]
"""(place of the chunk among all chunks, score), best first."""


def index_key(chunks: Sequence[Chunk], identity: str) -> str:
    """Hash of everything that an index depends on: chunks with their metadata, and the embedder's identity."""
    digest = hashlib.sha256(f"{_FORMAT}\n{json.dumps(_HNSW)}\n{identity}\n".encode())
    for chunk in chunks:
        digest.update(f"{chunk.id} {json.dumps(dict(chunk.metadata), sort_keys=True, default=str)}\n".encode())
    return digest.hexdigest()[:32]


@dataclass(frozen=True, slots=True)
class OpenCollection:
    """A collection of Chroma that this process has open, with the lock that its users share."""

    client: Any
    collection: Any
    lock: threading.Lock = field(default_factory=threading.Lock)


class Index:
    """A complete index. Only read; safe to share between threads."""

    def __init__(self, key: str, opened: OpenCollection, chunks: Sequence[Chunk], calls: tuple[Call, ...]) -> None:
        self.key = key
        self.calls = calls
        """The calls that embedded the chunks, one entry a call."""
        self._places = {chunk.id: place for place, chunk in enumerate(chunks)}
        self._ids = [chunk.id for chunk in chunks]
        self._lock = opened.lock
        self._collection = opened.collection

    def query(self, vectors: NDArray[np.float32], count: int, where: Mapping[str, Any]) -> list[Hits]:
        """The nearest ``count`` chunks of each vector by cosine similarity, among those whose metadata fits ``where``.

        Equal similarities are ordered by the chunks' own order, so that a result never depends on the index.
        """
        with self._lock:
            reply = self._collection.query(
                query_embeddings=vectors,
                n_results=min(count, len(self._ids)),
                where=_condition(where),
                include=["distances"],
            )
        return [
            in_order((self._places[name], 1.0 - float(distance)) for name, distance in zip(*pair, strict=True))
            for pair in zip(reply["ids"], reply["distances"], strict=True)
        ]

    def vectors(self, places: Sequence[int]) -> NDArray[np.float32]:
        """The vectors of these chunks, in the order given."""
        import numpy as np

        wanted = [self._ids[place] for place in places]
        with self._lock:
            reply = self._collection.get(ids=wanted, include=["embeddings"])
        by_id = dict(zip(reply["ids"], reply["embeddings"], strict=True))
        return np.asarray([by_id[name] for name in wanted], dtype=np.float32)


def in_order(hits: Any) -> Hits:
    """Best first, scores to six digits (more differ between machines), ties in the order of the chunks."""
    return tuple(sorted(((place, round(score, 6)) for place, score in hits), key=lambda hit: (-hit[1], hit[0])))


class Searchable(Protocol):
    """What can be searched by vector."""

    def query(self, vectors: NDArray[np.float32], count: int, where: Mapping[str, Any]) -> list[Hits]: ...
    def vectors(self, places: Sequence[int]) -> NDArray[np.float32]: ...


def is_built(home: Path, chunks: Sequence[Chunk], embedder: Embedder) -> bool:
    """Whether the index of these chunks is there, so that none of them has to be embedded."""
    return _folder_of(home, chunks, embedder).is_dir()


def _folder_of(home: Path, chunks: Sequence[Chunk], embedder: Embedder) -> Path:
    return home / "index" / index_key(chunks, embedder.identity)


async def open_index(home: Path, chunks: Sequence[Chunk], embedder: Embedder) -> Index:
    """The index of these chunks: the one that is there, else a new one.

    An interrupted build leaves only its vectors, from which the next one goes on. Raises ``StorageError`` where the
    folder cannot be written or read, and what the door raises while embedding.
    """
    await loaded("numpy", "chromadb", "langchain_chroma")
    folder = _folder_of(home, chunks, embedder)
    paid: tuple[Call, ...] | None = None
    if not folder.is_dir():
        async with locked(folder.with_suffix(".lock")):
            if not folder.is_dir():
                paid = await _build(folder, chunks, embedder)
    try:
        stored = await asyncio.to_thread(_stored_calls, folder)
        opened = await asyncio.to_thread(_opened, folder)
        return Index(folder.name, opened, chunks, replay(stored) if paid is None else paid)
    except Exception as error:  # Chroma raises errors of many kinds for a damaged folder
        raise StorageError(
            f"{folder}: the index cannot be opened ({error}); delete this folder, it is built again from the stored "
            "vectors without a paid call."
        ) from error


async def _build(folder: Path, chunks: Sequence[Chunk], embedder: Embedder) -> tuple[Call, ...]:
    for left in folder.parent.glob(f"tmp-{folder.name}-*"):  # of a build that was killed: we hold its lock now
        shutil.rmtree(left, ignore_errors=True)
    _forget(folder)
    aside = folder.parent / f"tmp-{folder.name}-{os.getpid()}"
    client = await asyncio.to_thread(_client, aside)
    try:
        made = await fill(client, COLLECTION, chunks, embedder)
        plain = json.dumps([call_to_json(call) for call in made])
        (aside / _CALLS_FILE).write_text(plain, encoding="utf-8")
    except BaseException:
        _close(client)
        shutil.rmtree(aside, ignore_errors=True)
        raise
    _close(client)
    os.replace(aside, folder)
    return made


async def fill(client: Any, name: str, chunks: Sequence[Chunk], embedder: Embedder) -> tuple[Call, ...]:
    """Embed all chunks into a new collection; returns the calls that made their vectors, one entry a call."""
    calls: list[Call] = []
    for start in range(0, len(chunks), _EMBED_AT_ONCE):
        part = chunks[start : start + _EMBED_AT_ONCE]
        embedded = await embedder.embed([chunk.text for chunk in part])
        calls.extend(call for of_one in embedded.calls for call in of_one)
        await asyncio.to_thread(_add, client, name, part, embedded.vectors)
    return merged(calls)


def _add(client: Any, name: str, chunks: Sequence[Chunk], vectors: NDArray[np.float32]) -> None:
    """Write chunks with the vectors that we have: Chroma must never embed anything by itself."""
    from langchain_chroma import Chroma

    given = _GivenVectors()
    store = Chroma(name, given, client=client, collection_configuration={"hnsw": _HNSW})
    most = int(client.get_max_batch_size())
    for start in range(0, len(chunks), most):
        part = chunks[start : start + most]
        given.vectors = list(vectors[start : start + most])
        store.add_texts(
            [chunk.text for chunk in part], [_metadata(chunk) for chunk in part], [chunk.id for chunk in part]
        )


class _GivenVectors:
    """Stands where langchain-chroma wants an embedder, and hands it the vectors that were made before."""

    vectors: list[Any]

    def embed_documents(self, texts: list[str]) -> list[Any]:
        assert len(texts) == len(self.vectors)
        return self.vectors


def _metadata(chunk: Chunk) -> dict[str, Any]:
    """Chroma takes texts, numbers, true and false only: other values are stored as JSON text."""
    own = {"document_id": chunk.document_id, "position": chunk.position}
    return {key: scalar(value) for key, value in chunk.metadata.items() if value is not None} | own


def scalar(value: Any) -> str | int | float | bool:
    """A metadata value as it is compared by filters."""
    return value if isinstance(value, (str, int, float, bool)) else json.dumps(value, sort_keys=True, default=str)


def _condition(where: Mapping[str, Any]) -> dict[str, Any] | None:
    conditions = [{key: scalar(value)} for key, value in where.items()]
    if not conditions:
        return None
    return conditions[0] if len(conditions) == 1 else {"$and": conditions}


_chroma_lock = threading.RLock()
"""Chroma's table of open folders is not made for threads: two that open one folder at once break each other."""
_open: dict[Path, OpenCollection] = {}
"""What this process has open: every folder once, whoever asks."""


def _client(folder: Path) -> Any:
    import chromadb

    with _chroma_lock:
        return chromadb.PersistentClient(str(folder), chromadb.Settings(anonymized_telemetry=False))


def _close(client: Any) -> None:
    with _chroma_lock:
        client.close()


def _opened(folder: Path) -> OpenCollection:
    with _chroma_lock:
        if folder not in _open:
            client = _client(folder)
            try:
                _open[folder] = OpenCollection(client, client.get_collection(COLLECTION, embedding_function=None))
            except BaseException:
                client.close()
                raise
        return _open[folder]


def _forget(folder: Path) -> None:
    """Close a folder that was deleted under this process: its files would be read on from memory."""
    with _chroma_lock:
        before = _open.pop(folder, None)
        if before is not None:
            before.client.close()


def _stored_calls(folder: Path) -> list[Call]:
    return [call_from_json(plain) for plain in json.loads((folder / _CALLS_FILE).read_text(encoding="utf-8"))]
