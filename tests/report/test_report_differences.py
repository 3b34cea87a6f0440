"""What is marked between two texts, and that nothing of them is lost."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from runner.report.html.differences import MOST_WORDS, marked


@given(st.text(alphabet="ab c\n", max_size=60), st.text(alphabet="ab c\n", max_size=60))
def test_the_pieces_joined_are_the_texts(left: str, right: str) -> None:
    ours, theirs = marked(left, right)
    assert "".join(piece.text for piece in ours) == left
    assert "".join(piece.text for piece in theirs) == right
    if left == right:
        assert not any(piece.only_here for piece in (*ours, *theirs))


def test_words_are_marked_whole() -> None:
    ours, theirs = marked("The fee is 200 euro.", "The fee is 300 euro.")
    assert [piece.text.strip() for piece in ours if piece.only_here] == ["200"]
    assert [piece.text.strip() for piece in theirs if piece.only_here] == ["300"]


def test_what_lies_beyond_the_limit_is_shown_but_not_compared() -> None:
    ours, _ = marked("a " * MOST_WORDS + "end", "a " * MOST_WORDS)
    assert "".join(piece.text for piece in ours).endswith("end")
    assert not any(piece.only_here for piece in ours)
