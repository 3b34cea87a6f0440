"""Tables lose no figure and no name, however narrow the terminal is."""

from __future__ import annotations

import io

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.console import Console

from runner.text.tables import table_or_blocks

CELL = st.text(alphabet="ab0.9-–$ é語\n", max_size=30).map(lambda text: text.strip() or "x")


def shown(header: list[str], rows: list[list[str]], width: int, left: int = 1) -> str:
    console = Console(file=io.StringIO(), width=width, no_color=True, force_terminal=False)
    console.print(table_or_blocks(header, rows, width, left))
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def squeezed(text: str) -> str:
    return "".join(text.split())


@given(
    st.integers(1, 9).flatmap(lambda n: st.lists(st.lists(CELL, min_size=n, max_size=n), min_size=2, max_size=4)),
    st.integers(20, 120),
)
def test_no_figure_is_cut_at_any_width(table: list[list[str]], width: int) -> None:
    header, *rows = table
    text = shown(header, rows, width)
    assert "…" not in text
    assert max(cell_len(line) for line in text.splitlines()) <= width
    for row in rows:
        for cell in row:
            for line in cell.split("\n"):
                assert squeezed(line) in squeezed(text)


@pytest.mark.parametrize("columns", [2, 5, 11])
def test_a_table_that_just_fits_is_a_table_and_is_not_cut(columns: int) -> None:
    """The character between two columns was not counted: with many columns figures ended in an ellipsis."""
    header, rows = [f"h{k:04}" for k in range(columns)], [[f"v{k:04}" for k in range(columns)]]
    width = 5 * columns + 3 * (columns - 1)
    text = shown(header, rows, width)
    assert len(text.splitlines()) == 3, "header, line, row"
    assert all(cell in text for cell in rows[0])
    narrower = shown(header, rows, width - 1)
    assert all(cell in narrower for cell in rows[0])
