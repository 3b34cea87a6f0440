"""Whether two runs could differ on a metric at all: where both rest on the same thing, a difference of 0 is certain."""

from __future__ import annotations

import re

from runner.statistics.pairs import PairNumbers
from runner.statistics.scores import RETRIEVAL_PREFIX, ScoreTable

_AT_K = re.compile(r"_at_(\d+)$")
SAME_VERDICTS = "the same verdicts: identical answers and rubric"


def same_run(table: ScoreTable, numbers: PairNumbers) -> bool:
    """Whether the two are one: one run, one ranking of one retriever, or the same replies of the same judge."""
    if not numbers.difference == 0 == numbers.error:
        return False
    return table.job_keys[numbers.a] == table.job_keys[numbers.b] or bool(why_certain(table, numbers))


def why_certain(table: ScoreTable, numbers: PairNumbers) -> str:
    """Why two different runs cannot differ, in words; empty where they could, and for a run with itself."""
    a, b = numbers.a, numbers.b
    if not numbers.difference == 0 == numbers.error or not numbers.alike or table.job_keys[a] == table.job_keys[b]:
        return ""
    if table.metric.startswith(RETRIEVAL_PREFIX):
        return _same_ranking(table, a, b)
    both = table.scored[a] & table.scored[b]
    ours, theirs = table.replies[a][both], table.replies[b][both]
    # What failed in one of them may come out otherwise when it is repeated.
    same = numbers.open == 0 and bool(both.any()) and bool(((ours == theirs) & (ours != 0)).all())
    return SAME_VERDICTS if same else ""


def _same_ranking(table: ScoreTable, a: int, b: int) -> str:
    if not table.retrieval[a] or table.retrieval[a] != table.retrieval[b]:
        return ""
    at = _AT_K.search(table.metric)
    where = f" at k={at[1]}" if at else ""
    return f"the same ranking{where}: identical by construction"
