"""All figures of one run: the summary of its scores and money, with its counts by blame and by abstention."""

from __future__ import annotations

import dataclasses

from runner.judging import diagnosis_metrics
from runner.records import RunResult, RunSummary
from runner.statistics import summarise


def summarised(run: RunResult) -> RunSummary:
    """What a run comes down to, with every metric that is logged."""
    summary = summarise(run)
    return dataclasses.replace(summary, metrics={**summary.metrics, **diagnosis_metrics(run.records)})
