"""Comparisons, intervals, agreement, correction with human labels, power: numbers from stored records, at no cost."""

from runner.statistics.summary import summarise

__all__ = ["summarise"]
