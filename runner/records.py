"""What travels between the rooms: frozen, typed dataclasses, each with a status and a reason.

Nothing here stands for failure by being ``None``, ``NaN``, ``0`` or an empty string: look at ``status``.
Money is ``Decimal`` US dollars; ``None`` for a cost means "price unknown", never free.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from enum import StrEnum
from typing import Any


class AnswerStatus(StrEnum):
    ANSWERED = "answered"
    FAILED = "failed"


class VerdictStatus(StrEnum):
    SCORED = "scored"
    NOT_APPLICABLE = "not_applicable"
    FAILED = "failed"


class Reason(StrEnum):
    """Why an answer or a verdict failed or does not apply. An HTTP status is ``http_<code>`` (see ``http_reason``)."""

    REFUSED = "refused"
    TRUNCATED = "truncated"
    CONTENT_FILTER = "content_filter"
    MALFORMED = "malformed"
    OFF_SCALE = "off_scale"
    EMPTY = "empty"
    TIMEOUT = "timeout"
    CONNECTION = "connection"
    BUDGET = "budget"
    INTERRUPTED = "interrupted"
    NO_CONTEXT = "no_context"
    NO_REFERENCE = "no_reference"
    NO_ANSWER = "no_answer"
    NO_METADATA = "no_metadata"
    ABSTAINED = "abstained"
    """The answer only says that there is none, and this judge looks at statements."""
    APPLICATION = "application"
    """The user's own application raised an error or ended with an exit code other than 0."""


def http_reason(status: int) -> str:
    """The reason of a call that ended with this HTTP status, such as ``http_500``."""
    return f"http_{status}"


class Stage(StrEnum):
    """Which part of a run makes a call; the keys of ``usage`` in ``stats.json``."""

    EMBED = "embed"
    GENERATE = "generate"
    JUDGE = "judge"
    OTHER = "other"


@dataclass(frozen=True, slots=True)
class Document:
    """One document of the knowledge base."""

    id: str
    text: str
    title: str = ""
    source: str = ""
    """Where it came from, as the user would look for it (file name, file and row)."""
    metadata: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Chunk:
    """A part of a document, as it is embedded and put into the prompt."""

    id: str
    """Hash of document id, position and text."""
    document_id: str
    position: int
    """0-based place among the chunks of its document."""
    text: str
    source: str = ""
    metadata: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class RecordedAnswer:
    """An answer that exists already, from a file or a production trace."""

    text: str
    contexts: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Question:
    """One question of a question set."""

    id: str
    text: str
    reference: str | None = None
    """The reference answer; ``None`` where the set has none."""
    gold: tuple[str, ...] = ()
    """Ids of the documents that hold the answer; empty for a question that cannot be answered or is not labelled."""
    answerable: bool | None = None
    """Whether the knowledge base holds the answer; ``None`` where the set does not say."""
    recorded: RecordedAnswer | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)
    evidence: tuple[str, ...] = ()
    """Passages of the gold documents that hold the answer; empty where the set quotes none."""


@dataclass(frozen=True, slots=True)
class Retrieved:
    """One chunk that the retriever returned for a question."""

    chunk: Chunk
    rank: int
    """1 is best."""
    score: float
    """Higher is better; cosine similarity for the dense retriever."""
    gold: bool = False
    """Whether the chunk's document is among the question's gold documents."""


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens as the provider reported them."""

    input_tokens: int = 0
    """All input tokens, the cached ones included."""
    output_tokens: int = 0
    """All output tokens, the reasoning ones included."""
    cached_input_tokens: int = 0
    cache_write_tokens: int = 0
    reasoning_tokens: int = 0

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            self.input_tokens + other.input_tokens,
            self.output_tokens + other.output_tokens,
            self.cached_input_tokens + other.cached_input_tokens,
            self.cache_write_tokens + other.cache_write_tokens,
            self.reasoning_tokens + other.reasoning_tokens,
        )


@dataclass(frozen=True, slots=True)
class Call:
    """What one model call came to: all its attempts together, whether made now or read from the ledger."""

    key: str
    """The ledger key."""
    stage: str
    model: str
    """The model that really answered (``response.model``), or the one asked for where no reply came."""
    provider: str
    status: str
    """``ok`` or a ``Reason``."""
    from_ledger: bool
    """True where nothing was paid now."""
    usage: Usage | None
    """``None`` where no reply with a usage came."""
    input_cost: Decimal | None
    output_cost: Decimal | None
    total_cost: Decimal | None
    """US dollars as if nothing had been cached, all attempts; ``None``: price unknown."""
    new_cost: Decimal | None
    """US dollars paid now: 0 where ``from_ledger``; ``None``: price unknown."""
    latency_s: float
    """Seconds of the first real call, also when replayed."""
    attempts: int
    started_at: str
    """UTC, ISO 8601, of the first real call, also when replayed."""
    requested: Mapping[str, Any] = field(default_factory=dict)
    """What the provider refused and was left out, such as ``{"temperature": "refused"}``."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What the generator said."""

    status: AnswerStatus
    text: str = ""
    reason: str = ""
    """A ``Reason`` where failed."""
    detail: str = ""
    """The reason in a sentence."""
    abstained: bool = False
    """The answer says that the context does not hold it (decided by a stated rule, see ``generation``)."""
    messages: tuple[Mapping[str, str], ...] = ()
    """The prompt as sent; empty where no model was asked."""
    contexts: tuple[str, ...] = ()
    """The texts the generator was given (or returned itself, for a user's own application)."""
    calls: tuple[Call, ...] = ()


