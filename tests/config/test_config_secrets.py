"""No key, token or password gets into a configuration, a file or a message."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runner.config import compose_jobs, prepare
from runner.config.secrets import in_overrides, looks_secret, masked
from runner.errors import ConfigurationError

pytestmark = pytest.mark.usefixtures("home")

KEYS = [
    "sk-proj-abcdefghijklmnop1234",
    "sk-ant-api03-abcdefghijklmnop",
    "gsk_abcdefghijklmnop1234",
    "hf_abcdefghijklmnopqrst",
    "ghp_abcdefghijklmnopqrst",
    "AKIAABCDEFGHIJKLMNOP",
    "AIzaSyabcdefghijklmnopqrstu",
    "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0",
]
HARMLESS = [
    "retriever.top_k=3",
    "generator.endpoint.api_key_env=OPENAI_API_KEY",
    "generator.endpoint.api_key_env=null",
    "generator.endpoint.api_key_env=${endpoint.api_key_env}",
    "generator.model=gpt-4o-mini",
    "generator.max_tokens=300",
    "generator.endpoint.tokens_per_minute=1000",
    "endpoint.base_url=http://localhost:11434/v1",
    "name=risk-averse-and-task-oriented",
    "name=desk-top-experiments-2026",
    "prompt.system=Answer in at most three sentences.",
    "metadata.key=value",
]


def message(overrides: list[str]) -> str:
    with pytest.raises(ConfigurationError) as raised:
        prepare(overrides, multirun=False)
    return str(raised.value)


@pytest.mark.parametrize("key", KEYS)
@pytest.mark.parametrize("where", ["generator.endpoint.api_key_env={}", "+generator.api_key={}", "name={}", "{}=1"])
def test_a_key_on_the_command_line_is_refused_and_not_shown(key: str, where: str) -> None:
    found = message([where.format(key)])
    assert "looks like a secret" in found
    assert key not in found


@pytest.mark.parametrize("override", HARMLESS)
def test_ordinary_values_are_not_mistaken_for_keys(override: str) -> None:
    assert in_overrides([override]) == []


@pytest.mark.parametrize("override", ["+generator.endpoint.api_key=plainword", "+x.password=hunter2", "+secret=abc"])
def test_what_is_called_a_key_is_one_whatever_its_shape(override: str) -> None:
    found = message([override])
    assert "looks like a secret" in found
    assert override.partition("=")[2] not in found


def test_a_key_in_a_file_is_refused_and_not_shown() -> None:
    path = Path("conf/generator/mine.yaml")
    path.parent.mkdir(parents=True)
    path.write_text(f"kind: model\nmodel: a\nendpoint: {{api_key_env: {KEYS[0]}}}\n", encoding="utf-8")
    found = message(["generator=mine"])
    assert (
        "conf/generator/mine.yaml: generator.endpoint.api_key_env: must be the name of an environment variable" in found
    )
    assert KEYS[0] not in found


def test_a_wrong_type_does_not_print_a_key() -> None:
    path = Path("conf/retriever/mine.yaml")
    path.parent.mkdir(parents=True)
    path.write_text(f"kind: dense\ntop_k: {KEYS[0]}\n", encoding="utf-8")
    found = message(["retriever=mine"])
    assert "retriever.top_k" in found
    assert KEYS[0] not in found


def test_a_key_that_a_variable_brings_in_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_API_KEY", "a-word-of-no-special-shape")
    found = message(["+metadata.team=${oc.env:MY_API_KEY}"])
    assert "metadata.team: the value looks like a secret" in found
    assert "no-special-shape" not in found


def test_a_key_pasted_where_a_name_belongs_is_not_repeated() -> None:
    """It has the shape of a variable's name, and no variable of that name is set."""
    pasted = "abcd1234efgh5678ijkl"
    found = message(["stack=openai", f"generator.endpoint.api_key_env={pasted}"])
    assert "api_key_env names: is not set" in found
    assert pasted not in found


class TestPasswordsInAddresses:
    def test_one_that_is_written_down_is_refused(self) -> None:
        found = message(["calls.ledger=postgresql://me:hunter2@host/db"])
        assert "looks like a secret" in found
        assert "hunter2" not in found

    def test_one_in_a_file_is_refused(self) -> None:
        path = Path("conf/machine/default.yaml")
        path.parent.mkdir(parents=True)
        path.write_text("# @package _global_\ncalls: {ledger: 'postgresql://me:hunter2@host/db'}\n", encoding="utf-8")
        found = message([])
        assert "calls.ledger: holds a password; write ${oc.env:NAME} and set that variable" in found
        assert "hunter2" not in found

    def test_one_from_a_variable_is_used_and_masked(self, monkeypatch: pytest.MonkeyPatch) -> None:
        address = "postgresql://me:hunter2@host/db"
        monkeypatch.setenv("LEDGER", address)
        (job,) = prepare(["calls.ledger=${oc.env:LEDGER}", "stack=extractive"], multirun=False)
        assert job.config.calls.ledger == address
        assert "hunter2" not in job.resolved_yaml
        assert "postgresql://me:***@host/db" in job.resolved_yaml


def test_only_the_name_of_the_variable_is_in_the_resolved_configuration(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEYS[0])
    (job,) = compose_jobs(["stack=openai"], multirun=False)
    assert "api_key_env: OPENAI_API_KEY" in job.resolved_yaml
    assert KEYS[0] not in job.resolved_yaml


@given(st.sampled_from(KEYS), st.text(alphabet=st.characters(blacklist_categories=["L", "N"]), max_size=20))
def test_whatever_stands_around_a_key_it_is_found_and_masked(key: str, around: str) -> None:
    text = f"{around} {key} {around}"
    assert looks_secret(text)
    assert key not in masked(text)
    assert not looks_secret(masked(text))
