"""The one schema of the configuration: dataclasses that Hydra composes into and that name every key.

Hydra refuses unknown keys and wrong types from these while composing; ``validation`` checks the ranges and
choices in the annotations afterwards. Fields with ``II(...)`` take what they do not say from elsewhere.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated, Any

from annotated_types import Ge, Gt, Le
from omegaconf import II, MISSING
from pydantic import StringConstraints

Name = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.\-]*$", max_length=100)]
_DAY_S = 86_400
"""A day in seconds. Operating systems take no timeout of any length."""


def _choice(*words: str) -> StringConstraints:
    return StringConstraints(pattern=rf"^({'|'.join(words)})$")


@dataclass
class Endpoint:
    """Where a model is served. The API key is never here: only the name of the environment variable that holds it."""

    provider: Annotated[str, _choice("openai", "openai_compatible", "embedded")] = "openai"
    base_url: str | None = None
    """None: the OpenAI SDK's own default, so that OPENAI_BASE_URL is honoured."""
    api_key_env: str | None = "OPENAI_API_KEY"
    """None: the server wants no key."""
    api: Annotated[str, _choice("chat", "responses")] = "chat"
    requests_per_minute: Annotated[int, Ge(1)] | None = None
    tokens_per_minute: Annotated[int, Ge(1)] | None = None


@dataclass
class DocumentFields:
    id: str | None = "id"
    text: str = "text"
    title: str | None = "title"
    metadata: list[str] = field(default_factory=list)


@dataclass
class Chunking:
    kind: Annotated[str, _choice("document", "recursive", "tokens", "heading", "sentences")] = "document"
    size: Annotated[int, Ge(1)] = 1000
    """Characters, or tokens for kind tokens, or sentences for kind sentences."""
    overlap: Annotated[int, Ge(0)] = 0


@dataclass
class KnowledgeBase:
    name: str = MISSING
    path: str | None = None
    """A file, a folder or a glob; looked for in the working directory, beside the user's conf, then in experiments."""
    format: Annotated[
        str, _choice("auto", "markdown", "text", "html", "pdf", "docx", "csv", "json", "jsonl", "inline", "none")
    ] = "auto"
    """none: there is no knowledge base (for retriever none)."""
    fields: DocumentFields = field(default_factory=DocumentFields)
    documents: list[dict[str, Any]] = field(default_factory=list)
    """Inline documents (format inline)."""
    chunking: Chunking = field(default_factory=Chunking)


@dataclass
class QuestionFields:
    id: str | None = "id"
    text: str = "question"
    reference: str | None = "reference"
    gold: str | None = "gold"
    evidence: str | None = "evidence"
    """Passages of the gold documents that hold the answer, a text or a list; decides which chunks are relevant."""
    answerable: str | None = "answerable"
    answer: str | None = None
    contexts: str | None = None
    metadata: list[str] = field(default_factory=list)
    time: str | None = None
    """When the question was asked: ISO 8601, or seconds or milliseconds since 1970; needed for since and until."""


@dataclass
class Questions:
    name: str = MISSING
    path: str = MISSING
    format: Annotated[str, _choice("auto", "csv", "json", "jsonl")] = "auto"
    fields: QuestionFields = field(default_factory=QuestionFields)
    limit: Annotated[int, Ge(1)] | None = None
    """The first N questions."""
    sample: Annotated[int, Ge(1)] | None = None
    """N questions drawn with `seed`."""
    strata: str | None = None
    """Metadata field over which the sample is spread proportionally."""
    fraction: Annotated[float, Gt(0), Le(1)] | None = None
    """Instead of sample: this share of the questions, drawn with `seed`; at least one."""
    since: str | None = None
    """Only questions asked at this moment or later (`fields.time`), such as 2026-11-01 or 2026-11-01T08:00+01:00;
    without a zone it is UTC."""
    until: str | None = None
    """Only questions asked before this moment."""


