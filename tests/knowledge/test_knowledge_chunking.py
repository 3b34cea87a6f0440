"""No character of a document is lost, or doubled outside the overlap, whatever the chunker."""

from __future__ import annotations

import itertools
import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from runner.config.schema import Chunking
from runner.errors import ConfigurationError
from runner.knowledge import split
from runner.knowledge.chunking import spans
from runner.records import Document

pieces = st.sampled_from(
    [
        "word ",
        "a",
        "Done. ",
        "Is it? ",
        "\n",
        "\n\n",
        "# Head\n",
        "## Sub\n",
        "```\n# no\n```\n",
        "  ",
        "ü😀",
        "。",
        "-" * 30,
    ]
)
texts = st.one_of(st.lists(pieces, max_size=60).map("".join), st.text(max_size=200))


@st.composite
def chunkings(draw: st.DrawFn) -> Chunking:
    size = draw(st.integers(1, 40))
    kind = draw(st.sampled_from(["document", "recursive", "tokens", "heading", "sentences"]))
    return Chunking(kind, size, draw(st.integers(0, size - 1)))


@given(texts, chunkings())
@example("one\n\ntwo", Chunking("recursive", 1, 0))
def test_spans_cover_the_text_and_overlaps_repeat_only_what_came_before(text: str, chunking: Chunking) -> None:
    found = spans(text, chunking)
    assert "".join(text[span.start + span.overlap : span.end] for span in found) == text
    for before, span in itertools.pairwise(found):
        assert span.start + span.overlap == before.end
        assert span.start > before.start
    assert all(span.end > span.start + span.overlap for span in found)


@given(texts, chunkings())
def test_chunks_hold_all_but_white_space_when_nothing_overlaps(text: str, chunking: Chunking) -> None:
    chunks = split([Document("d", text)], Chunking(chunking.kind, chunking.size, 0))
    joined = "".join(chunk.text for chunk in chunks)
    assert re.sub(r"\s+", "", joined) == re.sub(r"\s+", "", text)
    assert all(chunk.text == chunk.text.strip() != "" for chunk in chunks)
    assert [chunk.position for chunk in chunks] == list(range(len(chunks)))
    assert {chunk.document_id for chunk in chunks} <= {"d"}


@given(texts, st.integers(1, 60), st.data())
def test_recursive_and_heading_chunks_are_never_longer_than_the_size(text: str, size: int, data: st.DataObject) -> None:
    overlap = data.draw(st.integers(0, size - 1))
    for kind in ("recursive", "heading"):
        assert all(span.end - span.start <= size for span in spans(text, Chunking(kind, size, overlap)))


@given(st.lists(st.sampled_from(["ab", "c", "."]), min_size=1, max_size=50), st.integers(1, 9), st.data())
def test_token_windows_have_the_size_and_the_overlap(tokens: list[str], size: int, data: st.DataObject) -> None:
    overlap = data.draw(st.integers(0, size - 1))
    text = " ".join(tokens)
    windows = [text[span.start : span.end].split() for span in spans(text, Chunking("tokens", size, overlap))]
    assert all(len(window) == size for window in windows[:-1])
    assert 1 <= len(windows[-1]) <= size
    for before, after in itertools.pairwise(windows):
        assert before[len(before) - overlap :] == after[:overlap]


def test_recursive_prefers_paragraphs_then_lines_then_sentences_then_words() -> None:
    def cut(text: str, size: int) -> list[str]:
        return [chunk.text for chunk in split([Document("d", text)], Chunking("recursive", size, 0))]

    assert cut("One. Two.\n\nThree. Four.\n\nFive.", 26) == ["One. Two.\n\nThree. Four.", "Five."]
    assert cut("One two.\nThree four. Five", 22) == ["One two.", "Three four. Five"]
    assert cut("One two. Three four five", 17) == ["One two.", "Three four five"]
    assert cut("One two three", 9) == ["One two", "three"]
    assert cut("x" * 10, 4) == ["xxxx", "xxxx", "xx"]


def test_overlap_starts_at_a_word() -> None:
    first, second = split([Document("d", "alpha beta gamma delta")], Chunking("recursive", 18, 8))
    assert (first.text, second.text) == ("alpha beta gamma", "gamma delta")


def test_sections_carry_their_path_of_headings_and_code_fences_hold_none() -> None:
    text = "intro\n# A\ntext\n## B\n```\n# not a heading\n```\n# C\nend"
    chunks = split([Document("d", text, "Title")], Chunking("heading", 1000, 0))
    assert [chunk.metadata.get("heading") for chunk in chunks] == [None, "A", "A > B", "C"]
    assert all(chunk.metadata["title"] == "Title" for chunk in chunks)
    assert "# not a heading" in chunks[2].text


def test_sentences_are_windows() -> None:
    text = "One is here. Two is 3.5 long! Three? Four."
    chunks = split([Document("d", text)], Chunking("sentences", 2, 1))
    assert [chunk.text for chunk in chunks] == [
        "One is here. Two is 3.5 long!",
        "Two is 3.5 long! Three?",
        "Three? Four.",
    ]


def test_ids_depend_on_document_position_and_text_only() -> None:
    one = split([Document("a", "x. y. x.", source="here")], Chunking("sentences", 1, 0))
    two = split([Document("a", "x. y. x.", source="there")], Chunking("sentences", 1, 0))
    other = split([Document("b", "x. y. x.")], Chunking("sentences", 1, 0))
    assert [chunk.id for chunk in one] == [chunk.id for chunk in two]
    assert len({chunk.id for chunk in (*one, *other)}) == 6


def test_an_overlap_as_large_as_the_size_is_refused() -> None:
    with pytest.raises(ConfigurationError, match=r"knowledge_base\.chunking\.overlap: is 5"):
        split([Document("a", "text")], Chunking("recursive", 5, 5))


def test_a_huge_document_without_a_break_is_split_quickly() -> None:
    assert len(split([Document("a", "x" * 1_000_000)], Chunking("recursive", 1000, 100))) > 1000
