"""Draws a seeded sample of questions, spread over strata if wished. Same seed and questions: same sample, anywhere."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

from runner.records import Question


def draw(questions: Sequence[Question], size: int, seed: int, strata: str | None = None) -> list[Question]:
    """``size`` questions in their original order.

    Each question is drawn by a hash of seed and id, so that questions added later change the sample as little as
    possible. With ``strata`` (a metadata field) each stratum gets its share of the sample, by largest remainder.
    """
    groups: dict[str, list[Question]] = {}
    for question in questions:
        groups.setdefault(str(question.metadata.get(strata, "")) if strata else "", []).append(question)
    places = apportion(min(size, len(questions)), [len(group) for group in groups.values()])
    drawn: set[str] = set()
    for group, count in zip(groups.values(), places, strict=True):
        ranked = sorted(group, key=lambda question: _lot(question, seed))
        drawn.update(question.id for question in ranked[:count])
    return [question for question in questions if question.id in drawn]


def apportion(total: int, weights: Sequence[int]) -> list[int]:
    """``total`` in whole parts proportional to ``weights``, by largest remainder; the parts add up exactly.

    Equal remainders go to the earlier part. Where all weights are 0 the parts are as equal as can be.
    """
    if not weights:
        return []
    if not any(weights):
        weights = [1] * len(weights)
    whole = sum(weights)
    parts = [total * weight // whole for weight in weights]
    by_remainder = sorted(range(len(weights)), key=lambda place: (-(total * weights[place] % whole), place))
    for place in by_remainder[: total - sum(parts)]:
        parts[place] += 1
    return parts


def _lot(question: Question, seed: int) -> str:
    return hashlib.sha256(f"{seed}:{question.id}".encode()).hexdigest()