@dataclass
class Embedder:
    kind: Annotated[str, _choice("minilm", "openai", "none")] = "minilm"
    model: str = "all-MiniLM-L6-v2"
    endpoint: Endpoint = field(default_factory=Endpoint)
    batch_size: Annotated[int, Ge(1), Le(2048)] = 64


@dataclass
class Retriever:
    kind: Annotated[str, _choice("dense", "bm25", "hybrid", "none")] = "dense"
    top_k: Annotated[int, Ge(1), Le(1000)] = 3
    fusion_constant: Annotated[int, Ge(1)] = 60
    """The constant k of reciprocal rank fusion: score = sum of 1 / (k + rank)."""
    mmr: bool = False
    mmr_lambda: Annotated[float, Ge(0), Le(1)] = 0.5
    score_threshold: float | None = None
    filter: dict[str, Any] = field(default_factory=dict)
    """Metadata key → value that a chunk must have."""
    server: str | None = None
    """Address of a Chroma server that a team shares, such as http://chroma.example:8000; None: a folder in the home."""


@dataclass
class Prompt:
    """The generator's prompt. ``{context}`` and ``{question}`` in ``user`` are replaced, nothing else."""

    id: Name = MISSING
    version: Annotated[int, Ge(1)] = 1
    system: str = ""
    user: str = "Context:\n{context}\n\nQuestion: {question}"


@dataclass
class Generator:
    kind: Annotated[str, _choice("model", "extractive", "recorded", "none", "callable", "http", "command")] = "model"
    model: str = "gpt-4o-mini"
    endpoint: Endpoint = field(default_factory=Endpoint)
    temperature: Annotated[float, Ge(0), Le(2)] | None = 0.0
    """None: not sent."""
    max_tokens: Annotated[int, Ge(1)] = 400
    target: str = ""
    """For kind callable: module:function, a module of yours in the working directory or an installed one."""
    url: str = ""
    """For kind http: where the question is posted."""
    request: dict[str, Any] = field(default_factory=dict)
    """For kind http: the JSON body. {question} and {id} are put in where texts hold them; a text that is nothing but
    {settings} or {contexts} becomes that object or list."""
    headers_env: dict[str, str] = field(default_factory=dict)
    """For kind http: header → name of the environment variable that holds its whole value."""
    answer_path: str = "answer"
    """For kind http: where the answer stands in the reply, such as data.answer; empty: the whole reply is it."""
    contexts_path: str | None = None
    """For kind http: where the passages stand, such as docs.*.text; None: the application returns none."""
    usage_path: str | None = None
    """For kind http: where an object stands with model, input_tokens and output_tokens, or cost_usd."""
    command: list[str] = field(default_factory=list)
    """For kind command: program and arguments, not a shell line. JSON on its standard input and output."""
    settings: dict[str, Any] = field(default_factory=dict)
    """For kinds callable, http and command: handed to the application as it is; sweep over what stands here."""
    timeout_s: Annotated[float, Gt(0), Le(_DAY_S)] | None = None
    """For kinds callable, http and command: seconds for one answer; None: calls.attempt_timeout_s."""


APPLICATIONS = ("callable", "http", "command")
"""The kinds of generator that are the user's own application."""


@dataclass
class JudgeDefaults:
    kind: Annotated[str, _choice("model", "evidence")] = "model"
    model: str = "gpt-4o"
    endpoint: Endpoint = field(default_factory=Endpoint)
    temperature: Annotated[float, Ge(0), Le(2)] | None = 0.0
    max_tokens: Annotated[int, Ge(1)] = 600
    scoring: Annotated[str, _choice("verdict", "probability", "sentences")] = "verdict"
    repeats: Annotated[int, Ge(1), Le(100)] = 1
    combine: Annotated[str, _choice("mean", "median", "majority")] = "mean"
    """How repeats become one score."""


