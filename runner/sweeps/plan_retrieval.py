"""What will be retrieved for each question of a job, as far as it is known without a call; what embedding costs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from runner.config import Job
from runner.config.schema import Config
from runner.errors import NotInLedger
from runner.evaluation import Pipeline, QuestionRetriever
from runner.knowledge import Embedder, is_built, open_partial_retriever
from runner.records import Chunk, Question, Retrieved, Stage
from runner.sweeps.estimates import NOTHING, CallEstimate, Estimator
from runner.sweeps.parts import FREE_EMBEDDERS, Data, Parts, identity_of


@dataclass(frozen=True, slots=True)
class Expected:
    """What will be retrieved for one question."""

    retrieved: tuple[Retrieved, ...] | None
    """``None``: nobody knows before the question is embedded."""
    certain: bool
    """False: chunks that have no vector yet may come between."""


@dataclass(frozen=True, slots=True)
class RetrievalPlan:
    """The retrieval of one job."""

    pipeline: Pipeline
    expected: tuple[Expected, ...]
    """In the order of the questions."""
    embedding: tuple[CallEstimate, ...]
    """The calls that make vectors, those that made the stored ones included: one for each batch."""


class StandIns:
    """Stand for what will be retrieved where nobody knows: the longest chunks, and the shortest."""

    def __init__(self, config: Config, chunks: Sequence[Chunk]) -> None:
        by_length = sorted(chunks, key=lambda chunk: -len(chunk.text))
        top_k = config.retriever.top_k
        self.identity = identity_of(config.knowledge_base, config.embedder, config.retriever)
        """Of the retriever: two of them need not find the same."""
        self.longest = _ranked(by_length[:top_k])
        # Below a threshold nothing may be left.
        self.shortest = () if config.retriever.score_threshold is not None else _ranked(by_length[::-1][:top_k])
        self._chunks = by_length
        self._longest_of = {chunk.document_id: chunk for chunk in reversed(by_length)}
        self._top_k = top_k

    def with_gold(self, question: Question) -> tuple[Retrieved, ...]:
        """The gold documents' longest chunks, one of each, filled up with the longest of all."""
        first = [self._longest_of[name] for name in dict.fromkeys(question.gold) if name in self._longest_of]
        rest = (chunk for chunk in self._chunks if all(chunk is not each for each in first))
        return _ranked([*first, *islice(rest, max(0, self._top_k - len(first)))])


def _ranked(chunks: Sequence[Chunk]) -> tuple[Retrieved, ...]:
    return tuple(Retrieved(chunk, rank, 0.0) for rank, chunk in enumerate(chunks, 1))


NOBODY_KNOWS = Expected(None, False)


async def plan_retrieval(job: Job, parts: Parts, data: Data, estimator: Estimator, home: Path) -> RetrievalPlan:
    """Retrieves where that needs no call: a question waits for its own vector, the index for those of all chunks."""
    config = job.config
    questions = data.questions(config)
    embedder: Embedder | None = parts.embedder(config)
    if embedder is None or config.embedder.kind in FREE_EMBEDDERS:
        pipeline = await parts.pipeline(job)
        found = await pipeline.retriever.retrieve(questions, pipeline.top_k)
        return RetrievalPlan(pipeline, tuple(Expected(tuple(each.retrieved), True) for each in found), ())
    chunks = data.chunks(config)
    known = embedder.known([question.text for question in questions])
    made = [key for keys in known.values() for key in keys]
    calls = _Embedding(job, embedder, estimator)
    calls.add_missing([question.text for question in questions], known)
    asked = [question for question in questions if question.text in known]
    whole = await _with_index(job, parts, embedder, chunks, home)
    pipeline = whole or parts.pipeline_without_index(job)
    retriever: QuestionRetriever | None = None
    if whole is not None:
        retriever = whole.retriever
        made += [call.key for call in retriever.index_calls]
    else:
        texts = [chunk.text for chunk in chunks]
        known_chunks = embedder.known(texts)
        calls.add_missing(texts, known_chunks)
        made += [key for keys in known_chunks.values() for key in keys]
        if known_chunks and asked:
            retriever = await open_partial_retriever(config, chunks, embedder)
    calls.add_held(made)
    by_id: dict[str, Expected] = {}
    if retriever is not None and asked:
        for question, retrieval in zip(asked, await retriever.retrieve(asked, pipeline.top_k), strict=True):
            by_id[question.id] = Expected(tuple(retrieval.retrieved), whole is not None)
    return RetrievalPlan(
        pipeline,
        tuple(by_id.get(question.id, NOBODY_KNOWS) for question in questions),
        tuple(calls.found),
    )


async def _with_index(
    job: Job, parts: Parts, embedder: Embedder, chunks: Sequence[Chunk], home: Path
) -> Pipeline | None:
    """The job's parts with its index; ``None`` where chunks would have to be embedded for it."""
    # To try costs seconds of imports where it is known that it cannot succeed.
    server = job.config.retriever.server
    if not server and not is_built(home, chunks, embedder) and embedder.missing([chunk.text for chunk in chunks]):
        return None
    try:
        return await parts.pipeline(job)
    except NotInLedger:
        return None


class _Embedding:
    """The embedding calls of one job."""

    def __init__(self, job: Job, embedder: Embedder, estimator: Estimator) -> None:
        self._settings = job.config.embedder
        self._embedder = embedder
        self._estimator = estimator
        self.found: list[CallEstimate] = []

    def add_held(self, keys: Iterable[str]) -> None:
        """The calls with these keys, each once: texts that were embedded together share theirs."""
        settings = self._settings
        self.found.extend(
            CallEstimate(key, Stage.EMBED, settings.model, settings.endpoint.provider, True, NOTHING, NOTHING, NOTHING)
            for key in dict.fromkeys(keys)
        )

    def add_missing(self, texts: Sequence[str], known: Iterable[str]) -> None:
        """Batches of the texts that have no vector, as the embedder will make them."""
        there = set(known)
        missing = [text for text in dict.fromkeys(texts) if text not in there]
        size = self._embedder.batch_size
        for start in range(0, len(missing), size):
            batch = tuple(missing[start : start + size])
            self.found.append(
                self._estimator.sized(
                    Stage.EMBED,
                    self._settings.endpoint.provider,
                    self._settings.model,
                    sum(len(text.encode("utf-8", "surrogatepass")) for text in batch),
                    0,
                    key=f"embed {self._embedder.identity} {hash(batch)}",
                    held=False,
                )
            )
