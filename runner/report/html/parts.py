"""What sections are made of: tables whose cells are texts, and the small drawings beside numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Range:
    """A point with its doubt on a scale, as fractions of the scale from 0 to 1."""

    at: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Share:
    """One part of a bar that stands for a whole."""

    label: str
    count: int
    start: float
    """Fraction of the bar, from 0 to 1."""
    width: float
    tone: int
    """0 (worst) to 8 (best)."""


@dataclass(frozen=True, slots=True)
class Cell:
    """One cell; its texts may hold anything, the templates make them safe."""

    text: str
    note: str = ""
    """A second, smaller line."""
    tone: str = ""
    """good | bad | warn | same; the text says the same in words, as a colour alone says nothing."""
    range: Range | None = None
    shares: tuple[Share, ...] = ()


@dataclass(frozen=True, slots=True)
class Table:
    """A table with its caption; the first column of every row is its heading."""

    caption: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    texts: int = 1
    """How many of the first columns are texts, set flush left; the rest are numbers."""


@dataclass(frozen=True, slots=True)
class Section:
    """One part of the page with a heading."""

    id: str
    title: str
    paragraphs: tuple[str, ...] = ()
    tables: tuple[Table, ...] = ()
    notes: tuple[str, ...] = ()
    """Below the tables."""
    template: str = "tables.html"
    more: Mapping[str, Any] = field(default_factory=dict)
    """What only this section's template reads."""


def table(caption: str, columns: Sequence[str], rows: Sequence[Sequence[object]], texts: int = 1) -> Table:
    """A table of cells and texts, without the columns that hold nothing in any row."""
    cells = [[cell if isinstance(cell, Cell) else Cell(str(cell)) for cell in row] for row in rows]
    used = [at for at in range(len(columns)) if at == 0 or any(row[at].text or row[at].shares for row in cells)]
    return Table(
        caption,
        tuple(columns[at] for at in used),
        tuple(tuple(row[at] for at in used) for row in cells),
        sum(at < texts for at in used),
    )