@dataclass
class Scale:
    kind: Annotated[str, _choice("ordinal", "labels", "boolean", "continuous")] = "ordinal"
    min: float | None = None
    max: float | None = None
    pass_at: float | None = None
    anchors: dict[int, str] = field(default_factory=dict)
    values: dict[str, float] = field(default_factory=dict)
    """For labels: label → number, best first."""


@dataclass
class Rubric:
    id: Name = MISSING
    version: Annotated[int, Ge(1)] = MISSING
    description: str = ""
    inputs: list[str] = field(default_factory=lambda: ["question", "answer"])
    """Any of question, context, answer, reference, metadata.FIELD: the judge sees nothing else."""
    scale: Scale = field(default_factory=Scale)
    instructions: str = ""
    instructions_file: str | None = None


def _judge_endpoint() -> Endpoint:
    """The endpoint of a judge that says nothing else: field by field, so that one field of one judge can be set.

    With ``endpoint: ${judge_defaults.endpoint}`` an override of ``judges.NAME.endpoint.base_url`` would silently
    change ``judge_defaults`` and with it every judge.
    """
    return Endpoint(**{key: II(f"judge_defaults.endpoint.{key}") for key in Endpoint.__dataclass_fields__})


@dataclass
class Judge:
    rubric: Rubric = field(default_factory=Rubric)
    kind: Annotated[str, _choice("model", "evidence")] = II("judge_defaults.kind")
    model: str = II("judge_defaults.model")
    endpoint: Endpoint = field(default_factory=_judge_endpoint)
    temperature: Annotated[float, Ge(0), Le(2)] | None = II("judge_defaults.temperature")
    max_tokens: Annotated[int, Ge(1)] = II("judge_defaults.max_tokens")
    scoring: Annotated[str, _choice("verdict", "probability", "sentences")] = II("judge_defaults.scoring")
    repeats: Annotated[int, Ge(1), Le(100)] = II("judge_defaults.repeats")
    combine: Annotated[str, _choice("mean", "median", "majority")] = II("judge_defaults.combine")


@dataclass
class Panel:
    judges: list[str] = MISSING
    combine: Annotated[str, _choice("mean", "median", "majority", "min")] = "mean"


@dataclass
class Capability:
    """What one model takes and refuses; any of temperature, top_p, seed, logprobs, schema, max_tokens,
    max_completion_tokens."""

    model: str = MISSING
    refuses: list[str] = field(default_factory=list)
    """Left out of its requests; of the two names of the output limit the other one is used."""
    takes: list[str] = field(default_factory=list)
    """Sent although a table or an earlier refusal says otherwise."""


CAPABILITIES = ("temperature", "top_p", "seed", "logprobs", "schema", "max_tokens", "max_completion_tokens")


@dataclass
class Calls:
    concurrency: Annotated[int, Ge(1), Le(1000)] = 16
    """Calls in flight per (base URL, model) over the whole process."""
    attempt_timeout_s: Annotated[float, Gt(0), Le(_DAY_S)] = 60.0
    question_deadline_s: Annotated[float, Gt(0), Le(7 * _DAY_S)] = 300.0
    retries: Annotated[int, Ge(0), Le(20)] = 4
    """Further attempts after the first, for 429, 5xx, timeouts and cut connections."""
    retry_failed: bool = False
    ledger: str | None = None
    """SQLAlchemy URL; None: ledger.db in the home."""
    capabilities: list[Capability] = field(default_factory=list)
    """What models take and refuse, where the runner does not find it out by itself (`doctor --probe` does)."""


@dataclass
class Budget:
    max_usd: Annotated[float, Ge(0)] | None = None
    """Cap over the whole sweep in US dollars; None: no cap; 0: no paid call."""


@dataclass
class Price:
    model: str = MISSING
    input: float = MISSING
    """US dollars per `per` tokens."""
    cached_input: float | None = None
    output: float = 0.0
    per: Annotated[int, Ge(1)] = 1_000_000


