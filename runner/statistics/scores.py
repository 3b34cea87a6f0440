"""Brings runs into one table, configurations × questions, from which everything else here is computed.

Reads the runs one after the other and keeps a few bytes a question, so that a hundred runs of ten thousand questions
can be streamed from disk. Failed, without an answer, not applicable and not asked are states of their own, never a
number.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from runner.errors import ConfigurationError
from runner.records import Reason, Record, RunResult, Score
from runner.statistics.clusters import BY_GOLD, BY_QUESTION, cluster_of
from runner.statistics.states import FAILED, NOT_APPLICABLE, SCORED, state_of

if TYPE_CHECKING:
    import numpy

RETRIEVAL_PREFIX = "retrieval/"


@dataclass(frozen=True)
class ScoreTable:
    """One metric of several runs. Rows are runs, columns are questions sorted by cluster."""

    metric: str
    names: tuple[str, ...]
    job_keys: tuple[str, ...]
    questions: tuple[str, ...]
    starts: numpy.ndarray[Any, Any]
    """Where each cluster's columns begin."""
    values: numpy.ndarray[Any, Any]
    """The scores; 0 where ``state`` is not SCORED."""
    passed: numpy.ndarray[Any, Any]
    state: numpy.ndarray[Any, Any]
    cost: numpy.ndarray[Any, Any]
    """US dollars for retrieving and answering each question."""
    cost_known: tuple[bool, ...]
    reasons: tuple[Mapping[str, int], ...]
    labels: Mapping[float, str]
    lowest: float | None
    highest: float | None
    top_k: tuple[int | None, ...]
    retrieval: tuple[frozenset[tuple[str, str]], ...]
    """What decides each run's ranking (all but ``top_k``); empty where it is not known."""
    replies: numpy.ndarray[Any, Any]
    """For each score a number that stands for the replies it was read from; 0 where no stored reply is known."""
    unit: str
    """What a cluster is, in one word."""
    notes: tuple[str, ...]

    @property
    def clusters(self) -> int:
        return len(self.starts)

    @property
    def scored(self) -> numpy.ndarray[Any, Any]:
        mask: numpy.ndarray[Any, Any] = self.state == SCORED
        return mask

    @property
    def open(self) -> numpy.ndarray[Any, Any]:
        """Failed, or without an answer: could have been any value of the scale."""
        mask: numpy.ndarray[Any, Any] = self.state >= FAILED
        return mask

    @property
    def single_questions(self) -> bool:
        """Whether every cluster is one question, so that questions are independent."""
        return len(self.starts) == len(self.questions)


@dataclass
class _Row:
    name: str
    job_key: str
    places: list[int]
    values: list[float]
    passed: list[bool]
    state: list[int]
    replies: list[int]
    cost: list[float]
    cost_known: bool
    reasons: Counter[str]
    top_k: int | None
    retrieval: frozenset[tuple[str, str]]