@dataclass(frozen=True, slots=True)
class Verdict:
    """What one judge said once about one answer."""

    status: VerdictStatus
    reason: str = ""
    detail: str = ""
    score: float | None = None
    """Set if and only if scored."""
    label: str | None = None
    reasoning: str = ""
    raw: str = ""
    """The reply as it came."""
    repeat: int = 0
    calls: tuple[Call, ...] = ()


@dataclass(frozen=True, slots=True)
class Score:
    """The number that one judge's verdicts on one answer come down to."""

    judge: str
    rubric: str
    """``id@version``."""
    rubric_hash: str
    status: VerdictStatus
    reason: str = ""
    detail: str = ""
    value: float | None = None
    """Set if and only if scored."""
    label: str | None = None
    """For label scales: the text beside the number."""
    passed: bool | None = None
    """From value and ``pass_at``; set if and only if scored."""
    spread: float | None = None
    """Standard deviation over repeats; ``None`` without repeats."""
    rationale: str = ""
    model: str = ""
    """The judge model that really answered, or the kind for a judge without a model."""
    verdicts: tuple[Verdict, ...] = ()
    lowest: float | None = None
    """Lower end of the scale, also where nothing was scored (worst-case bounds need it); ``None``: not known."""
    highest: float | None = None
    """Upper end of the scale, in the same way."""
    pass_at: float | None = None
    """The pass mark that ``passed`` was decided by; ``None`` where nothing was scored or the mark is not one number."""

    @property
    def calls(self) -> tuple[Call, ...]:
        return tuple(call for verdict in self.verdicts for call in verdict.calls)


@dataclass(frozen=True, slots=True)
class Record:
    """Everything about one question in one run."""

    question: Question
    retrieved: tuple[Retrieved, ...]
    answer: Answer
    scores: Mapping[str, Score]
    """By judge name, in the order of the configuration; panels come last."""
    retrieval_calls: tuple[Call, ...] = ()
    """This question's share of the embedding calls."""
    retrieval_metrics: Mapping[str, float] = field(default_factory=dict)
    """By metric name, such as ``hit_rate_at_3``; empty for questions without gold documents."""
    finished_at: str = ""
    blame: str = ""
    """Where the fault lies, if there is one (a ``judging.Blame``); empty where it was not looked for."""
    abstention: str = ""
    """A ``judging.Abstention``: right_refusal, wrong_refusal, answered, answered_unanswerable; empty: not known."""
    relevant_chunks: int | None = None
    """How many chunks of the knowledge base are relevant to the question; ``None``: not counted."""

    @property
    def calls(self) -> tuple[Call, ...]:
        judged = (call for score in self.scores.values() for call in score.calls)
        return (*self.retrieval_calls, *self.answer.calls, *judged)


def total_money(amounts: Iterable[Decimal | None]) -> Decimal | None:
    """The exact sum; unknown (``None``) if one of the amounts is."""
    total = Decimal(0)
    for amount in amounts:
        if amount is None:
            return None
        total += amount
    return total


@dataclass(frozen=True, slots=True)
class ControlRow:
    """How one judge did on one kind of control: answers whose right verdict is known beforehand."""

    judge: str
    control: str
    """A ``judging.Control`` kind, such as ``other_answer``."""
    expected: str
    """What a judge that can be trusted does, in words."""
    cases: int
    as_expected: int
    failed: int = 0
    """Cases without a verdict because a call or its reply failed; they are not as expected."""
    mean: float | None = None
    """Mean score of the scored cases; ``None`` where none was scored."""
    passed: bool = True
    """Whether enough cases came out as expected."""
    example: str = ""
    """The first case that did not, in words."""


class RunStatus(StrEnum):
    COMPLETE = "complete"
    INCOMPLETE = "incomplete"
    """Some answer or verdict failed; the rest is kept."""
    FAILED = "failed"
    """Nothing was answered, or a judge scored none of the questions, or the job could not go on."""
    INTERRUPTED = "interrupted"
    BUDGET = "budget"