@dataclass
class Tracking:
    kind: Annotated[str, _choice("mlflow", "none")] = "mlflow"
    uri: str | None = None
    """None: SQLite in the home."""
    experiment: str = II("name")
    traces: Annotated[str, _choice("all", "failed", "sample", "none")] = "all"
    tags: dict[str, str] = field(default_factory=dict)
    """Tags of your own on the runs of a launch, such as branch: main; a later gate finds them as tag:branch:main."""


@dataclass
class Controls:
    enabled: bool = False
    sample: Annotated[int, Ge(1)] = 8


@dataclass
class Threshold:
    """One number of a run that must not be too low or too high."""

    metric: str = MISSING
    """As MLflow shows it: grounding/mean, grounding/pass_rate, retrieval/hit_rate_at_3, cost/new_usd, calls/made; and
    latency/answer_p95_s with any percentile."""
    at_least: float | None = None
    at_most: float | None = None


@dataclass
class GateBaseline:
    """A stored run that no judge may put this one below."""

    run: str | None = None
    """A job key, a run's name, an MLflow run id or tag:NAME:VALUE, as `compare` takes it; None: no comparison."""
    judges: list[str] = field(default_factory=list)
    """Empty: every judge that scores."""
    margin: Annotated[float, Ge(0)] = 0.1
    """A mean lower by up to this does not matter; in units of the judge's scale."""
    correction: Annotated[str, _choice("holm", "none")] = "holm"
    """Over all judges and jobs, for calling one worse."""


@dataclass
class Gate:
    """What a launch must reach to end with exit code 0 instead of 4."""

    thresholds: list[Threshold] = field(default_factory=list)
    minimum_scored_share: Annotated[float, Ge(0), Le(1)] | None = None
    """Of the answers each judge can judge, how many it must have scored."""
    baseline: GateBaseline = field(default_factory=GateBaseline)
    undecided: Annotated[str, _choice("fail", "pass")] = "fail"
    """What a check counts for that the data cannot decide."""


@dataclass
class StackDefaults:
    """What a stack suggests to groups that it does not choose itself."""

    top_k: Annotated[int, Ge(1), Le(1000)] = 3


@dataclass
class Config:
    """One job. What the groups in ``conf/`` compose to."""

    name: str = "default"
    seed: Annotated[int, Ge(0), Le(2**63 - 1)] = 7
    """Of every draw, and sent to models that take one; the limit is that of OpenAI's API."""
    stack_defaults: StackDefaults = field(default_factory=StackDefaults)
    endpoint: Endpoint = field(default_factory=Endpoint)
    """Where the models of stack=openai_compatible are served; its embedder, generator and judges refer to it."""
    knowledge_base: KnowledgeBase = field(default_factory=KnowledgeBase)
    questions: Questions = field(default_factory=Questions)
    embedder: Embedder = field(default_factory=Embedder)
    retriever: Retriever = field(default_factory=Retriever)
    prompt: Prompt = field(default_factory=Prompt)
    generator: Generator = field(default_factory=Generator)
    judge_defaults: JudgeDefaults = field(default_factory=JudgeDefaults)
    judges: dict[str, Judge] = field(default_factory=dict)
    panels: dict[str, Panel] = field(default_factory=dict)
    calls: Calls = field(default_factory=Calls)
    budget: Budget = field(default_factory=Budget)
    prices: list[Price] = field(default_factory=list)
    tracking: Tracking = field(default_factory=Tracking)
    controls: Controls = field(default_factory=Controls)
    on_error: Annotated[str, _choice("continue", "stop")] = "continue"
    allow_rubric_edit: bool = False
    metadata: dict[str, str] = field(default_factory=dict)
    pair: dict[str, Any] = field(default_factory=dict)
    """A node for paired sweeps: sweep a dict here and interpolate from it."""
    gate: Gate = field(default_factory=Gate)
