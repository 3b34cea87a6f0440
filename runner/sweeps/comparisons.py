"""What a sweep says at its end: for each judge who may be the best, in a sentence, and the pairs as a file."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Sequence
from typing import Any

from runner.errors import RunnerError
from runner.findings import SweepComparison
from runner.records import RunResult

MOST_JOBS = 50
"""Beyond this the end of a sweep would wait for the comparisons: `runner compare` makes them when asked."""


def sweep_comparisons(runs: Sequence[RunResult]) -> tuple[SweepComparison, ...]:
    """All pairs of the jobs, for each judge that at least two of them have, or for retrieval where no judge was asked.

    Empty where there is nothing to compare.
    """
    if not 2 <= len(runs) <= MOST_JOBS:
        return ()
    from runner.statistics import compare_sweep

    found = []
    judges = dict.fromkeys(name for run in runs for record in run.records for name in record.scores)
    if not judges:
        return _by_retrieval(runs)
    for judge in judges:
        having = [run for run in runs if any(judge in record.scores for record in run.records)]
        if len(having) < 2:
            continue
        try:
            found.append(compare_sweep(having, judge))
        except RunnerError:
            # A question set with one id twice, say: the runs themselves are whole, and `runner compare` explains it.
            continue
    return tuple(found)


def _by_retrieval(runs: Sequence[RunResult]) -> tuple[SweepComparison, ...]:
    """Where no judge was asked: nDCG at the smallest k of all runs, which every one of them knows."""
    from runner.statistics import compare_sweep
    from runner.sweeps.comparing import at_equal_k

    names = [{name for record in run.records for name in record.retrieval_metrics} for run in runs]
    if not all(names):
        return ()
    smallest = min(int(name.rpartition("_")[2]) for found in names for name in found if name.startswith("ndcg_at_"))
    metric = f"retrieval/ndcg_at_{smallest}"
    try:
        return (compare_sweep(at_equal_k(runs, metric), metric),)
    except RunnerError:
        return ()


def verdict_lines(comparisons: Sequence[SweepComparison]) -> list[str]:
    """One line a judge: the verdict for two jobs, who may be the best for more."""
    lines = []
    for one in comparisons:
        if len(one.pairs) == 1:
            lines.append(one.pairs[0].sentence)
        else:
            lines.append(one.sentences[0])
    return lines


def comparison_files(comparisons: Sequence[SweepComparison]) -> dict[str, str]:
    """Artifacts of the parent run: file name → content."""
    if not comparisons:
        return {}
    import pandas

    pairs = pandas.concat([one.to_frame() for one in comparisons])
    standings = pandas.concat([one.standings_frame().assign(metric=one.metric) for one in comparisons])
    whole = [dataclasses.asdict(one) for one in comparisons]
    return {
        "comparisons.csv": str(pairs.to_csv(index=False)),
        "standings.csv": str(standings.to_csv(index=False)),
        "comparisons.json": json.dumps(whole, indent=1),
    }


def comparison_metrics(comparisons: Sequence[SweepComparison]) -> dict[str, float]:
    """Metrics of the parent run, one slash each; undefined ones are left out."""
    from runner.statistics.summary import metric_name

    found: dict[str, Any] = {}
    for one in comparisons:
        if one.indistinguishable:
            found[metric_name(one.metric, "jobs_that_may_be_best")] = float(len(one.indistinguishable))
        if one.optimism is not None:
            found[metric_name(one.metric, "optimism_of_the_best")] = one.optimism.expected_drop
        decided = sum(pair.verdict.value in ("better", "worse") for pair in one.pairs)
        found[metric_name(one.metric, "pairs_decided")] = float(decided)
    return found
