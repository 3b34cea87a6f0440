"""Texts → vectors: what is stored is read, what is missing is embedded in batches and stored at once."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from runner.config import paths, schema
from runner.errors import ConfigurationError, JobStopped, Problem, RunnerError
from runner.importing import loaded
from runner.knowledge.locks import locked
from runner.knowledge.vectors import Stored, VectorStore, shares
from runner.records import Call, Stage

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Embedded:
    """Vectors of texts, in order."""

    vectors: NDArray[np.float32]
    """Shape (texts, dimension)."""
    calls: tuple[tuple[Call, ...], ...]
    """Each text's share of the calls that made its vector; empty for an embedder without calls."""


class Backend(Protocol):
    """What a kind of embedder must bring: an identity and vectors for one batch of texts."""

    identity: str
    batch_size: int

    async def embed(self, texts: Sequence[str]) -> tuple[NDArray[np.float32], list[Call]]: ...


class Embedder:
    """One embedder with its store of vectors; every text is embedded once, also over launches and processes."""

    def __init__(self, backend: Backend, folder: Path) -> None:
        self._backend = backend
        self._folder = folder
        self._store: VectorStore | None = None

    @property
    def identity(self) -> str:
        """What stands for the embedder in keys: vectors of two identities are never mixed."""
        return self._backend.identity

    @property
    def batch_size(self) -> int:
        """Texts in one call."""
        return self._backend.batch_size

    def missing(self, texts: Sequence[str]) -> tuple[str, ...]:
        """Those texts, each once, whose vectors are not stored: what ``embed`` would have to make. Writes nothing."""
        known = self.known(texts)
        return tuple(text for text in dict.fromkeys(texts) if text not in known)

    def known(self, texts: Sequence[str]) -> dict[str, tuple[str, ...]]:
        """Those texts whose vectors are stored, with the keys of the calls that made them. Writes nothing."""
        if not VectorStore.path_of(self._folder, self.identity).exists():
            return {}
        return self._opened().known(texts)

    async def embed(self, texts: Sequence[str], purpose: str = "document") -> Embedded:
        """The vectors of ``texts``; equal texts share one vector and, apart from the first, cost nothing new.

        ``purpose`` is ``document`` or ``query``; the embedders so far treat both alike.
        Raises what the door raises; batches that are finished by then are stored.
        """
        await loaded("numpy")
        import numpy as np

        store = self._opened()
        distinct = list(dict.fromkeys(texts))
        found = await asyncio.to_thread(store.load, distinct)
        if len(found) < len(distinct):
            async with locked(store.path.with_suffix(".lock")):
                # Somebody else may have embedded some of them while this task waited.
                missing = [text for text in distinct if text not in found]
                found |= await asyncio.to_thread(store.load, missing)
                await self._fill([text for text in missing if text not in found], found, store)
        if not texts:
            return Embedded(np.zeros((0, 0), dtype=np.float32), ())
        vectors = np.stack([found[text].vector for text in texts])
        return Embedded(vectors, _first_pays(texts, found))

    async def _fill(self, missing: Sequence[str], found: dict[str, Stored], store: VectorStore) -> None:
        async def one(batch: Sequence[str]) -> None:
            vectors, calls = await self._backend.embed(batch)
            parts = [shares(call, batch) for call in calls]
            new = {
                text: Stored(vectors[place], tuple(part[place] for part in parts)) for place, text in enumerate(batch)
            }
            await asyncio.to_thread(store.save, new)
            found.update(new)

        size = self._backend.batch_size
        batches = [missing[start : start + size] for start in range(0, len(missing), size)]
        # All batches end before the first error is raised: what is paid for is stored.
        outcomes = await asyncio.gather(*(one(batch) for batch in batches), return_exceptions=True)
        for outcome in outcomes:
            if isinstance(outcome, BaseException):
                raise outcome

    def _opened(self) -> VectorStore:
        if self._store is None:
            self._store = VectorStore(self._folder, self.identity)
        return self._store


def _first_pays(texts: Sequence[str], found: dict[str, Stored]) -> tuple[tuple[Call, ...], ...]:
    """The calls of each text; where a text occurs again its share is not counted a second time."""
    seen: set[str] = set()
    calls: list[tuple[Call, ...]] = []
    for text in texts:
        calls.append(() if text in seen else found[text].calls)
        seen.add(text)
    return tuple(calls)


