"""Rules of the gate: a misspelt metric or judge must be found before anything is paid, not when the bill is there."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from runner.config import schema
from runner.config.spelling import did_you_mean
from runner.errors import Problem

_GROUPS = ("answers", "retrieval", "cost", "latency", "tokens", "calls", "blame", "abstention")
"""What stands before the slash of a metric beside the names of judges and panels."""

JUDGE_METRICS = (
    "mean",
    "pass_rate",
    "scored",
    "failed",
    "not_applicable",
    "standard_error",
    "worst_case",
    "best_case",
    "pass_rate_worst_case",
    "pass_rate_best_case",
)
"""What stands after the slash of a metric of a judge or panel."""
LATENCY = re.compile(r"answer_p(\d{1,2}(?:\.\d+)?)_s")
"""What stands after ``latency/``: a percentile above 0 and below 100."""


def gate_problems(config: schema.Config) -> Iterator[Problem]:
    """Thresholds without a limit, and names that nothing in the configuration has."""
    judges = [*config.judges, *config.panels] if config.generator.kind != "none" else []
    yield from problems_of(config.gate, judges)


def problems_of(gate: schema.Gate, judges: Sequence[str]) -> Iterator[Problem]:
    """The same for a gate and the judges and panels that it is about."""
    for index, threshold in enumerate(gate.thresholds):
        where = f"gate.thresholds[{index}]"
        if threshold.at_least is None and threshold.at_most is None:
            yield Problem(where, "has no limit", "give it at_least or at_most")
        group, slash, name = threshold.metric.partition("/")
        if not slash or not name:
            yield Problem(f"{where}.metric", f"{threshold.metric!r} is not of the form GROUP/NAME",
                          "write it as MLflow shows it, such as grounding/mean")  # fmt: skip
        elif group not in (*judges, *_GROUPS):
            yield Problem(f"{where}.metric", f"{group} is no judge of this configuration and no group of metrics",
                          did_you_mean(group, [*judges, *_GROUPS]))  # fmt: skip
        elif group in judges and name not in JUDGE_METRICS:
            yield Problem(f"{where}.metric", f"a judge has no metric {name}", did_you_mean(name, JUDGE_METRICS))
        elif group == "latency" and group not in judges and not _is_percentile(name):
            yield Problem(f"{where}.metric", f"there is no latency {name}",
                          "write latency/answer_p95_s, with any percentile above 0 and below 100")  # fmt: skip
    yield from _impossible(gate.thresholds)
    for name in gate.baseline.judges:
        if name not in judges:
            yield Problem("gate.baseline.judges", f"there is no judge {name}", did_you_mean(name, judges))


def _is_percentile(name: str) -> bool:
    found = LATENCY.fullmatch(name)
    return found is not None and float(found[1]) > 0


def _impossible(thresholds: Sequence[schema.Threshold]) -> Iterator[Problem]:
    """Limits of one metric, in one threshold or in several, that no number is between."""
    lowest: dict[str, float] = {}
    highest: dict[str, float] = {}
    for index, threshold in enumerate(thresholds):
        name = threshold.metric
        before = name in lowest and name in highest and lowest[name] > highest[name]
        if threshold.at_least is not None:
            lowest[name] = max(threshold.at_least, lowest.get(name, threshold.at_least))
        if threshold.at_most is not None:
            highest[name] = min(threshold.at_most, highest.get(name, threshold.at_most))
        if not before and name in lowest and name in highest and lowest[name] > highest[name]:
            yield Problem(
                f"gate.thresholds[{index}]",
                f"no number is at least {lowest[name]:g} and at most {highest[name]:g}, as {name} would have to be",
                "at_least must not be above at_most",
            )
