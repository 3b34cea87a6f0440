"""Nothing that a model wrote reaches the terminal as a control."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runner.report.text import plain, shorten


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b[31mred\x1b[0m", "␛[31mred␛[0m"),
        ("a\u202egnp.exe", "a<U+202E>gnp.exe"),
        ("bell\x07", "bell␇"),
        ("\x9b31m", "<U+009B>31m"),
        ("gone\rback", "gone␍back"),
        ("two\r\nlines", "two\nlines"),
        ("family 👨‍👩‍👧 é ü 漢", "family 👨‍👩‍👧 é ü 漢"),
        ("\udcff", "<U+DCFF>"),
    ],
)
def test_what_could_steer_the_terminal_is_shown_instead(text: str, shown: str) -> None:
    assert plain(text) == shown


@given(st.text())
def test_no_control_survives(text: str) -> None:
    shown = plain(text, single_line=True)
    allowed = {"\u200d", "\u200c"}
    assert not [c for c in shown if unicodedata.category(c) in ("Cc", "Cf", "Cs", "Zl", "Zp") and c not in allowed]


@given(st.text(max_size=300), st.integers(min_value=1, max_value=40))
def test_a_shortened_line_fits(text: str, width: int) -> None:
    assert len(shorten(text, width)) <= width


def test_a_shortened_text_says_that_it_was_cut() -> None:
    assert shorten("abcdef", 4) == "abc…"
    assert shorten("abcd", 4) == "abcd"
    assert shorten("x" * 100_000, 10) == "x" * 9 + "…"