@dataclass(frozen=True, slots=True)
class RunResult:
    """One configuration over all its questions."""

    job_key: str
    name: str
    """What differs from the other jobs of the sweep, such as ``top_k=3``."""
    status: RunStatus
    reason: str
    """One sentence where the status is not complete."""
    choices: Mapping[str, Any]
    """The resolved choices, dotted, as they become MLflow params."""
    records: tuple[Record, ...]
    index_calls: tuple[Call, ...] = ()
    """Embedding calls for the chunks of the knowledge base."""
    started_at: str = ""
    finished_at: str = ""
    overrides: tuple[str, ...] = ()
    resumed: int = 0
    """How many of the records came from an earlier launch's journal."""
    controls: tuple[ControlRow, ...] = ()
    """The judges' controls; empty where they were not asked for."""
    control_calls: tuple[Call, ...] = ()
    """The calls that the controls made; not among the records' calls."""
    unfinished_calls: tuple[Call, ...] = ()
    """Calls that were made for questions which did not get to their end: paid, and in no record."""

    @property
    def calls(self) -> tuple[Call, ...]:
        """The calls that count towards tokens and money, each once: the one rule that every total follows.

        A call is what its ledger key names. Where a key occurs several times in the run (two questions that ask the
        same, a judge that makes an equal request), it was paid once and counts once; of its occurrences the one paid
        now is kept, else the first. Embedding calls carry many texts, and each record holds its own share of them:
        all shares stay, as their tokens and money add up (count them by key). A call without a key stands for itself.
        """
        kept: list[Call] = []
        place: dict[str, int] = {}
        judged = (call for record in self.records for call in record.calls)
        for call in (*self.index_calls, *judged, *self.control_calls, *self.unfinished_calls):
            if not call.key or call.stage == Stage.EMBED:
                kept.append(call)
            elif call.key not in place:
                place[call.key] = len(kept)
                kept.append(call)
            elif kept[place[call.key]].from_ledger and not call.from_ledger:
                kept[place[call.key]] = call
        return tuple(kept)


@dataclass(frozen=True, slots=True)
class SweepResult:
    """The runs that one launch made."""

    id: str
    name: str
    runs: tuple[RunResult, ...]
    status: RunStatus
    started_at: str = ""
    finished_at: str = ""
    duplicates: Mapping[str, str] = field(default_factory=dict)
    """Name of a dropped duplicate job → name of the job that stands for it."""


@dataclass(frozen=True, slots=True)
class JudgeSummary:
    """One judge over all questions of a run, with honest denominators."""

    judge: str
    rubric: str
    asked: int
    scored: int
    not_applicable: int
    failed: int
    reasons: Mapping[str, int] = field(default_factory=dict)
    """How often each reason stands behind a failed or not applicable score."""
    mean: float | None = None
    """``None`` where nothing was scored."""
    standard_error: float | None = None
    """Of the mean, clustered by gold document; ``None`` with fewer than two clusters."""
    pass_rate: float | None = None
    worst_case: float | None = None
    """The mean if every failed score or missing answer were the lowest of the scale; ``None`` where nothing failed."""
    best_case: float | None = None
    distribution: Mapping[str, int] = field(default_factory=dict)
    """Score (as shown) or label → count, lowest first."""
    no_answer: int = 0
    """Those among the failed where there was no answer to score."""
    pass_worst_case: float | None = None
    """The pass rate if no failed score passed; ``None`` where nothing failed."""
    pass_best_case: float | None = None


@dataclass(frozen=True, slots=True)
class StageSpend:
    """Calls, tokens and money of one model in one stage."""

    stage: str
    model: str
    calls_made: int
    calls_from_ledger: int
    usage: Usage
    input_cost: Decimal | None
    output_cost: Decimal | None
    total_cost: Decimal | None
    """As if nothing had been cached; ``None``: price unknown."""
    new_cost: Decimal | None


@dataclass(frozen=True, slots=True)
class RunSummary:
    """What one run comes down to: the numbers of the table, of MLflow and of ``stats.json``."""

    asked: int
    answered: int
    failed_answers: int
    abstained: int
    judges: Mapping[str, JudgeSummary]
    retrieval: Mapping[str, float]
    """Mean of each retrieval metric over ``retrieval_questions``."""
    retrieval_questions: int
    """How many questions have gold documents."""
    spend: tuple[StageSpend, ...]
    total_cost: Decimal | None
    new_cost: Decimal | None
    unknown_prices: tuple[str, ...]
    """Models whose price is unknown; where there are any the costs are ``None``."""
    answer_latency_p50_s: float | None
    metrics: Mapping[str, float] = field(default_factory=dict)
    """MLflow metric name → value (``grounding/mean``, ``cost/new_usd``, ...); undefined ones are left out."""
    retrieval_chunk_questions: int = 0
    """How many questions the retrieval metrics over chunks rest on."""
    evidence_in_no_chunk: int = 0
    """How many questions have gold documents, but quote evidence that no chunk holds."""