def open_embedder(cfg: schema.Embedder, door: Any, home: Path | None = None) -> Embedder:
    """The embedder that a configuration names. Nothing is loaded or asked before the first text.

    ``home`` is where the vectors are kept; by default the runner's home.
    """
    folder = (home or paths.home()) / "vectors"
    if cfg.kind == "minilm":
        return Embedder(_MiniLMBackend(cfg), folder)
    if cfg.kind == "openai":
        return Embedder(_OpenAIBackend(cfg, door), folder)
    remedy = "set embedder=minilm or another one, or retriever=bm25 or none"
    raise ConfigurationError([Problem("embedder.kind", f"{cfg.kind} cannot embed anything", remedy)])


class _MiniLMBackend:
    """MiniLM in this process, in a thread beside the event loop."""

    _model: Any = None
    _opening = threading.Lock()

    def __init__(self, cfg: schema.Embedder) -> None:
        from runner.knowledge.minilm import IDENTITY

        self.identity = IDENTITY
        self.batch_size = cfg.batch_size

    async def embed(self, texts: Sequence[str]) -> tuple[NDArray[np.float32], list[Call]]:
        with contextlib.suppress(ImportError):  # the model says which one is missing, and what to do
            await loaded("onnxruntime", "tokenizers")
        return await asyncio.to_thread(self._embed, texts), []

    def _embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        from runner.knowledge.minilm import MAX_TOKENS, MiniLM

        with _MiniLMBackend._opening:
            # One model for the whole process: loading it again costs time and memory and changes nothing.
            if _MiniLMBackend._model is None:
                _MiniLMBackend._model = MiniLM()
            model = _MiniLMBackend._model
            before = model.truncated_count
            vectors: NDArray[np.float32] = model.embed(texts)
            cut = model.truncated_count - before
        if cut:
            message = (
                "%d of %d texts are longer than the %d tokens that MiniLM reads: the rest does not count for search"
            )
            _log.warning(message, cut, len(texts), MAX_TOKENS)
        return vectors


class _OpenAIBackend:
    """OpenAI's embeddings API, or any server that speaks it, through langchain-openai on the door's transport."""

    def __init__(self, cfg: schema.Embedder, door: Any) -> None:
        self._cfg = cfg
        self._door = door
        self._endpoint = door.endpoint(cfg.endpoint, cfg.model)
        self._client: Any = None
        self.identity = f"openai:{self._endpoint.identity}:{cfg.model}"
        self.batch_size = cfg.batch_size

    async def embed(self, texts: Sequence[str]) -> tuple[NDArray[np.float32], list[Call]]:
        await loaded("openai", "langchain_openai")
        import numpy as np
        from openai import OpenAIError

        from runner.calls import calling, collect_calls

        with calling(stage=Stage.EMBED), collect_calls() as calls:
            try:
                replies = await self._opened().aembed_documents(list(texts))
            except OpenAIError as error:
                raise self._stopped(error) from error
        vectors = np.asarray(replies, dtype=np.float32)
        if vectors.ndim != 2 or len(vectors) != len(texts):
            raise JobStopped(
                f"{self._cfg.model} at {self._endpoint.base_url} returned {len(replies)} vectors for {len(texts)} "
                "texts; it is no embedding model, or its server does not follow the OpenAI API."
            )
        return vectors, list(calls)

    def _stopped(self, error: BaseException) -> RunnerError:
        """What the door said, where it was the door: the SDK hides it behind an error of its own."""
        cause: BaseException | None = error
        while cause is not None:
            if isinstance(cause, RunnerError):
                return cause
            cause = cause.__cause__ or cause.__context__
        where = f"{self._cfg.model} at {self._endpoint.base_url}"
        return JobStopped(f"Embedding with {where} failed: {error}. Without vectors nothing can be retrieved.")

    def _opened(self) -> Any:
        if self._client is None:
            from langchain_openai import OpenAIEmbeddings
            from pydantic import SecretStr

            key = os.environ.get(self._endpoint.api_key_env or "", "") or "not-needed"
            self._client = OpenAIEmbeddings(
                model=self._cfg.model,
                base_url=self._endpoint.base_url,
                api_key=SecretStr(key),
                http_client=self._door.http_client(self._endpoint),
                http_async_client=self._door.async_http_client(self._endpoint),
                # Otherwise it fetches a tokenizer from the network, and sends token numbers that other servers refuse.
                check_embedding_ctx_length=False,
                chunk_size=self._cfg.batch_size,
                max_retries=0,
            )
        return self._client
