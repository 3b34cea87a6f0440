"""Usage is read from all three APIs as the provider reported it, and nonsense is no usage rather than a usage of 0."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runner.calls.usage import usage_of
from runner.records import Usage

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
NAMES = st.sampled_from(
    [
        "prompt_tokens", "completion_tokens", "total_tokens", "input_tokens", "output_tokens", "prompt_tokens_details",
        "completion_tokens_details", "input_tokens_details", "output_tokens_details", "prompt_cache_hit_tokens",
    ]
)  # fmt: skip
DETAILS = st.dictionaries(
    st.sampled_from(["cached_tokens", "reasoning_tokens", "cache_write_tokens"]), JSON | st.integers(0, 50)
)
USAGES = st.dictionaries(NAMES, JSON | st.integers(-5, 100) | DETAILS)


@pytest.mark.parametrize(
    ("api", "usage", "expected"),
    [
        (
            "chat",
            {
                "prompt_tokens": 2000,
                "completion_tokens": 300,
                "total_tokens": 2300,
                "prompt_tokens_details": {"cached_tokens": 1024, "cache_write_tokens": 100},
                "completion_tokens_details": {"reasoning_tokens": 256},
            },
            Usage(2000, 300, 1024, 100, 256),
        ),
        (
            "responses",
            {
                "input_tokens": 50,
                "input_tokens_details": {"cached_tokens": 10},
                "output_tokens": 20,
                "output_tokens_details": {"reasoning_tokens": 15},
                "total_tokens": 70,
            },
            Usage(50, 20, 10, 0, 15),
        ),
        ("embeddings", {"prompt_tokens": 9, "total_tokens": 9}, Usage(9)),
        ("embeddings", {"total_tokens": 9}, Usage(9)),
        ("chat", {"prompt_tokens": 9, "completion_tokens": 0, "total_tokens": 9}, Usage(9, 0)),
        ("chat", {"prompt_tokens": 9, "total_tokens": 12}, Usage(9, 3)),
        ("chat", {"prompt_tokens": 9.0, "completion_tokens": 3.0}, Usage(9, 3)),
        ("chat", {"prompt_tokens": 9, "completion_tokens": 3, "prompt_tokens_details": None}, Usage(9, 3)),
        ("chat", {"prompt_tokens": 9, "completion_tokens": 3, "prompt_cache_hit_tokens": 4}, Usage(9, 3, 4)),
    ],
)
def test_reported_tokens(api: str, usage: dict[str, Any], expected: Usage) -> None:
    assert usage_of(api, {"usage": usage}) == expected


def test_reasoning_is_inside_output_unless_the_server_counts_it_beside() -> None:
    details = {"completion_tokens_details": {"reasoning_tokens": 100}}
    inside = {"prompt_tokens": 10, "completion_tokens": 120, "total_tokens": 130} | details
    beside = {"prompt_tokens": 10, "completion_tokens": 20, "total_tokens": 130} | details
    assert usage_of("chat", {"usage": inside}) == usage_of("chat", {"usage": beside}) == Usage(10, 120, 0, 0, 100)


@pytest.mark.parametrize(
    "usage",
    [
        None,
        [],
        "12",
        {},
        {"prompt_tokens": 3},
        {"prompt_tokens": -3, "completion_tokens": 1},
        {"prompt_tokens": True, "completion_tokens": 1},
        {"prompt_tokens": "3", "completion_tokens": 1},
        {"prompt_tokens": 3, "completion_tokens": 1.5},
        {"prompt_tokens": 9, "total_tokens": 4},
        {"prompt_tokens": float("nan"), "completion_tokens": 1},
        {"prompt_tokens": 1 << 80, "completion_tokens": 1},
    ],
)
def test_nonsense_is_no_usage(usage: Any) -> None:
    assert usage_of("chat", {"usage": usage}) is None


@pytest.mark.parametrize("body", [None, 3, "x", [], {}, b"{}"])
def test_no_usage_at_all(body: Any) -> None:
    assert usage_of("chat", body) is None


@given(st.sampled_from(["chat", "responses", "embeddings", "other"]), USAGES | JSON)
def test_fuzz_never_crashes_and_never_negative(api: str, usage: Any) -> None:
    read = usage_of(api, {"usage": usage})
    if read is not None:
        assert min(read.input_tokens, read.output_tokens, read.cached_input_tokens) >= 0
        assert min(read.cache_write_tokens, read.reasoning_tokens) >= 0
        assert read.cached_input_tokens + read.cache_write_tokens <= read.input_tokens
        assert read.reasoning_tokens <= read.output_tokens


@given(st.integers(0, 10**9), st.integers(0, 10**9), st.integers(0, 10**9), st.integers(0, 10**9))
def test_sane_counts_come_back_as_they_are(given_tokens: int, made: int, cached: int, reasoning: int) -> None:
    cached, reasoning = min(cached, given_tokens), min(reasoning, made)
    body = {
        "usage": {
            "input_tokens": given_tokens,
            "output_tokens": made,
            "total_tokens": given_tokens + made,
            "input_tokens_details": {"cached_tokens": cached},
            "output_tokens_details": {"reasoning_tokens": reasoning},
        }
    }
    assert usage_of("responses", body) == Usage(given_tokens, made, cached, 0, reasoning)
