"""Jobs are called by what differs between them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runner.config import job_names

NAMES = [
    ([["retriever.top_k=1", "x=1"], ["retriever.top_k=3", "x=1"]], ["top_k=1", "top_k=3"]),
    (
        [["retriever.top_k=3", "generator.model=gpt-4o"], ["retriever.top_k=3", "generator.model=gpt-4o-mini"]],
        ["gpt-4o", "gpt-4o-mini"],
    ),
    (
        [["retriever.top_k=1", "generator.model=a"], ["retriever.top_k=3", "generator.model=b"]],
        ["top_k=1 · a", "top_k=3 · b"],
    ),
    ([["judge_defaults.model=a"], ["judge_defaults.model=b"]], ["judge=a", "judge=b"]),
    (
        [["rubric@judges.topicality.rubric=topicality_v1"], ["rubric@judges.topicality.rubric=topicality_v2"]],
        ["topicality_v1", "topicality_v2"],
    ),
    ([["retriever=dense"], ["retriever=bm25"]], ["dense", "bm25"]),
    ([["judge=[grounding]"], ["judge=[grounding,topicality]"]], ["grounding", "grounding+topicality"]),
    ([["pair={g:a,j:b}"], ["pair={g:b,j:a}"]], ["a/b", "b/a"]),
    ([["seed=1"], ["seed=2"]], ["seed=1", "seed=2"]),
    ([["retriever.kind=dense"], ["retriever.kind=bm25"]], ["retriever=dense", "retriever=bm25"]),
    ([["seed=1"], ["seed=1"]], ["fallback", "fallback #2"]),
    ([[]], ["fallback"]),
    ([["retriever.top_k=5"]], ["top_k=5"]),
    (
        [["stack=openai", "knowledge_base.path=/a/long/path", "generator.model=gpt-4o", "retriever.top_k=5"]],
        ["openai · gpt-4o · top_k=5"],
    ),
    ([["stack=openai", "allow_rubric_edit=true"]], ["openai"]),
    ([["controls.enabled=true", "controls.sample=4", "+metadata.why=test", "seed=3"]], ["seed=3"]),
    ([["controls.enabled=true"], ["controls.enabled=false"]], ["enabled=true", "enabled=false"]),
    ([["generator.model=" + "m" * 50, "retriever.top_k=5", "retriever=bm25"]], ["m" * 50 + " · top_k=5"]),
    ([["+judges.a.repeats=2"], ["+judges.a.repeats=3"]], ["repeats=2", "repeats=3"]),
]


@pytest.mark.parametrize(("overrides", "expected"), NAMES)
def test_names(overrides: list[list[str]], expected: list[str]) -> None:
    assert list(job_names(overrides, "fallback")) == expected


@given(st.lists(st.lists(st.tuples(st.sampled_from("abc"), st.text(max_size=5)), max_size=3), min_size=1, max_size=8))
def test_names_are_unique_and_short(jobs: list[list[tuple[str, str]]]) -> None:
    overrides = [[f"group.{key}={value}" for key, value in job] for job in jobs]
    names = job_names(overrides, "fallback")
    assert len(set(names)) == len(overrides)
    assert all(0 < len(name) < 250 for name in names)
