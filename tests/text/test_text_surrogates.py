"""Half a character never stays in a text: nothing that is written as UTF-8 may fail on one."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from runner.text import without_surrogates, without_surrogates_within

_ANY_TEXT = st.text(st.characters(exclude_categories=()))


@given(_ANY_TEXT)
def test_a_text_can_be_written_as_utf_8_afterwards_and_is_the_same_where_it_could_before(text: str) -> None:
    mended = without_surrogates(text)
    mended.encode("utf-8")
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        assert mended != text
    else:
        assert mended is text


def test_half_an_emoji_becomes_the_replacement_character_and_two_halves_become_the_emoji() -> None:
    assert without_surrogates("a \ud83d x") == "a \ufffd x"
    assert without_surrogates("\ude00\ud83d") == "\ufffd\ufffd"
    assert without_surrogates("a \ud83d" + "\ude00 x \ud83d") == "a \U0001f600 x \ufffd"


def test_halves_within_objects_lists_and_keys_are_replaced_and_whole_values_stay_the_same_object() -> None:
    value: Any = {"a\ud83d": [1, None, {"b": "\ude00"}], "c": "d"}
    assert without_surrogates_within(value) == {"a\ufffd": [1, None, {"b": "\ufffd"}], "c": "d"}
    whole: Any = {"a": [1, {"b": "c"}], "d": ("e",)}
    assert without_surrogates_within(whole) is whole
