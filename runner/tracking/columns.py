"""Which figures of a run become columns of MLflow's runs page, under which names and in which order.

The page makes a column of every metric that any run of the experiment has. So counts of what did not happen are left
out, and retrieval, which the summary names by its k, has one column a metric, each run at its own ``top_k``. The hit
rate keeps its name with the k as well. The rest of the figures is in ``stats.json``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

FIRST = ("mean", "pass_rate", "scored")
"""Endings of a judge's metrics: all means stand first, then all pass rates, then the denominators."""
THEN = ("retrieval/hit_rate", "cost/total_usd", "cost/new_usd", "answers/answered")
ALWAYS = ("cost/total_usd", "cost/new_usd", "answers/answered")
COUNTS = ("answers", "blame", "abstention", "tokens", "calls", "cost")
"""Groups of figures where 0 says that there was none of it; judges and retrieval are measured, and keep their 0."""
_AT_K = re.compile(r"retrieval/(?P<metric>.+)_at_(?P<k>\d+)")


def columns(values: Mapping[str, float]) -> dict[str, float]:
    """The metrics that are written, in the order of writing, which is that of the page."""
    named: dict[str, float] = {}
    for name, value in values.items():
        at_k = _AT_K.fullmatch(name)
        if at_k is None:
            if _says_something(name, values):
                named[name] = value
            continue
        named[f"retrieval/{at_k['metric']}"] = value
        if at_k["metric"] == "hit_rate":
            named[name] = value
    return dict(sorted(named.items(), key=lambda one: _place(one[0])))  # stable: judges stay in their own order


def _says_something(name: str, values: Mapping[str, float]) -> bool:
    group = name.partition("/")[0]
    if group not in COUNTS or name in ALWAYS:
        return True
    if name == "calls/made":
        return bool(values[name] or values.get("calls/from_ledger"))
    return values[name] != 0


def _place(name: str) -> int:
    group, _, ending = name.rpartition("/")
    if ending in FIRST and group not in COUNTS:
        return FIRST.index(ending)
    if name in THEN:
        return len(FIRST) + THEN.index(name)
    return len(FIRST) + len(THEN)
