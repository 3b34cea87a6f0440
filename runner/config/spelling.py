"""Finds the name that a misspelt one was meant to be."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """``did you mean X?``, else the list of what there is; empty where there is nothing to choose from."""
    names = sorted(set(known))
    near = difflib.get_close_matches(word, names, n=1, cutoff=0.6)
    if near:
        return f"did you mean {near[0]}?"
    return f"there is {', '.join(names)}" if names else ""
