"""The sign-flip permutation test by cluster: if A and B are alike, each cluster's difference could as well be reversed.

Needs no normal distribution and no variance, which makes it the second opinion beside t, and the only one where all
differences are equal.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy

    Array = numpy.ndarray[Any, Any]

EXACT_UP_TO = 16
"""Clusters with a non-zero sum up to which all 2^C sign patterns are tried."""
RESAMPLES = 9_999
RESAMPLES_IN_SWEEP = 1_999
"""For each of many pairs: t decides there, this only warns."""
_CHUNK = 250
_TIE = 1e-6
"""Relative slack that counts a rounding difference as a tie (single precision in large tables)."""


def sign_flip(sums: Array, resamples: int = RESAMPLES, seed: int = 0) -> tuple[float, bool]:
    """Two-sided p of the sum of cluster sums under random signs, and whether all patterns were tried.

    Exact for up to ``EXACT_UP_TO`` non-zero clusters; else ``(b + 1) / (resamples + 1)`` (Phipson & Smyth 2010).
    All sums zero: p is 1.
    """
    import numpy

    p, exact = sign_flip_rows(numpy.asarray(sums, dtype=float)[None, :], resamples, seed)
    return float(p[0]), bool(exact[0])


def sign_flip_rows(sums: Array, resamples: int, seed: int) -> tuple[Array, Array]:
    """``sign_flip`` of every row; the rows share their random signs."""
    import numpy

    live = sums != 0
    exact = live.sum(axis=1) <= EXACT_UP_TO
    p = numpy.ones(len(sums))
    for row in numpy.flatnonzero(exact):
        p[row] = _exact(sums[row][live[row]])
    rest = numpy.flatnonzero(~exact)
    if len(rest):
        p[rest] = _sampled(sums[rest], resamples, seed)
    return p, exact


def _exact(sums: Array) -> float:
    import numpy

    if len(sums) == 0:
        return 1.0
    # The overall sign does not change |T|, so half of the patterns are enough.
    totals = numpy.array([sums[-1]])
    for value in sums[:-1]:
        totals = numpy.concatenate([totals + value, totals - value])
    observed = abs(sums.sum())
    return float(numpy.mean(numpy.abs(totals) >= observed - _TIE * numpy.abs(sums).max()))


def _sampled(sums: Array, resamples: int, seed: int) -> Array:
    import numpy

    generator = numpy.random.default_rng(seed)
    small = sums.astype(numpy.float32).T
    observed = numpy.abs(sums.sum(axis=1))
    threshold = (observed - _TIE * numpy.abs(sums).sum(axis=1)).astype(numpy.float32)
    hits = numpy.zeros(len(sums), dtype=numpy.int64)
    done = 0
    while done < resamples:
        now = min(_CHUNK, resamples - done)
        bits = numpy.unpackbits(generator.integers(0, 256, (now, -(-sums.shape[1] // 8)), dtype=numpy.uint8), axis=1)
        signs = bits[:, : sums.shape[1]].astype(numpy.float32) * 2 - 1
        hits += (numpy.abs(signs @ small) >= threshold).sum(axis=0)
        done += now
    return (hits + 1) / (resamples + 1)
