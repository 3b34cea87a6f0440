"""The ledger key: it ignores the order of dict entries and nothing else."""

from __future__ import annotations

import json
import random
from dataclasses import fields, replace
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from runner.calls import ChatRequest, ModelEndpoint, request_key
from runner.calls.keys import call_key, canonical_json

HERE = ModelEndpoint("openai", "https://api.openai.com/v1", "OPENAI_API_KEY", "https://api.openai.com/v1")
BASE = ChatRequest(
    HERE,
    "gpt-4o-mini",
    ({"role": "system", "content": "Judge."}, {"role": "user", "content": "Is it so?"}),
    100,
    temperature=0.0,
    schema_name="verdict",
    schema={"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "integer"}}},
)

leaves = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text()
values = st.recursive(
    leaves, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4), max_leaves=12
)
bodies = st.dictionaries(st.text(min_size=1), values, min_size=1, max_size=6)


def shuffled(value: Any, chance: random.Random) -> Any:
    """The same value with the entries of every dict in another order."""
    if isinstance(value, dict):
        entries = [(name, shuffled(inner, chance)) for name, inner in value.items()]
        chance.shuffle(entries)
        return dict(entries)
    return [shuffled(inner, chance) for inner in value] if isinstance(value, list) else value


@given(bodies, st.randoms(use_true_random=False))
def test_the_order_of_dict_entries_is_ignored(body: dict[str, Any], chance: random.Random) -> None:
    assert call_key("here", "/chat", body) == call_key("here", "/chat", shuffled(body, chance))


@given(bodies, bodies)
def test_bodies_that_differ_have_different_keys(one: dict[str, Any], other: dict[str, Any]) -> None:
    one.pop("metadata", None)
    other.pop("metadata", None)
    # 1, 1.0 and True are equal in Python and not in JSON.
    assume(json.dumps(one, sort_keys=True) != json.dumps(other, sort_keys=True))
    assert call_key("here", "/chat", one) != call_key("here", "/chat", other)


@given(st.lists(st.dictionaries(st.text(), st.text(), min_size=1, max_size=2), min_size=2, max_size=4, unique_by=str))
def test_the_order_of_lists_counts(messages: list[dict[str, str]]) -> None:
    assert call_key("h", "/", {"messages": messages}) != call_key("h", "/", {"messages": messages[::-1]})


@given(bodies, values)
def test_provider_tags_are_no_part_of_the_key(body: dict[str, Any], tags: Any) -> None:
    body.pop("metadata", None)
    assert call_key("h", "/", body) == call_key("h", "/", body | {"metadata": tags})


@given(st.text())
def test_any_text_has_a_key(text: str) -> None:
    request_key(replace(BASE, messages=({"role": "user", "content": text + "\ud83d\u0000{}\"'"},)))


CHANGES: dict[str, Any] = {
    "endpoint": replace(HERE, identity="https://elsewhere/v1"),
    "model": "gpt-4o",
    "messages": ({"role": "user", "content": "Judge.Is it so?"},),
    "max_tokens": 101,
    "temperature": None,
    "schema_name": "other",
    "schema": {"type": "object", "properties": {"a": {"type": "string"}}},
    "top_logprobs": 5,
    "seed": 1,
    "repeat": 1,
    "reask": 1,
}


@pytest.mark.parametrize("name", [field.name for field in fields(ChatRequest)])
def test_every_field_of_a_request_counts(name: str) -> None:
    """A field that is added to ChatRequest and forgotten in the key makes this fail."""
    assert request_key(replace(BASE, **{name: CHANGES[name]})) != request_key(BASE)


def test_the_model_and_the_server_count_but_not_the_way_to_them() -> None:
    key = request_key(BASE)
    assert request_key(replace(BASE, endpoint=replace(HERE, api_key_env="OTHER_KEY"))) == key
    assert request_key(replace(BASE, endpoint=replace(HERE, base_url="http://127.0.0.1:5000/v1"))) == key
    assert request_key(replace(BASE, endpoint=replace(HERE, requests_per_minute=3))) == key
    assert request_key(replace(BASE, endpoint=replace(HERE, api="responses"))) != key


def test_the_key_stays_what_it_was() -> None:
    """All that was ever paid for is found by this key: a change of it makes every ledger worthless."""
    assert request_key(BASE) == "870b1f49508eae3dc8b9c1d1db6804ee4dee7fd167c772560ad04bcaa1db063b"


def test_what_is_no_number_has_no_key() -> None:
    with pytest.raises(ValueError, match="JSON"):
        canonical_json({"temperature": float("nan")})


def test_the_index_of_an_equal_request_counts() -> None:
    keys = {call_key("h", "/", {"a": 1}, occurrence=index) for index in range(3)}
    assert len(keys) == 3
