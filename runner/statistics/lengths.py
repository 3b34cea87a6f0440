"""Why a retrieval metric cannot rank two runs whose lists are of different length."""

from __future__ import annotations

import re

from runner.statistics.scores import RETRIEVAL_PREFIX, ScoreTable

_AT_K = re.compile(r"_at_(\d+)$")
_RISES_WITH_K = re.compile(r"^(?:retrieval/)?(?:\w+_)?(?:hit_rate|recall|mrr|map)_at_(\d+)$")
"""Metrics that a longer list can only raise."""


def unfair_reason(table: ScoreTable, a: int, b: int) -> str:
    """Why a retrieval metric cannot rank two lists of different length; empty where it can."""
    without = _without(table, a, b)
    match = _RISES_WITH_K.match(table.metric)
    left, right = table.top_k[a], table.top_k[b]
    if without or match is None or left is None or right is None:
        return without
    if left == right or min(left, right) >= int(match.group(1)):
        return ""
    return (
        f"{table.metric} can only rise with the length of the list, and {table.names[a]} returns {left} chunks, "
        f"{table.names[b]} {right}: compare at k = {min(left, right)}, or on a judge's scores."
    )


def _without(table: ScoreTable, a: int, b: int) -> str:
    """Which of the two retrieves too few chunks to have the metric at all; empty where both have it."""
    at = _AT_K.search(table.metric) if table.metric.startswith(RETRIEVAL_PREFIX) else None
    if at is None:
        return ""
    short = {
        row: k for row in (a, b) if (k := table.top_k[row]) is not None and k < int(at[1]) and _has_none(table, row)
    }
    if not short:
        return ""
    parts = [f"{table.names[row]} has no {table.metric}: it retrieves {k}" for row, k in short.items()]
    equal = f"{table.metric[: at.start(1)]}{min(short.values())}"
    return f"{'; '.join(parts)} (compare with --metric {equal}, or on a judge's scores)."


def _has_none(table: ScoreTable, row: int) -> bool:
    return not bool(table.scored[row].any())
