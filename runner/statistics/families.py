"""Corrections over a family of tests: Holm for decisions, Benjamini-Hochberg for exploring; statsmodels does it."""

from __future__ import annotations

from collections.abc import Sequence

from runner.statistics.power import ALPHA

METHODS = {"holm": "holm", "bh": "fdr_bh", "by": "fdr_by", "bonferroni": "bonferroni"}


def adjusted(p_values: Sequence[float | None], method: str = "holm", alpha: float = ALPHA) -> list[float | None]:
    """Adjusted p of every test, in the order given; tests without a p stay without and do not count.

    Parameters
    ----------
    method
        ``holm``, ``bh`` (Benjamini-Hochberg), ``by`` (Benjamini-Yekutieli) or ``bonferroni``.
    """
    from statsmodels.stats.multitest import multipletests

    known = [p for p in p_values if p is not None]
    if not known:
        return [None] * len(p_values)
    corrected = iter(multipletests(known, alpha=alpha, method=METHODS[method])[1].tolist())
    return [None if p is None else float(next(corrected)) for p in p_values]
