"""The dense index on a Chroma server that a team shares: built under a working name, renamed when whole, then read."""

from __future__ import annotations

import asyncio
import json
import uuid
from collections.abc import Sequence
from typing import Any
from urllib.parse import urlsplit

from runner.errors import ConfigurationError, Problem, StorageError
from runner.importing import loaded
from runner.knowledge.embedding import Embedder
from runner.knowledge.index import Index, OpenCollection, fill, index_key
from runner.knowledge.vectors import call_from_json, call_to_json, replay
from runner.records import Call, Chunk

_CALLS = "runner_calls"
"""Key in the metadata of a collection: the calls that embedded its chunks, as JSON."""


async def open_team_index(url: str, chunks: Sequence[Chunk], embedder: Embedder) -> Index:
    """The index of these chunks on the server: the one that is there, else a new one.

    Two who build at once both embed; the first to finish wins, the other one's work is removed. Raises
    ``ConfigurationError`` where no server answers, ``StorageError`` for its later errors.
    """
    await loaded("numpy", "chromadb", "langchain_chroma")
    client = await asyncio.to_thread(_connect, url)
    key = index_key(chunks, embedder.identity)
    name = f"runner-{key}"
    collection = await asyncio.to_thread(_find, client, name)
    paid: tuple[Call, ...] | None = None
    try:
        if collection is None:
            aside = f"{name[:40]}-tmp-{uuid.uuid4().hex[:8]}"
            try:
                paid = await fill(client, aside, chunks, embedder)
                collection = await asyncio.to_thread(_finish, client, aside, name, paid)
            except BaseException:
                await asyncio.to_thread(_remove, client, aside)
                raise
        stored = [call_from_json(plain) for plain in json.loads(collection.metadata[_CALLS])]
    except _chroma_errors() as error:
        raise StorageError(f"The Chroma server at {url} failed while the index was built or opened: {error}") from error
    return Index(key, OpenCollection(client, collection), chunks, replay(stored) if paid is None else paid)


def _connect(url: str) -> Any:
    import chromadb

    parts = urlsplit(url)
    settings = chromadb.Settings(anonymized_telemetry=False)
    try:
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ValueError("not an address such as http://chroma.example:8000")
        secure = parts.scheme == "https"
        return chromadb.HttpClient(parts.hostname, parts.port or (443 if secure else 8000), secure, settings=settings)
    except Exception as error:  # Chroma raises bare ValueErrors and errors of its HTTP library
        problem = Problem("retriever.server", f"no Chroma server answers at {url} ({error})", "start it, or set null")
        raise ConfigurationError([problem]) from error


def _find(client: Any, name: str) -> Any:
    from chromadb.errors import NotFoundError

    try:
        return client.get_collection(name, embedding_function=None)
    except NotFoundError:
        return None


def _finish(client: Any, aside: str, name: str, calls: Sequence[Call]) -> Any:
    """Give a complete collection its name; where somebody else was faster, theirs."""
    collection = client.get_collection(aside, embedding_function=None)
    plain = json.dumps([call_to_json(call) for call in calls])
    theirs = _find(client, name)
    if theirs is None:
        try:
            collection.modify(name=name, metadata={_CALLS: plain})
            return collection
        except _chroma_errors():
            theirs = _find(client, name)
            if theirs is None:
                raise
    _remove(client, aside)
    return theirs


def _remove(client: Any, name: str) -> None:
    import contextlib

    with contextlib.suppress(*_chroma_errors()):
        client.delete_collection(name)


def _chroma_errors() -> tuple[type[Exception], ...]:
    import httpx
    from chromadb.errors import ChromaError

    return (ChromaError, httpx.HTTPError)
