"""The embedded text embedder: all-MiniLM-L6-v2 in int8 on the CPU, no network and no key."""

from __future__ import annotations

from runner.knowledge.minilm.model import DIMENSION, IDENTITY, MAX_TOKENS, MiniLM

__all__ = ["DIMENSION", "IDENTITY", "MAX_TOKENS", "MiniLM"]
