"""What a person reads: the terminal tables and the files beside a run."""

from runner.report.stats_file import stats_json
from runner.report.text import plain

__all__ = ["plain", "stats_json"]
