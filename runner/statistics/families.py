"""Corrections over a family of tests: Holm for decisions, Benjamini-Hochberg for exploring; statsmodels does it."""

from __future__ import annotations

import gc
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from runner.statistics.power import ALPHA

METHODS = {"holm": "holm", "bh": "fdr_bh", "by": "fdr_by", "bonferroni": "bonferroni"}


def adjusted(p_values: Sequence[float | None], method: str = "holm", alpha: float = ALPHA) -> list[float | None]:
    """Adjusted p of every test, in the order given; tests without a p stay without and do not count.

    Parameters
    ----------
    method
        ``holm``, ``bh`` (Benjamini-Hochberg), ``by`` (Benjamini-Yekutieli) or ``bonferroni``.
    """
    known = [p for p in p_values if p is not None]
    if len(known) < 2:
        return list(p_values)
    from statsmodels.stats.multitest import multipletests

    with _nothing_to_collect():
        corrected = iter(multipletests(known, alpha=alpha, method=METHODS[method])[1].tolist())
    return [None if p is None else float(next(corrected)) for p in p_values]


@contextmanager
def _nothing_to_collect() -> Iterator[None]:
    """Hides the objects alive from ``gc.collect()``, which statsmodels calls for Holm.

    With runs of many records in memory that call takes a quarter of a second. Both steps only move lists, so they cost
    nothing; objects that somebody else has frozen stay so.
    """
    if gc.get_freeze_count():
        yield
        return
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()
