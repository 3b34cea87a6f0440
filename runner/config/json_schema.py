"""JSON schemas for editors, made from the schema's dataclasses: ``python -m runner.config.json_schema`` writes them.

Editors read them through the first line of a YAML file: ``# yaml-language-server: $schema=../.schema/rubric.json``.
Nothing is required (a file may say only what it changes), and an interpolation may stand anywhere.
"""

from __future__ import annotations

import ast
import functools
import inspect
import itertools
import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from runner.config import schema
from runner.config.paths import shipped_conf

FOLDER = ".schema"
OWNERS: Mapping[str, type] = {
    "config": schema.Config,
    "knowledge_base": schema.KnowledgeBase,
    "questions": schema.Questions,
    "embedder": schema.Embedder,
    "retriever": schema.Retriever,
    "generator": schema.Generator,
    "prompt": schema.Prompt,
    "judge": schema.Judge,
    "rubric": schema.Rubric,
    "budget": schema.Budget,
    "tracking": schema.Tracking,
    "gate": schema.Gate,
}
"""Name of the schema → what a file that uses it fills. Files with ``# @package _global_`` use ``config``."""
_INTERPOLATION = {"type": "string", "pattern": r"\$\{|^\?\?\?$"}
_DEFAULTS = {
    "type": "array",
    "description": "Other configuration files that this one builds on (Hydra's defaults list)",
}
_HYDRA = {"type": "object", "description": "Hydra's own settings; an experiment's sweep is hydra.sweeper.params"}


def json_schemas() -> dict[str, str]:
    """File name → content of every schema."""
    return {f"{name}.json": _as_text(_schema(name, owner)) for name, owner in OWNERS.items()}


def write(folder: Path) -> list[Path]:
    """Writes every schema into the folder and returns the files."""
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for name, content in json_schemas().items():
        (folder / name).write_text(content, encoding="utf-8")
        written.append(folder / name)
    return written


def _as_text(content: Mapping[str, Any]) -> str:
    return json.dumps(content, indent=2, ensure_ascii=False, sort_keys=True) + "\n"


def _schema(name: str, owner: type) -> dict[str, Any]:
    from pydantic import TypeAdapter

    adapter: Any = TypeAdapter(owner)
    found = adapter.json_schema(ref_template="#/definitions/{model}")
    said = _descriptions()
    definitions = {key: _loosened(entry, said[key]) for key, entry in found.pop("$defs", {}).items()}
    top = _loosened(found, said[owner.__name__])
    top["properties"]["defaults"] = _DEFAULTS
    if name == "config":
        top["properties"]["hydra"] = _HYDRA
    return {"$schema": "http://json-schema.org/draft-07/schema#", "title": name, **top, "definitions": definitions}


@functools.cache
def _descriptions() -> Mapping[str, Mapping[str, str]]:
    """Class → field → the text below it in the schema's source."""
    found: dict[str, dict[str, str]] = {}
    for owner in ast.parse(inspect.getsource(schema)).body:
        if isinstance(owner, ast.ClassDef):
            fields = found.setdefault(owner.name, {})
            for field, below in itertools.pairwise(owner.body):
                if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name):
                    match below:
                        case ast.Expr(value=ast.Constant(value=str(text))):
                            fields[field.target.id] = inspect.cleandoc(text)
    return found


def _loosened(node: Mapping[str, Any], said: Mapping[str, str]) -> dict[str, Any]:
    """An object whose fields are all optional and may be interpolations, and that has no others."""
    properties = {
        key: ({"description": said[key]} if key in said else {}) | _property(entry)
        for key, entry in node["properties"].items()
    }
    found: dict[str, Any] = {"type": "object", "properties": properties, "additionalProperties": False}
    if "description" in node:
        found["description"] = node["description"]
    return found


def _property(node: Mapping[str, Any]) -> dict[str, Any]:
    kept = {key: value for key, value in node.items() if key not in ("title", "default")}
    options = [_value(option) for option in kept.get("anyOf", [kept])]
    if {"type": "string"} not in options:
        options.append(_INTERPOLATION)
    return dict(options[0]) if len(options) == 1 else {"anyOf": options}


def _value(node: Mapping[str, Any]) -> dict[str, Any]:
    found = {key: value for key, value in node.items() if key not in ("title", "default")}
    pattern = found.get("pattern", "")
    if pattern.startswith("^(") and pattern.endswith(")$"):
        return {"enum": pattern[2:-2].split("|")}
    for inside in ("additionalProperties", "items"):
        if isinstance(found.get(inside), Mapping):
            found[inside] = _property(found[inside])
    return found


def main(arguments: Sequence[str]) -> int:
    """Writes the schemas into the folder that is named, else beside the shipped configuration."""
    folder = Path(arguments[0]) if arguments else shipped_conf() / FOLDER
    for file in write(folder):
        print(file)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
