"""The generator's prompt: the user's template with the passages and the question put in; asks no model."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from runner.config.schema import Prompt
from runner.records import Question, Retrieved

_PLACE = re.compile(r"\{(context|question)\}")

NO_PASSAGES = "(no passages were found)"
"""Stands for the context where the retriever returned nothing."""


def numbered(passages: Sequence[str]) -> str:
    """The passages as the prompt shows them: ``[1] ...``, an empty line between them."""
    return "\n\n".join(f"[{number}] {text.strip()}" for number, text in enumerate(passages, 1)) or NO_PASSAGES


def messages(prompt: Prompt, question: Question, retrieved: Sequence[Retrieved]) -> tuple[Mapping[str, str], ...]:
    """The messages for one question: the system text if there is one, then the user text.

    ``{context}`` and ``{question}`` are replaced in one pass: all other braces stay, and so do these two where a
    document or a question happens to hold them.
    """
    values = {"context": numbered([item.chunk.text for item in retrieved]), "question": question.text}
    user = {"role": "user", "content": _PLACE.sub(lambda place: values[place.group(1)], prompt.user)}
    return ({"role": "system", "content": prompt.system}, user) if prompt.system.strip() else (user,)
