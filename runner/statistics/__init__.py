"""Comparisons, intervals, agreement, correction with human labels, power: numbers from stored records, at no cost.

Results are frozen dataclasses of ``runner.findings``. To add a metric to compare, give its name to ``score_table``;
to add a coefficient of agreement, a function in ``coefficients`` and a line in ``agreement``.
"""

from runner.statistics.agreement import agreement
from runner.statistics.biases import bias_readings
from runner.statistics.calibrate import calibrate
from runner.statistics.compare import compare_runs
from runner.statistics.power import design_help
from runner.statistics.raters import between_judges, between_repeats
from runner.statistics.summary import summarise
from runner.statistics.sweep import compare_sweep

__all__ = [
    "agreement",
    "between_judges",
    "between_repeats",
    "bias_readings",
    "calibrate",
    "compare_runs",
    "compare_sweep",
    "design_help",
    "summarise",
]
