"""A table where the terminal is wide enough, else one block a row that loses nothing."""

from __future__ import annotations

from collections.abc import Sequence

from rich import box
from rich.cells import cell_len
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

_PADDING = 2
"""Blanks behind every column but the last, before the one character that the box draws between two."""


def table_or_blocks(header: Sequence[str], rows: Sequence[Sequence[str]], width: int, left: int = 1) -> RenderableType:
    """Lay out safe texts (see ``plain``); columns without any content are left out.

    Parameters
    ----------
    left
        How many of the first columns are texts, set flush left; the rest are numbers.
    """
    used = [k for k in range(len(header)) if k == 0 or any(row[k] for row in rows)]
    widths = [max(cell_len(line) for row in [header, *rows] for line in row[k].split("\n")) for k in used]
    if sum(widths) + (_PADDING + 1) * (len(widths) - 1) <= width:
        return _table(header, rows, used, left)
    return _blocks(header, rows, used)


def _table(header: Sequence[str], rows: Sequence[Sequence[str]], used: Sequence[int], left: int) -> Table:
    table = Table(box=box.SIMPLE_HEAD, padding=(0, _PADDING, 0, 0), pad_edge=False, show_edge=False)
    for place in used:
        table.add_column(Text(header[place]), justify="left" if place < left else "right", no_wrap=True)
    for row in rows:
        table.add_row(*[Text(row[place], style="bold" if place == 0 else "") for place in used])
    return table


def _blocks(header: Sequence[str], rows: Sequence[Sequence[str]], used: Sequence[int]) -> Group:
    lines: list[Text] = []
    for row in rows:
        lines.append(Text(row[0].replace("\n", " "), style="bold"))
        for place in used[1:]:
            name = header[place].split("\n")[0]
            lines.append(Text(f"  {name}: {row[place].replace(chr(10), ', ') or 'none'}"))
    return Group(*lines)
