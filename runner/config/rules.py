"""Rules between keys of one configuration, and what it needs from outside: files and keys of APIs."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from datetime import datetime

from runner.config import schema
from runner.config.capability_rules import capability_problems
from runner.config.gate_rules import gate_problems
from runner.config.keys import named_files
from runner.config.name_rules import yaml_words
from runner.config.paths import search_folders
from runner.errors import Problem

_INPUTS = ("question", "context", "answer", "reference")
_METADATA_INPUT = re.compile(r"^metadata\.[A-Za-z0-9_\-]+$")
_JUDGE_NAME = re.compile(r"^[A-Za-z][A-Za-z0-9_\-]{0,60}$")
MLFLOW_JUDGES = frozenset(
    {
        "correctness", "completeness", "context_sufficiency", "conversational_guidelines", "equivalence",
        "expectations_guidelines", "faithfulness", "fluency", "guidelines", "retrieval_groundedness",
        "retrieval_relevance", "retrieval_sufficiency", "relevance_to_query", "safety", "summarization",
        "tool_call_correctness", "tool_call_efficiency", "user_frustration",
    }
)  # fmt: skip
"""Names that MLflow gives its own judges; the UI shows some of them as yes or no, whatever the value."""
_METADATA_LIMITS = (16, 64, 512)
"""Entries, characters of a key, characters of a value that OpenAI takes."""


def between_keys(config: schema.Config) -> Iterator[Problem]:
    """Problems of values that are each in range, but do not go together."""
    yield from _knowledge(config)
    yield from _questions(config)
    yield from _generation(config)
    if config.generator.kind != "none":
        for name, judge in config.judges.items():
            yield from _judge(name, judge, config)
        yield from _panels(config)
    yield from _endpoints(config)
    yield from gate_problems(config)
    yield from yaml_words(config)
    yield from _rest(config)


def _knowledge(config: schema.Config) -> Iterator[Problem]:
    base, kind = config.knowledge_base, config.retriever.kind
    chunking = base.chunking
    if chunking.kind != "document" and chunking.overlap >= chunking.size:
        yield Problem(
            "knowledge_base.chunking.overlap",
            f"{chunking.overlap} is not smaller than the size of {chunking.size}",
            "chunks would never move on",
        )
    if kind == "none":
        return
    if base.format == "inline" and not base.documents:
        yield Problem("knowledge_base.documents", "is empty, and the format is inline", "write the documents there")
    if base.format != "inline" and not base.path:
        yield Problem("knowledge_base.path", "is not set", "write knowledge_base.path=FOLDER")
    if kind in ("dense", "hybrid") and config.embedder.kind == "none":
        yield Problem("embedder.kind", f"retriever.kind={kind} needs an embedder", "choose embedder=minilm")
    if kind in ("dense", "hybrid") and config.embedder.kind == "openai" and not config.embedder.model.strip():
        yield Problem("embedder.model", "is not set", "write embedder.model=NAME, as its server calls it")


def _questions(config: schema.Config) -> Iterator[Problem]:
    asked = config.questions
    if asked.sample is not None and asked.fraction is not None:
        yield Problem("questions.fraction", "is set, and questions.sample too", "keep one of the two")
    for name in ("since", "until"):
        value = getattr(asked, name)
        if value is None:
            continue
        if asked.fields.time is None:
            yield Problem(f"questions.{name}", "is set, and questions.fields.time is not", "name the field of the time")
        try:
            datetime.fromisoformat(value)
        except ValueError:
            yield Problem(f"questions.{name}", f"{value!r} is not a moment", "write for example 2026-11-01T08:00")


def _generation(config: schema.Config) -> Iterator[Problem]:
    generator, prompt = config.generator, config.prompt
    if generator.kind == "recorded" and not config.questions.fields.answer:
        yield Problem(
            "questions.fields.answer",
            "is not set, and generator.kind is recorded",
            "name the field that holds the answers",
        )
    if generator.kind == "extractive" and config.retriever.kind == "none":
        yield Problem("generator.kind", "extractive takes its answer from the context, and retriever.kind is none")
    if generator.kind in schema.APPLICATIONS:
        yield from _application(config)
    if generator.kind == "model":
        if not generator.model.strip():
            yield Problem("generator.model", "is not set", "write generator.model=NAME, as its server calls it")
        if "{question}" not in prompt.user + prompt.system:
            yield Problem("prompt.user", "does not hold {question}", "the generator would never see the question")
        if config.retriever.kind != "none" and "{context}" not in prompt.user + prompt.system:
            yield Problem("prompt.user", "does not hold {context}", "what is retrieved would never reach the generator")


def _application(config: schema.Config) -> Iterator[Problem]:
    generator = config.generator
    if generator.kind == "callable" and not generator.target:
        yield Problem("generator.target", "is not set", "write generator.target=my_module:my_function")
    if generator.kind == "command" and not generator.command:
        yield Problem("generator.command", "is empty", "write generator.command=[python,my_program.py]")
    if generator.kind != "http":
        return
    if not generator.url:
        yield Problem("generator.url", "is not set", "write generator.url=http://localhost:8000/answer")
    elif not re.match(r"^https?://[^\s/]+", generator.url):
        yield Problem("generator.url", "must be a URL that starts with http:// or https://")
    texts = list(_texts(generator.request))
    if not any("{question}" in text for text in texts):
        yield Problem("generator.request", "does not hold {question}", "the application would never see the question")
    if config.retriever.kind != "none" and "{contexts}" not in texts:
        yield Problem(
            "generator.request", "does not hold {contexts}, so what is retrieved would never reach the application",
            "choose retriever=none knowledge_base=none, or send the passages: +generator.request.contexts='{contexts}'",
        )  # fmt: skip


def _texts(node: object) -> Iterator[str]:
    if isinstance(node, str):
        yield node
    elif isinstance(node, (dict, list)):
        for value in node.values() if isinstance(node, dict) else node:
            yield from _texts(value)


def _judge(name: str, judge: schema.Judge, config: schema.Config) -> Iterator[Problem]:
    where = f"judges.{name}"
    if not _JUDGE_NAME.match(name):
        yield Problem(where, "a judge's name may hold only letters, digits, hyphens and underscores")
    if name.lower() in MLFLOW_JUDGES:
        yield Problem(where, f"{name} is one of MLflow's own judges, whose values it shows in its own way",
                      "choose another name, such as reference_match")  # fmt: skip
    if judge.kind == "model" and not judge.model.strip():
        key = f"{where}.model" if config.judge_defaults.model.strip() else "judge_defaults.model"
        yield Problem(key, "is not set", f"write {key}=NAME, as its server calls it")
    rubric = judge.rubric
    yield from _scale(f"{where}.rubric.scale", rubric.scale)
    if not rubric.instructions.strip() and not rubric.instructions_file and judge.kind == "model":
        yield Problem(f"{where}.rubric.instructions", "is empty", "write what the judge shall look for")
    if rubric.instructions.strip() and rubric.instructions_file:
        yield Problem(f"{where}.rubric.instructions_file", "instructions are given too", "keep one of the two")
    if not rubric.inputs:
        yield Problem(f"{where}.rubric.inputs", "is empty", "name what the judge may see")
    for name_of_input in rubric.inputs:
        if name_of_input not in _INPUTS and not _METADATA_INPUT.match(name_of_input):
            yield Problem(
                f"{where}.rubric.inputs",
                f"{name_of_input!r} is not one of {', '.join(_INPUTS)}, metadata.FIELD",
            )
    yield from _inputs_exist(where, rubric, config)


def _inputs_exist(where: str, rubric: schema.Rubric, config: schema.Config) -> Iterator[Problem]:
    fields = config.questions.fields
    generator = config.generator
    brought = {"recorded": fields.contexts, "http": generator.contexts_path, "callable": True, "command": True}
    if "context" in rubric.inputs and config.retriever.kind == "none" and not brought.get(generator.kind):
        yield Problem(where, "its rubric needs the context, and retriever.kind is none",
                      "leave this judge out or choose a retriever")  # fmt: skip
    if "reference" in rubric.inputs and not fields.reference:
        yield Problem(where, "its rubric needs the reference answer, and questions.fields.reference is not set")
    for name in rubric.inputs:
        wanted = name.removeprefix("metadata.")
        if name.startswith("metadata.") and wanted not in fields.metadata:
            yield Problem(where, f"its rubric needs {name}, and questions.fields.metadata does not name {wanted}")


def _scale(where: str, scale: schema.Scale) -> Iterator[Problem]:
    lowest, highest = scale.min, scale.max
    if scale.kind == "labels":
        if len(scale.values) < 2:
            yield Problem(f"{where}.values", "a scale of labels needs at least two of them")
            return
        lowest, highest = min(scale.values.values()), max(scale.values.values())
        if lowest == highest:
            yield Problem(f"{where}.values", "all labels have the same number")
    elif scale.kind == "boolean":
        lowest, highest = 0.0, 1.0
    elif lowest is None or highest is None:
        yield Problem(where, f"a scale of kind {scale.kind} needs min and max")
        return
    elif lowest >= highest:
        yield Problem(f"{where}.min", f"{lowest:g} is not smaller than max, {highest:g}")
        return
    if scale.pass_at is not None and not lowest <= scale.pass_at <= highest:
        yield Problem(f"{where}.pass_at", f"{scale.pass_at:g} is outside {lowest:g} to {highest:g}")
    if scale.kind == "ordinal":
        if not float(lowest).is_integer() or not float(highest).is_integer():
            yield Problem(where, "min and max of an ordinal scale must be whole numbers")
        for anchor in scale.anchors:
            if not lowest <= anchor <= highest:
                yield Problem(f"{where}.anchors", f"{anchor} is outside {lowest:g} to {highest:g}")


def _panels(config: schema.Config) -> Iterator[Problem]:
    for name, panel in config.panels.items():
        where = f"panels.{name}"
        if name in config.judges:
            yield Problem(where, "a judge has the same name")
        if not _JUDGE_NAME.match(name) or name.lower() in MLFLOW_JUDGES:
            yield Problem(where, "choose a name of letters, digits and underscores that MLflow does not use itself")
        for judge in panel.judges:
            if judge not in config.judges:
                yield Problem(f"{where}.judges", f"there is no judge {judge}", f"there is {', '.join(config.judges)}")
        if len(set(panel.judges)) < 2:
            yield Problem(f"{where}.judges", "a panel needs at least two different judges")


def used_endpoints(config: schema.Config) -> Iterator[tuple[str, schema.Endpoint]]:
    """(key, endpoint) of everything that will really be asked."""
    if config.retriever.kind in ("dense", "hybrid") and config.embedder.kind == "openai":
        yield "embedder", config.embedder.endpoint
    if config.generator.kind == "model":
        yield "generator", config.generator.endpoint
    if config.generator.kind != "none":
        for name, judge in config.judges.items():
            if judge.kind == "model":
                yield f"judges.{name}", judge.endpoint


def _endpoints(config: schema.Config) -> Iterator[Problem]:
    for owner, endpoint in used_endpoints(config):
        where = f"{owner}.endpoint.base_url"
        if endpoint.provider == "openai_compatible" and not endpoint.base_url:
            key = "endpoint.base_url" if not config.endpoint.base_url else where
            yield Problem(key, "is not set", f"write {key}=http://localhost:11434/v1, or where your server is")
        if endpoint.base_url and not re.match(r"^https?://[^\s/]+", endpoint.base_url):
            yield Problem(where, "must be a URL that starts with http:// or https://")
        if endpoint.provider == "embedded" and endpoint.base_url:
            yield Problem(
                where, "is set, and the provider is embedded", "choose stack=openai_compatible for a server of yours"
            )
        if owner == "embedder" and endpoint.provider == "embedded":
            yield Problem(
                "embedder.endpoint.provider", "the embedded server makes no embeddings", "choose embedder=minilm"
            )


def _rest(config: schema.Config) -> Iterator[Problem]:
    if not config.name.strip():
        yield Problem("name", "is empty")
    if config.calls.question_deadline_s < config.calls.attempt_timeout_s:
        yield Problem("calls.question_deadline_s", "is shorter than calls.attempt_timeout_s")
    entries, key_length, value_length = _METADATA_LIMITS
    if len(config.metadata) > entries:
        yield Problem("metadata", f"has more than {entries} entries")
    for key, value in config.metadata.items():
        if len(key) > key_length or len(value) > value_length:
            yield Problem(
                f"metadata.{key[:key_length]}", f"is longer than {key_length} (key) or {value_length} (value)"
            )
    models = [price.model for price in config.prices]
    for model in sorted({model for model in models if models.count(model) > 1}):
        yield Problem("prices", f"{model} stands there more than once")
    for price in config.prices:
        if min(price.input, price.output, price.cached_input or 0) < 0:
            yield Problem("prices", f"{price.model} has a price below 0")
    yield from capability_problems(config)


def missing_files(config: schema.Config) -> Iterator[Problem]:
    """Files that the configuration names and that are nowhere."""
    for key, name, path in named_files(config):
        if path is None and name != "unset":
            looked = ", ".join(str(folder) for folder in search_folders())
            yield Problem(key, f"there is no {name}", f"looked in {looked}")


def missing_api_keys(configs: Sequence[schema.Config]) -> Iterator[Problem]:
    """One problem for each environment variable that should hold a key and does not."""
    users: dict[str, list[str]] = {}
    for config in configs:
        for owner, endpoint in used_endpoints(config):
            name = endpoint.api_key_env
            if endpoint.provider != "embedded" and name and not os.environ.get(name):
                users.setdefault(name, []).append(owner)
    for name, owners in users.items():
        for_whom = ", ".join(dict.fromkeys(owners))
        shown = name if re.match(r"^[A-Z][A-Z0-9_]*$", name) else "the variable that api_key_env names"
        yield Problem(
            shown,
            f"is not set, and {for_whom} need it" if len(set(owners)) > 1 else f"is not set, and {for_whom} needs it",
            "put it into the environment or into a file .env here, or work without a key: stack=local",
        )
