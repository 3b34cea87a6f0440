"""Adds the calls of a plan up: for each job and for all together, where calls that jobs share count once."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal

from runner.config.schema import Config
from runner.sweeps.estimates import NOTHING, CallEstimate, Estimator, Range

USUAL_LATENCY_S = 1.5
"""Seconds of a call, where the ledger has no past."""
UNKNOWN = "unknown "
"""Begins the key of a call that stands on an answer that is not there yet."""


@dataclass(frozen=True, slots=True)
class JobPlan:
    """What one job, or a whole sweep, will ask for."""

    name: str
    calls_low: int
    calls_high: int
    unique_low: int
    """Distinct calls; equal requests are one call."""
    unique_high: int
    held_low: int
    """Of the distinct calls, those that the ledger answers."""
    held_high: int
    input_tokens: Range
    """Of the calls to be made."""
    output_tokens: Range
    cost: Range | None
    """US dollars of the calls to be made; ``None``: a price is unknown."""
    unknown_prices: tuple[str, ...]
    models: tuple[tuple[str, str], ...] = ()
    """(provider, model) of the calls to be made."""


@dataclass(frozen=True, slots=True)
class SweepPlan:
    """The plan of all jobs together."""

    jobs: tuple[JobPlan, ...]
    total: JobPlan
    """Calls that several jobs share are counted once."""
    seconds: float
    """About how long the calls take at the set limits."""
    grounds: str
    """What the estimates rest on."""
    warnings: tuple[str, ...]
    duplicates: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Walk:
    """The calls of one job, as the most and the fewest that they may be."""

    most: list[CallEstimate] = field(default_factory=list)
    fewest: list[CallEstimate] = field(default_factory=list)


def summary(name: str, walk: Walk) -> JobPlan:
    """The figures of these calls."""
    most = {call.key: call for call in walk.most}
    fewest = {call.key: call for call in walk.fewest}
    new_most = [call for call in most.values() if not call.held]
    new_fewest = [call for call in fewest.values() if not call.held]
    unknown = tuple(sorted({call.model for call in new_most if call.cost is None}))
    # Calls that stand on an answer that is not there yet may turn out to be in the ledger.
    uncertain = sum(call.key.startswith(UNKNOWN) for call in most.values())
    held = sum(call.held for call in most.values())
    return JobPlan(
        name=name,
        calls_low=len(walk.fewest),
        calls_high=len(walk.most),
        unique_low=len(fewest),
        unique_high=len(most),
        held_low=held,
        held_high=held + uncertain,
        input_tokens=_span([c.input_tokens for c in new_fewest], [c.input_tokens for c in new_most]),
        output_tokens=_span([c.output_tokens for c in new_fewest], [c.output_tokens for c in new_most]),
        cost=None if unknown else _cost(new_fewest, new_most),
        unknown_prices=unknown,
        models=tuple(sorted({(call.provider, call.model) for call in new_most})),
    )


def _cost(fewest: Sequence[CallEstimate], most: Sequence[CallEstimate]) -> Range:
    return _span([call.cost or NOTHING for call in fewest], [call.cost or NOTHING for call in most])


def _span(fewest: Sequence[Range], most: Sequence[Range]) -> Range:
    low = sum((figure.low for figure in fewest), Decimal(0))
    expected = sum((figure.expected for figure in most), Decimal(0))
    high = sum((figure.high for figure in most), Decimal(0))
    return Range(low, expected, high)


def seconds(calls: Sequence[CallEstimate], config: Config, estimator: Estimator) -> float:
    """The time of the busiest model: its calls side by side, or its requests a minute if these are fewer."""
    busiest = 0.0
    models = {(call.provider, call.model) for call in calls}
    for provider, model in models:
        distinct = {c.key: c for c in calls if c.model == model and not c.held}
        busy = sum(estimator.latency_s(call.stage, model, USUAL_LATENCY_S) for call in distinct.values())
        needed = busy / (1 if provider == "embedded" else config.calls.concurrency)
        limit = _requests_per_minute(config, model)
        if limit is not None:
            needed = max(needed, len(distinct) / limit * 60)
        busiest = max(busiest, needed)
    return math.ceil(busiest)


def _requests_per_minute(config: Config, model: str) -> int | None:
    endpoints = [(config.generator.model, config.generator.endpoint)]
    endpoints += [(judge.model, judge.endpoint) for judge in config.judges.values()]
    limits = [e.requests_per_minute for name, e in endpoints if name == model and e.requests_per_minute]
    return min(limits, default=None)


def grounds(measured: Sequence[str], pairs: int) -> str:
    """One sentence: what the estimates rest on."""
    rule = "4 characters a token, a quarter of each output limit expected and all of it at most"
    if not pairs:
        return "no model is called"
    if not measured:
        return f"estimated by rule: {rule}"
    rest = f"; the rest by rule: {rule}" if len(measured) < pairs else ""
    return f"estimated from the ledger's past for {', '.join(measured)}{rest}"
