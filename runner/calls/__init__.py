"""The door for model calls: one ledger, one set of limits and one budget under every call that any part makes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from runner.calls.context import calling, collect_calls
from runner.calls.keys import request_key
from runner.calls.requests import ChatRequest, ModelEndpoint, Reply, TokenChoice

if TYPE_CHECKING:
    from runner.calls.door import Door, open_door
    from runner.calls.totals import Spent

__all__ = [
    "ChatRequest",
    "Door",
    "ModelEndpoint",
    "Reply",
    "Spent",
    "TokenChoice",
    "calling",
    "collect_calls",
    "open_door",
    "request_key",
]

_LATER = {"Door": "runner.calls.door", "open_door": "runner.calls.door", "Spent": "runner.calls.totals"}
"""Looked up when first used, so that a command that calls no model does not load the database library."""


def __getattr__(name: str) -> Any:
    if name in _LATER:
        from importlib import import_module

        return getattr(import_module(_LATER[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
