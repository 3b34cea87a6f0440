"""Rules of the gate: a misspelt metric or judge must be found before anything is paid, not when the bill is there."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from runner.config import schema
from runner.config.spelling import did_you_mean
from runner.errors import Problem

_GROUPS = ("answers", "retrieval", "cost", "latency", "tokens", "calls", "blame", "abstention")
"""What stands before the slash of a metric beside the names of judges and panels."""


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
    for name in gate.baseline.judges:
        if name not in judges:
            yield Problem("gate.baseline.judges", f"there is no judge {name}", did_you_mean(name, judges))
