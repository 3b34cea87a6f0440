"""Declarative experiment runner for LLM-as-a-judge evaluation of RAG pipelines."""

from __future__ import annotations
