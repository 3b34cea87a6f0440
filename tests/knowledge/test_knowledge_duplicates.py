"""Near-duplicate chunks are found and reported; unlike ones are not."""

from __future__ import annotations

import logging

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runner.config.schema import Chunking
from runner.knowledge import near_duplicates, split
from runner.knowledge.duplicates import report_near_duplicates
from runner.records import Chunk, Document


def chunks(*texts: str) -> tuple[Chunk, ...]:
    return split([Document(f"d{number}", text) for number, text in enumerate(texts)], Chunking())


LONG = "The fee for a late application is twenty dollars and must be paid at the office before the first of March."


def test_equal_but_for_case_and_signs_nearly_equal_and_unlike(caplog: pytest.LogCaptureFixture) -> None:
    made = chunks(LONG, LONG.upper().replace(".", "!"), LONG + " Really.", "Something else entirely is written here.")
    with caplog.at_level(logging.WARNING):
        found = report_near_duplicates(made, "kb")
    assert [(pair.first.document_id, pair.second.document_id) for pair in found] == [
        ("d0", "d1"),
        ("d0", "d2"),
        ("d1", "d2"),
    ]
    assert found[0].similarity == 1.0
    assert 0.8 <= found[1].similarity < 1
    assert "kb: 3 pairs of chunks are nearly the same: d0 #1 and d1 #1 (100%)" in caplog.text


def test_nothing_to_report_says_nothing(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        assert report_near_duplicates(chunks("one", "two words", LONG), "kb") == ()
    assert not caplog.records


@given(st.lists(st.text(alphabet="ab c", min_size=1, max_size=20).filter(str.strip), min_size=2, max_size=8))
def test_an_exact_copy_is_always_found_and_nothing_below_the_limit_is(texts: list[str]) -> None:
    found = near_duplicates(chunks(*texts, texts[0]))
    last = f"d{len(texts)}"
    assert any({pair.first.document_id, pair.second.document_id} == {"d0", last} for pair in found)
    assert all(pair.similarity >= 0.8 for pair in found)
