"""What a job is identified by: the job key, the bytes of the files it names, and its choices in words."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from runner.config import schema
from runner.config.applications import command_files, module_file
from runner.config.paths import find, find_instructions

KEY_VERSION = 1
"""Raised when the same configuration would lead to other scores than before."""
EVIDENCE_VERSION = 2
"""Of the rules by which an answer is judged without a model, alone or beside a small one; raised when they change, so
that a run gets new scores and does not go on with old ones."""

_OPENAI_BASE_URL = "https://api.openai.com/v1"
_WITHOUT_EFFECT = (
    "name", "tracking", "budget", "calls", "prices", "on_error", "metadata", "controls", "allow_rubric_edit", "pair",
    "endpoint", "stack_defaults", "judge_defaults", "gate",
)  # fmt: skip
"""Nodes that cannot change a score, or whose values stand in the nodes that refer to them."""
_GENERATOR_FIELDS: Mapping[str, tuple[str, ...]] = {
    "model": ("model", "endpoint", "temperature", "max_tokens"),
    "callable": ("target", "settings", "model", "endpoint"),
    "http": ("url", "request", "answer_path", "contexts_path", "settings"),
    "command": ("command", "settings"),
}
"""By kind: what of the generator can change an answer."""


def job_key(config: schema.Config, sources: Mapping[str, str]) -> str:
    """SHA-256 (hex, 32 digits) over what can change a score.

    Left out: tracking, budget, limits of calls, prices, names, where a file or an index lies, and fields that the
    chosen kind does not use. Instead of paths the bytes of the files count (``sources``).
    """
    node = dataclasses.asdict(config)
    for key in _WITHOUT_EFFECT:
        node.pop(key)
    for group in ("knowledge_base", "questions"):
        node[group].pop("name")
        node[group].pop("path")
    # Added later: where they say nothing, keys are what they were.
    for name in ("fraction", "since", "until"):
        if node["questions"][name] is None:
            node["questions"].pop(name)
    if node["questions"]["fields"]["time"] is None:
        node["questions"]["fields"].pop("time")
    if node["questions"]["fields"]["evidence"] == schema.QuestionFields().evidence:
        node["questions"]["fields"].pop("evidence")
    node["embedder"] = _embedder(node["embedder"], config)
    node["generator"] = _generator(node["generator"])
    if config.generator.kind != "model":
        node.pop("prompt")
    node["judges"] = {name: _judge(judge) for name, judge in node["judges"].items()} if _judged(config) else {}
    node["retriever"].pop("server", None)
    if config.retriever.kind == "none":
        node["retriever"] = {"kind": "none"}
        node.pop("knowledge_base")
    node["sources"] = dict(sources)
    node["key_version"] = KEY_VERSION
    canonical = json.dumps(node, sort_keys=True, separators=(",", ":"), ensure_ascii=False, default=str)
    return hashlib.sha256(canonical.encode()).hexdigest()[:32]


def _judged(config: schema.Config) -> bool:
    return config.generator.kind != "none"


def _endpoint(node: dict[str, Any]) -> dict[str, Any]:
    base_url = node["base_url"]
    if node["provider"] == "openai":
        base_url = base_url or os.environ.get("OPENAI_BASE_URL") or _OPENAI_BASE_URL
    return {
        "provider": node["provider"],
        "base_url": (base_url or "").rstrip("/"),
        "api": node["api"],
    }


def _embedder(node: dict[str, Any], config: schema.Config) -> dict[str, Any]:
    if config.retriever.kind not in ("dense", "hybrid"):
        return {"kind": "none"}
    used = {"kind": node["kind"], "model": node["model"]}
    if node["kind"] == "openai":
        used["endpoint"] = _endpoint(node["endpoint"])
    return used


def _generator(node: dict[str, Any]) -> dict[str, Any]:
    kind = node["kind"]
    used = {"kind": kind, **{name: node[name] for name in _GENERATOR_FIELDS.get(kind, ())}}
    if "endpoint" in used:
        used["endpoint"] = _endpoint(node["endpoint"])
    return used


def _judge(node: dict[str, Any]) -> dict[str, Any]:
    rubric = {key: value for key, value in node["rubric"].items() if key != "instructions_file"}
    if node["kind"] != "model":
        return {"kind": node["kind"], "rubric": rubric, "evidence_version": EVIDENCE_VERSION}
    used = {**node, "rubric": rubric, "endpoint": _endpoint(node["endpoint"])}
    return {**used, "evidence_version": EVIDENCE_VERSION} if node["scoring"] == "sentences" else used


def named_files(config: schema.Config) -> Iterator[tuple[str, str, Path | None]]:
    """(key, name, path) of each file that the configuration needs; the path is ``None`` where there is none."""
    base = config.knowledge_base
    if config.retriever.kind != "none" and base.format != "inline" and base.path:
        yield "knowledge_base.path", base.path, find(base.path)
    yield "questions.path", config.questions.path, find(config.questions.path)
    generator = config.generator
    if generator.kind == "callable":
        place = module_file(generator.target)
        if place is not None:
            yield "generator.target", generator.target, place[1]
    if generator.kind == "command":
        for position, script in command_files(generator.command).items():
            yield f"generator.command[{position}]", generator.command[position], script
    for name, judge in config.judges.items():
        file = judge.rubric.instructions_file
        if file:
            yield f"judges.{name}.rubric.instructions_file", file, find_instructions(file)


class FileHashes:
    """SHA-256 of files and folders, each read once."""

    def __init__(self) -> None:
        self._known: dict[Path, str] = {}

    def of(self, path: Path) -> str:
        """The hash of a file's bytes; for a folder or a glob, of the names and bytes of all files in it."""
        if path not in self._known:
            self._known[path] = self._read(path)
        return self._known[path]

    def sources(self, config: schema.Config) -> dict[str, str]:
        """Key → hash, for each file of the configuration that exists."""
        return {key: self.of(path) for key, _, path in named_files(config) if path is not None}

    @staticmethod
    def _read(path: Path) -> str:
        if path.is_file():
            return hashlib.sha256(path.read_bytes()).hexdigest()
        if path.is_dir():
            root, files = path, path.rglob("*")
        else:
            root = Path(path.anchor or ".")
            files = root.glob(str(path.relative_to(root)))
        together = hashlib.sha256()
        for file in sorted(file for file in files if file.is_file()):
            inside = file.relative_to(path) if path.is_dir() else Path(file.name)
            if any(part.startswith(".") for part in inside.parts):
                continue
            together.update(f"{inside.as_posix()}\0{hashlib.sha256(file.read_bytes()).hexdigest()}\n".encode())
        return together.hexdigest()


