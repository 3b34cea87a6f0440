"""Sentences, words and facts of a text."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runner.text import content_words, coverage, dates, months, names, negated, numbers, sentences, stem


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("One. Two! Three?", ["One.", "Two!", "Three?"]),
        ("Dr. Smith has a GPA of 3.5. He passes.", ["Dr. Smith has a GPA of 3.5.", "He passes."]),
        ("Bring documents, e.g. the syllabus. Then wait.", ["Bring documents, e.g. the syllabus.", "Then wait."]),
        ("# Housing\n\nRooms open on\nApril 1.", ["Housing", "Rooms open on April 1."]),
        ("Steps:\n- file it\n- wait\n1. done", ["Steps:", "file it", "wait", "done"]),
        ("Run:\n```\na.b. c\n\nd\n```\nDone.", ["Run:", "```\na.b. c\n\nd\n```", "Done."]),
        ("…\n---\n:", []),
    ],
)
def test_sentences(text: str, expected: list[str]) -> None:
    assert list(sentences(text)) == expected


@given(st.text(max_size=300))
def test_no_sentence_is_invented(text: str) -> None:
    squeezed = "".join(text.split())
    for sentence in sentences(text):
        assert "".join(sentence.split()) in squeezed


def test_numbers_are_alike_however_they_are_written() -> None:
    assert numbers("It costs 1,000 dollars") == numbers("It costs 1000.00 dollars") == {"1000"}
    assert numbers("twenty-one days") == {"21"}
    assert numbers("a GPA of 2.0, 40% and 30 days.") == {"2", "40", "30"}
    assert numbers("one of them, at level 300") == {"300"}
    assert numbers("version v2 of x86") == frozenset()


def test_dates_are_alike_however_they_are_written() -> None:
    assert dates("by January 15") == dates("on the 15th of January") == dates("2026-01-15") == {("january", 15)}
    assert months("You may apply in May or March, they march") == {"may", "march"}


def test_names_and_negations() -> None:
    assert names("Ask Professor Miller about the FAFSA in January.") == {"professor", "miller", "fafsa"}
    assert negated("You cannot drop it.")
    assert not negated("No, you can drop it.")
    assert not negated("No later than Friday.")


def test_forms_of_a_word_are_one() -> None:
    for group in (["application", "applications"], ["register", "registered", "registering"], ["policy", "policies"]):
        assert len({stem(word) for word in group}) == 1, group
    assert stem("apply") == stem("applied") == stem("application")
    assert content_words("When are the applications due?") == [stem("application"), "due"]


@given(st.lists(st.sampled_from("abcdef"), max_size=8), st.lists(st.sampled_from("abcdef"), max_size=8))
def test_coverage_is_a_share_and_grows_with_what_is_given(wanted: list[str], held: list[str]) -> None:
    share = coverage(wanted, held)
    assert 0 <= share <= 1
    assert coverage(wanted, [*held, *wanted]) == 1
