"""From a question and its passages to an answer: by a model, by extraction, or from a record."""

from __future__ import annotations

from runner.generation.abstention import REFUSAL, abstains
from runner.generation.opening import AnswerGenerator, open_generator

__all__ = ["REFUSAL", "AnswerGenerator", "abstains", "open_generator"]