def choices(config: schema.Config) -> dict[str, Any]:
    """What was chosen, dotted, as it becomes MLflow params: ``retriever.top_k``, ``judges.grounding.rubric``, ...

    Only what the chosen kinds use; long texts are not among them.
    """
    found: dict[str, Any] = {
        "name": config.name,
        "seed": config.seed,
        "questions.name": config.questions.name,
        "retriever.kind": config.retriever.kind,
    }
    for key in ("limit", "sample", "fraction", "since", "until"):
        value = getattr(config.questions, key)
        if value is not None:
            found[f"questions.{key}"] = value
    if config.retriever.kind != "none":
        found.update(_retrieval_choices(config))
    generator = config.generator
    found["generator.kind"] = generator.kind
    if generator.kind == "model":
        found["generator.model"] = generator.model
        found["generator.temperature"] = "not sent" if generator.temperature is None else generator.temperature
        found["generator.max_tokens"] = generator.max_tokens
        found["prompt"] = f"{config.prompt.id}@{config.prompt.version}"
    if generator.kind in schema.APPLICATIONS:
        found.update(_application_choices(generator))
    if _judged(config):
        for name, judge in config.judges.items():
            found.update(_judge_choices(f"judges.{name}", judge))
        for name, panel in config.panels.items():
            found[f"panels.{name}"] = f"{panel.combine} of {', '.join(panel.judges)}"
    return found


def _application_choices(generator: schema.Generator) -> dict[str, Any]:
    named = {
        "callable": {"generator.target": generator.target},
        "http": {"generator.url": generator.url, **_flat("generator.request", generator.request)},
        "command": {"generator.command": " ".join(generator.command)},
    }
    found: dict[str, Any] = {**named[generator.kind], **_flat("generator.settings", generator.settings)}
    if generator.kind == "callable" and generator.model:
        found["generator.model"] = generator.model
    return found


def _flat(prefix: str, values: Mapping[str, Any]) -> dict[str, Any]:
    """Nested objects as dotted keys; lists as JSON."""
    found: dict[str, Any] = {}
    for key, value in values.items():
        if isinstance(value, Mapping):
            found.update(_flat(f"{prefix}.{key}", value))
        else:
            found[f"{prefix}.{key}"] = json.dumps(value, ensure_ascii=False) if isinstance(value, list) else value
    return found


def _retrieval_choices(config: schema.Config) -> dict[str, Any]:
    base, retriever, chunking = config.knowledge_base, config.retriever, config.knowledge_base.chunking
    found: dict[str, Any] = {
        "retriever.top_k": retriever.top_k,
        "knowledge_base.name": base.name,
        "knowledge_base.chunking.kind": chunking.kind,
    }
    if chunking.kind != "document":
        found["knowledge_base.chunking.size"] = chunking.size
        found["knowledge_base.chunking.overlap"] = chunking.overlap
    if retriever.kind in ("dense", "hybrid"):
        found["embedder.kind"] = config.embedder.kind
        found["embedder.model"] = config.embedder.model
    if retriever.kind == "hybrid":
        found["retriever.fusion_constant"] = retriever.fusion_constant
    if retriever.mmr:
        found["retriever.mmr_lambda"] = retriever.mmr_lambda
    if retriever.score_threshold is not None:
        found["retriever.score_threshold"] = retriever.score_threshold
    if retriever.filter:
        found["retriever.filter"] = json.dumps(retriever.filter, ensure_ascii=False, default=str)
    return found


def _judge_choices(prefix: str, judge: schema.Judge) -> dict[str, Any]:
    found: dict[str, Any] = {
        f"{prefix}.rubric": f"{judge.rubric.id}@{judge.rubric.version}",
        f"{prefix}.kind": judge.kind,
    }
    if judge.kind == "model":
        found[f"{prefix}.model"] = judge.model
        found[f"{prefix}.scoring"] = judge.scoring
        found[f"{prefix}.temperature"] = "not sent" if judge.temperature is None else judge.temperature
        found[f"{prefix}.repeats"] = judge.repeats
    return found
