"""Comparisons, intervals, agreement, correction with human labels, power: numbers from stored records, at no cost."""

from runner.statistics.compare import compare_runs
from runner.statistics.power import design_help
from runner.statistics.summary import summarise
from runner.statistics.sweep import compare_sweep

__all__ = ["compare_runs", "compare_sweep", "design_help", "summarise"]
