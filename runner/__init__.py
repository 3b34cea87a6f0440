"""Declarative experiment runner for LLM-as-a-judge evaluation of RAG pipelines."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from runner.api import calibrate, compare, evaluate, frame, gate, load, sweep

__all__ = ["calibrate", "compare", "evaluate", "frame", "gate", "load", "sweep"]


def __getattr__(name: str) -> Any:
    """Loads the API when it is used, so that ``import runner`` stays light."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from runner import api

    return getattr(api, name)
