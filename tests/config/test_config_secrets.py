"""No key, token or password gets into a configuration, a file or a message."""

from __future__ import annotations

import dataclasses
import typing
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runner.config import compose_jobs, prepare
from runner.config.schema import Config
from runner.config.secret_names import names_secret
from runner.config.secrets import in_overrides, in_values, looks_secret, masked
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
    "+generator.settings.token=512",
    "+generator.settings.use_auth=true",
    "generator.headers_env.Authorization=MY_TOKEN",
    "generator.headers_env={X-Api-Key: MY_KEY}",
    "retriever.filter={token: blue}",
    "generator.url=http://host/answer?max_tokens=3&page_token=x",
    'prompt.system=Reply with JSON such as {"password": "the one that is quoted"}.',
]
SECRET_NAMES = [
    "token", "Token", "TOKEN", "access_token", "accessToken", "auth_token", "authtoken", "refresh-token", "id_token",
    "bot_token", "hf_token", "github.token", "token2", "x-auth-token", "api_key", "api-key", "apikey", "apiKey",
    "APIKey", "api_keys", "X-API-Key", "x_api_key", "openai_api_key", "OPENAI_API_KEY", "Ocp-Apim-Subscription-Key",
    "access_key", "aws_secret_access_key", "secretKey", "private_key", "signing_key", "x-functions-key", "secret",
    "secrets", "client_secret", "clientSecret", "password", "passwords", "db_password", "DBPassword", "dbpassword",
    "passwd", "pwd", "passphrase", "authorization", "Authorization", "Proxy-Authorization", "authorization_header",
    "auth", "basic_auth", "bearer", "bearer_token", "cookie", "Cookie", "Set-Cookie", "session_cookie", "credential",
    "credentials", "jwt",
]  # fmt: skip
HARMLESS_NAMES = [
    "max_tokens", "maxTokens", "max_token", "tokens_per_minute", "top_logprobs", "logprobs", "stop_token", "eos_token",
    "tokens", "input_tokens", "tokenizer", "token_count", "token_limit", "key", "keys", "job_key", "sort_key",
    "primary_key", "keyword", "author", "authors", "authority", "api_key_env", "headers_env", "token_path",
    "password_file", "secretary", "monkey", "cookies_per_jar", "passage", "pass_at", "passed", "compass", "page_token",
]  # fmt: skip


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


def schema_names(kind: type) -> set[str]:
    """Every name of a key in the schema, groups too."""
    found: set[str] = set()
    waiting: list[Any] = [kind]
    while waiting:
        one = waiting.pop()
        if dataclasses.is_dataclass(one):
            hints = typing.get_type_hints(one)
            found |= set(hints)
            waiting.extend(hints.values())
        waiting.extend(typing.get_args(one))
    return found


def test_no_key_of_the_configuration_itself_is_taken_for_a_secret() -> None:
    names = schema_names(Config)
    assert {"max_tokens", "tokens_per_minute", "api_key_env", "headers_env", "pass_at"} <= names
    assert [name for name in sorted(names) if names_secret(name)] == []


@pytest.mark.parametrize("name", HARMLESS_NAMES)
def test_a_name_that_only_resembles_a_secret_is_taken(name: str) -> None:
    assert not names_secret(name)
    assert in_overrides([f"+generator.settings.{name}=hunter2secret"]) == []


@pytest.mark.parametrize("name", SECRET_NAMES)
def test_a_token_or_header_on_the_command_line_is_refused_whatever_its_shape(name: str) -> None:
    assert names_secret(name.rpartition(".")[2])
    for override in (
        f"+metadata.{name}=hunter2secret",
        f"++generator.settings.{name}='hunter2secret'",
        f"+generator.settings={{depth: 2, {name}: hunter2secret}}",
        f"+pair=[{{{name}: 'hunter2, secret'}}]",
        f"generator.url=http://host/answer?a=1&{name}=hunter2secret",
    ):
        (problem,) = in_overrides([override])
        assert "hunter2" not in str(problem)


@given(st.sampled_from(SECRET_NAMES), st.sampled_from(["metadata", "generator.settings", "generator.request.headers"]))
def test_a_token_in_a_file_is_refused_under_any_key(name: str, above: str) -> None:
    values: dict[str, Any] = {name: "hunter2secret"}
    for part in reversed(above.split(".")):
        values = {part: values}
    (problem,) = in_values(values)
    assert "hunter2" not in str(problem)


@pytest.mark.parametrize(
    ("content", "where"),
    [
        ("settings: {Authorization: hunter2secret}", "generator.settings.Authorization"),
        ("settings: {deep: {password: 12345678}}", "generator.settings.deep.password"),
        ("headers_env: {Authorization: 'Bearer hunter2'}", "generator.headers_env.Authorization"),
        ("headers_env: {Authorization: hunter2secret}", "generator.headers_env.Authorization"),
        ("command: [python, app.py, --token=hunter2secret]", "generator.command[2]"),
        ("command: [python, app.py, --api-key, hunter2secret]", "generator.command[2]"),
        ("url: 'http://host/answer?access_token=hunter2secret'", "generator.url"),
    ],
)
def test_a_secret_of_an_application_in_a_file_is_refused_and_not_shown(content: str, where: str) -> None:
    path = Path("conf/generator/mine.yaml")
    path.parent.mkdir(parents=True)
    path.write_text(f"kind: command\n{content}\n", encoding="utf-8")
    found = message(["generator=mine"])
    assert f"conf/generator/mine.yaml: {where}" in found
    assert "hunter2" not in found
    assert "12345678" not in found


def test_a_token_that_a_variable_brings_in_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """The resolved configuration would hold it."""
    monkeypatch.setenv("PLAIN_NAME", "hunter2secret")
    found = message(["+metadata.token=${oc.env:PLAIN_NAME}"])
    assert "metadata.token" in found
    assert "hunter2" not in found


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

    def test_one_among_the_parameters_is_one_too(self, monkeypatch: pytest.MonkeyPatch) -> None:
        address = "postgresql://host/db?user=me&password=hunter2&ssl=on"
        assert "hunter2" not in message([f"calls.ledger={address}"])
        monkeypatch.setenv("LEDGER", address)
        (job,) = prepare(["calls.ledger=${oc.env:LEDGER}", "stack=extractive"], multirun=False)
        assert job.config.calls.ledger == address
        assert "postgresql://host/db?user=me&password=***&ssl=on" in job.resolved_yaml


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