class _Builder:
    def __init__(self, metric: str, cluster_by: str) -> None:
        self.metric = metric
        self.cluster_by = cluster_by
        self.place: dict[str, int] = {}
        self.clusters: list[Hashable] = []
        self.texts: list[int] = []
        self.changed: set[str] = set()
        self.labels: dict[float, str] = {}
        self.ends: tuple[float, float] | None = None
        self.found = False
        self.known: set[str] = set()
        self.fields: set[str] = set()

    def row(self, run: RunResult) -> _Row:
        name = run.name or run.job_key[:12]
        row = _Row(name, run.job_key, [], [], [], [], [], [], True, Counter(), _top_k(run), _retrieval(run))
        seen: set[str] = set()
        for record in run.records:
            identifier = record.question.id
            if identifier in seen:
                raise ConfigurationError(
                    f"run {row.name!r}: question {identifier!r} occurs twice, so its scores cannot be paired; "
                    "give every question its own id"
                )
            seen.add(identifier)
            row.places.append(self._place(record))
            self._read(record, row)
        return row

    def _place(self, record: Record) -> int:
        identifier = record.question.id
        text = hash(record.question.text)
        place = self.place.setdefault(identifier, len(self.place))
        if place == len(self.clusters):
            self.clusters.append(cluster_of(record.question, self.cluster_by))
            self.fields.update(record.question.metadata)
            self.texts.append(text)
        elif self.texts[place] != text:
            self.changed.add(identifier)
        return place

    def _read(self, record: Record, row: _Row) -> None:
        state, value, passed, reason = self._score(record)
        row.state.append(state)
        row.values.append(value)
        row.passed.append(passed)
        row.replies.append(_replies(record.scores.get(self.metric)))
        if state != SCORED:
            row.reasons[reason] += 1
        cost = _answer_cost(record)
        row.cost_known &= cost is not None
        row.cost.append(float(cost or 0))

    def _score(self, record: Record) -> tuple[int, float, bool, str]:
        score = record.scores.get(self.metric)
        if score is not None:
            self.found = True
            return self._judged(record, score)
        self.known.update(record.scores)
        self.known.update(RETRIEVAL_PREFIX + name for name in record.retrieval_metrics)
        name = self.metric.removeprefix(RETRIEVAL_PREFIX)
        if name in record.retrieval_metrics:
            value = record.retrieval_metrics[name]
            self.found, self.ends = True, (0.0, 1.0)
            return SCORED, value, value >= 1.0, ""
        if self.metric.startswith(RETRIEVAL_PREFIX):
            return NOT_APPLICABLE, 0.0, False, _unmeasured(record, name)
        return state_of(record, None), 0.0, False, Reason.INTERRUPTED.value

    def _judged(self, record: Record, score: Score) -> tuple[int, float, bool, str]:
        if self.ends is None and score.lowest is not None and score.highest is not None:
            self.ends = (score.lowest, score.highest)
        state = state_of(record, score)
        if state == SCORED and score.value is not None:
            if score.label is not None:
                self.labels.setdefault(score.value, score.label)
            return SCORED, score.value, bool(score.passed), ""
        return state, 0.0, False, score.reason

    def table(self, rows: Sequence[_Row]) -> ScoreTable:
        import numpy

        if not self.found:
            known = ", ".join(sorted(self.known)) or "none"
            raise ConfigurationError(f"metric {self.metric!r}: no run has it; the runs have: {known}")
        if self.cluster_by not in (BY_GOLD, BY_QUESTION) and self.cluster_by not in self.fields:
            known = ", ".join([BY_GOLD, BY_QUESTION, *sorted(self.fields)])
            raise ConfigurationError(f"cluster by {self.cluster_by!r}: no question has this field; there are: {known}")
        codes: dict[Hashable, int] = {}
        cluster = numpy.array([codes.setdefault(one, len(codes)) for one in self.clusters], dtype=numpy.int64)
        order = numpy.argsort(cluster, kind="stable")
        column = numpy.empty_like(order)
        column[order] = numpy.arange(len(order))
        shape = (len(rows), len(order))
        values, cost = numpy.zeros(shape), numpy.zeros(shape)
        passed, state = numpy.zeros(shape, dtype=bool), numpy.zeros(shape, dtype=numpy.int8)
        replies = numpy.zeros(shape, dtype=numpy.int64)
        for k, row in enumerate(rows):
            at = column[row.places]
            values[k, at], passed[k, at], state[k, at], cost[k, at] = row.values, row.passed, row.state, row.cost
            replies[k, at] = row.replies
        ids = list(self.place)
        lowest, highest = self.ends if self.ends else (None, None)
        return ScoreTable(
            metric=self.metric,
            names=_distinct(rows),
            job_keys=tuple(row.job_key for row in rows),
            questions=tuple(ids[k] for k in order),
            starts=numpy.flatnonzero(numpy.diff(cluster[order], prepend=-1)),
            values=values,
            passed=passed,
            state=state,
            cost=cost,
            cost_known=tuple(row.cost_known for row in rows),
            reasons=tuple(dict(row.reasons.most_common()) for row in rows),
            labels=self.labels,
            lowest=lowest,
            highest=highest,
            top_k=tuple(row.top_k for row in rows),
            retrieval=tuple(row.retrieval for row in rows),
            replies=replies,
            unit={BY_GOLD: "document"}.get(self.cluster_by, self.cluster_by),
            notes=self._notes(),
        )

    def _notes(self) -> tuple[str, ...]:
        if not self.changed:
            return ()
        first = sorted(self.changed)[0]
        return (
            f"{len(self.changed)} questions have another text in another run under the same id (such as {first!r}): "
            "the runs did not answer the same question set",
        )


def score_table(runs: Iterable[RunResult], metric: str, cluster_by: str = BY_GOLD) -> ScoreTable:
    """One metric of the runs: a judge's name, or ``retrieval/hit_rate_at_3`` and the like.

    Raises
    ------
    ConfigurationError
        No run has the metric, or a run has a question id twice.
    """
    builder = _Builder(metric, cluster_by)
    return builder.table([builder.row(run) for run in runs])


def _replies(score: Score | None) -> int:
    """The calls that a score was read from, as a number: a key holds model, prompt, answer and rubric."""
    if score is None:
        return 0
    read = tuple((tuple(call.key for call in verdict.calls), verdict.raw) for verdict in score.verdicts)
    known = bool(read) and all(keys and all(keys) for keys, _ in read)
    return hash((score.rubric_hash, read)) if known else 0


def _unmeasured(record: Record, metric: str) -> str:
    """Why a question has no value of a retrieval metric."""
    if not record.question.gold:
        return "no_gold"
    over_chunks = metric.startswith("chunk_")
    return "evidence_in_no_chunk" if over_chunks and record.relevant_chunks == 0 else "not_measured"


def _answer_cost(record: Record) -> Decimal | None:
    total = Decimal(0)
    for call in (*record.retrieval_calls, *record.answer.calls):
        if call.total_cost is None:
            return None
        total += call.total_cost
    return total


def _top_k(run: RunResult) -> int | None:
    chosen = run.choices.get("retriever.top_k")
    return int(chosen) if isinstance(chosen, int | str) and str(chosen).isdigit() else None


def _retrieval(run: RunResult) -> frozenset[tuple[str, str]]:
    """Knowledge base, embedder and retriever as they were chosen, but for how many chunks were taken."""
    return frozenset(
        (name, str(value))
        for name, value in run.choices.items()
        if name.startswith(("knowledge_base", "embedder", "retriever", "questions")) and name != "retriever.top_k"
    )


def _distinct(rows: Sequence[_Row]) -> tuple[str, ...]:
    """Names that tell the rows apart: where two are equal, the job key helps, and then the place."""
    names = [row.name for row in rows]
    twice = {name for name, count in Counter(names).items() if count > 1}
    keys = {row.name: {one.job_key for one in rows if one.name == row.name} for row in rows}
    named = [
        f"{row.name} [{row.job_key[:8]}]" if row.name in twice and len(keys[row.name]) > 1 else row.name for row in rows
    ]
    again = {name for name, count in Counter(named).items() if count > 1}
    return tuple(f"{name} #{k + 1}" if name in again else name for k, name in enumerate(named))
