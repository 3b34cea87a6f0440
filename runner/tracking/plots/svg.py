"""Just enough SVG for the plots: shapes, escaped text, axes with round ticks. No scripts, no links, no fonts."""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape

from runner.tracking import text as t

INK = "#222222"
FAINT = "#c8c8c8"
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#7f3c8d", "#666666")
"""After Okabe and Ito: told apart with every common form of colour blindness."""
LETTER = 6.6
"""Width of a letter in pixels at the font size of the plots, near enough to place a label."""


def colour(place: int) -> str:
    return COLOURS[place % len(COLOURS)]


class Drawing:
    """An SVG picture of a fixed size in pixels; (0, 0) is the top left."""

    def __init__(self, width: float, height: float, title: str) -> None:
        self._size = (round(width), round(height))
        self._title = title
        self._parts: list[str] = []

    def line(  # noqa: PLR0917
        self, x1: float, y1: float, x2: float, y2: float, ink: str = INK, width: float = 1.0
    ) -> None:
        self._parts.append(
            f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="{ink}" stroke-width="{width}"/>'
        )

    def path(self, points: Sequence[tuple[float, float]], ink: str) -> None:
        """Straight lines from point to point."""
        where = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        self._parts.append(f'<polyline points="{where}" fill="none" stroke="{ink}" stroke-width="1.5"/>')

    def rectangle(  # noqa: PLR0917
        self, x: float, y: float, width: float, height: float, fill: str, note: str = ""
    ) -> None:
        """``note``: shown when the pointer rests on it."""
        inside = f"<title>{escape(t.clean(note))}</title>" if note else ""
        self._parts.append(
            f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}" fill="{fill}">{inside}</rect>'
        )

    def dot(self, x: float, y: float, fill: str, note: str = "", radius: float = 4.0) -> None:
        inside = f"<title>{escape(t.clean(note))}</title>" if note else ""
        self._parts.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{radius}" fill="{fill}">{inside}</circle>')

    def text(
        self, x: float, y: float, said: str, *, anchor: str = "start", bold: bool = False, ink: str = INK, turn: int = 0
    ) -> None:
        """``anchor``: start, middle or end; ``turn``: degrees."""
        turned = f' transform="rotate({turn} {x:.1f} {y:.1f})"' if turn else ""
        weight = ' font-weight="bold"' if bold else ""
        self._parts.append(
            f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" fill="{ink}"{weight}{turned}>'
            f"{escape(t.clean(said))}</text>"
        )

    def render(self) -> str:
        """The whole picture as a document."""
        width, height = self._size
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
            f'font-family="system-ui, sans-serif" font-size="12" role="img"><title>{escape(self._title)}</title>'
            f'<rect width="{width}" height="{height}" fill="#ffffff"/>{"".join(self._parts)}</svg>'
        )


class Axis:
    """Values along a stretch of pixels."""

    def __init__(self, low: float, high: float, start: float, end: float) -> None:
        if high <= low:
            low, high = low - 0.5, high + 0.5
        self.low, self.high, self.start, self.end = low, high, start, end

    def at(self, value: float) -> float:
        return self.start + (value - self.low) / (self.high - self.low) * (self.end - self.start)

    def ticks(self, wanted: int = 5) -> list[float]:
        """Round values inside the range."""
        rough = (self.high - self.low) / wanted
        size = 10 ** math.floor(math.log10(rough))
        step = next(size * factor for factor in (1, 2, 2.5, 5, 10) if size * factor >= rough)
        first = math.ceil(self.low / step - 1e-9)
        last = math.floor(self.high / step + 1e-9)
        return [place * step for place in range(first, last + 1)]


def short(name: str, letters: int = 28) -> str:
    """A name that fits beside a plot."""
    return t.shorten(name, letters)
