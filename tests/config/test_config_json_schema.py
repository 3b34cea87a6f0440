"""The JSON schemas for editors are current, take every shipped file and find mistakes."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from runner.config import shipped_conf
from runner.config.json_schema import FOLDER, OWNERS, json_schemas, write

FILES = sorted(file for file in shipped_conf().rglob("*.yaml") if "hydra" not in file.relative_to(shipped_conf()).parts)
HEADER = re.compile(r"^# yaml-language-server: \$schema=(\S+)$", re.MULTILINE)


def validator(name: str) -> Any:
    return jsonschema.Draft7Validator(json.loads(json_schemas()[f"{name}.json"]))


def test_the_shipped_schemas_are_current() -> None:
    shipped = {file.name: file.read_text(encoding="utf-8") for file in (shipped_conf() / FOLDER).glob("*.json")}
    assert shipped == json_schemas(), "run: python -m runner.config.json_schema"


@pytest.mark.parametrize("file", FILES, ids=lambda file: str(file.relative_to(shipped_conf())))
def test_every_shipped_file_names_its_schema_and_follows_it(file: Path) -> None:
    text = file.read_text(encoding="utf-8")
    header = HEADER.search(text)
    assert header, "the line '# yaml-language-server: $schema=...' is missing"
    named = (file.parent / header[1]).resolve()
    assert named.is_file()
    assert named.parent == (shipped_conf() / FOLDER).resolve()
    errors = [error.message for error in validator(named.stem).iter_errors(yaml.safe_load(text))]
    assert errors == []


MISTAKES = [
    ("retriever", {"topk": 3}),
    ("retriever", {"top_k": 0}),
    ("retriever", {"top_k": "three"}),
    ("retriever", {"kind": "denze"}),
    ("rubric", {"scale": {"kind": "stars"}}),
    ("rubric", {"inputs": "question"}),
    ("judge", {"endpoint": {"api_key": "x"}}),
    ("judge", {"rubric": {"versoin": 1}}),
    ("generator", {"temperature": 3}),
    ("config", {"retriver": {}}),
    ("config", {"judges": {"a": {"modell": "x"}}}),
    ("config", {"prices": [{"modl": "x"}]}),
]
FINE = [
    ("retriever", {"top_k": "${stack_defaults.top_k}"}),
    ("retriever", {"kind": "???"}),
    ("generator", {"temperature": None}),
    ("generator", {"endpoint": "${endpoint}"}),
    ("rubric", {"scale": {"kind": "labels", "values": {"good": 1, "bad": 0}}}),
    ("judge", {"defaults": [{"/rubric@rubric": "grounding_v1"}, "_self_"], "repeats": 3}),
    ("config", {"hydra": {"sweeper": {"params": {"retriever.top_k": "1,3"}}}, "prices": [{"model": "a", "input": 1}]}),
]


@pytest.mark.parametrize(("name", "content"), MISTAKES)
def test_mistakes_are_found(name: str, content: dict[str, Any]) -> None:
    assert list(validator(name).iter_errors(content))


@pytest.mark.parametrize(("name", "content"), FINE)
def test_what_is_right_is_taken(name: str, content: dict[str, Any]) -> None:
    assert [error.message for error in validator(name).iter_errors(content)] == []


def test_each_schema_is_a_schema_and_explains_its_keys(tmp_path: Path) -> None:
    written = write(tmp_path / "schemas")
    assert {file.stem for file in written} == set(OWNERS)
    for file in written:
        content = json.loads(file.read_text(encoding="utf-8"))
        jsonschema.Draft7Validator.check_schema(content)
    calls = json.loads((tmp_path / "schemas/config.json").read_text(encoding="utf-8"))["definitions"]["Calls"]
    assert calls["properties"]["concurrency"]["description"].startswith("Calls in flight")
