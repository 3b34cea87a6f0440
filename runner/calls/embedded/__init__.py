"""Local models without a key: their weights, and the server on loopback that answers with them."""

from __future__ import annotations

from runner.calls.embedded.listing import ModelFile, WheelPart, catalogue, find, in_words
from runner.calls.embedded.progress import PullStep, Report
from runner.calls.embedded.servers import EmbeddedServers
from runner.calls.embedded.weights import installed, location, pull

__all__ = [
    "EmbeddedServers",
    "ModelFile",
    "PullStep",
    "Report",
    "WheelPart",
    "catalogue",
    "find",
    "in_words",
    "installed",
    "location",
    "pull",
]
