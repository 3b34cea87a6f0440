"""Text of the views in a terminal: safe, shortened, and numbers with their errors."""

from __future__ import annotations

from runner.text.terminal import plain, shorten

__all__ = ["plain", "plus_minus", "shorten"]


def plus_minus(error: float | None, digits: int) -> str:
    """A standard error as it stands behind a mean; where it is 0 there was no variance, which is no certainty."""
    if error is None:
        return ""
    return " (no variance)" if error == 0 else f" ± {error:.{digits}f}"
