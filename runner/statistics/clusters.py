"""The unit of inference: which questions belong together, and the standard error that follows from it.

Questions about one document are not independent, so every interval here counts documents, not rows. Must not import
anything heavy: the run summary, and with it the command line, loads this file.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Hashable, Iterable, Sequence

from runner.records import Question

BY_GOLD = "gold"
"""Cluster by the first gold document; a question without one is a cluster of its own."""
BY_QUESTION = "question"
"""Every question is a cluster of its own: no clustering."""


def cluster_of(question: Question, by: str = BY_GOLD) -> Hashable:
    """The cluster of a question: its first gold document, itself, or the value of a metadata field.

    Parameters
    ----------
    by
        ``"gold"``, ``"question"``, or the name of a metadata field. A question without that gold document or field
        stands alone. The first part of the result keeps a document id from meeting an equal question id.
    """
    if by == BY_GOLD and question.gold:
        return ("gold", question.gold[0])
    if by not in (BY_GOLD, BY_QUESTION) and by in question.metadata:
        return (by, str(question.metadata[by]))
    return (BY_QUESTION, question.id)


def mean(values: Sequence[float]) -> float:
    """The mean, summed without rounding error (a mean of equal values is that value)."""
    return math.fsum(values) / len(values)


def cluster_sums(values: Iterable[float], clusters: Iterable[Hashable]) -> list[float]:
    """The sum of the values of each cluster, in order of first appearance."""
    parts: dict[Hashable, list[float]] = defaultdict(list)
    for value, cluster in zip(values, clusters, strict=True):
        parts[cluster].append(value)
    return [math.fsum(part) for part in parts.values()]


def clustered_standard_error(values: Sequence[float], clusters: Sequence[Hashable]) -> float | None:
    """Standard error of the mean of ``values``, clustered; ``None`` with fewer than two clusters.

    The small-sample form ``(1/n) sqrt(C/(C-1) sum_c S_c^2)`` with ``S_c`` the sum of the deviations of cluster c
    (Miller 2024, arXiv 2411.00640; statsmodels' cluster covariance gives the same). With clusters of one question it
    equals ``sd/sqrt(n)`` exactly. Use with t on C-1 degrees of freedom.
    """
    if len(values) == 0:
        return None
    centre = mean(values)
    sums = cluster_sums((value - centre for value in values), clusters)
    if len(sums) < 2:
        return None
    return math.sqrt(len(sums) / (len(sums) - 1) * math.fsum(s * s for s in sums)) / len(values)
