"""Adds the calls of a plan up: for each job and for all together, where calls that jobs share count once."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal

from runner.config.schema import Config
from runner.records import Stage
from runner.sweeps.estimates import NOTHING, CallEstimate, Estimator, Range

USUAL_LATENCY_S = 1.5
"""Seconds of a call, where the ledger has no past."""
UNKNOWN = "unknown "
"""Begins the key of a call that stands on something that is not there yet: an answer, a vector."""

Answered = Mapping[tuple[str, str, str], int]
"""(stage, model, question) → how many different calls the ledger answers."""


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
    new_low: int = 0
    """Distinct calls that are to be made."""
    new_high: int = 0


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
    """The calls of one job, as the most, the fewest and the likeliest that they may be."""

    most: list[CallEstimate] = field(default_factory=list)
    fewest: list[CallEstimate] = field(default_factory=list)
    likely: list[CallEstimate] = field(default_factory=list)

    def add(
        self,
        most: Sequence[CallEstimate],
        fewest: Sequence[CallEstimate] | None = None,
        likely: Sequence[CallEstimate] | None = None,
    ) -> None:
        """Calls that are known exactly where only ``most`` is given; the most are the likeliest if not told."""
        self.most.extend(most)
        self.fewest.extend(most if fewest is None else fewest)
        self.likely.extend(most if likely is None else likely)


def together(walks: Iterable[Walk]) -> Walk:
    """The calls of several jobs."""
    whole = Walk()
    for walk in walks:
        whole.add(walk.most, walk.fewest, walk.likely)
    return whole


def summary(name: str, walk: Walk, answered: Answered) -> JobPlan:
    """The figures of these calls."""
    most = {call.key: call for call in walk.most}
    fewest = {call.key: call for call in walk.fewest}
    likely = {call.key: call for call in walk.likely}
    new_most = [call for call in most.values() if not call.held]
    new_likely = [call for call in likely.values() if not call.held]
    held_most, held_fewest = (sum(call.held for call in calls.values()) for calls in (most, fewest))
    maybe_most, maybe_fewest = (_maybe_equal(calls.values(), answered) for calls in (most, fewest))
    # One that is not known yet may also turn out to be equal to another one of this plan.
    pools = Counter(answered) + Counter(_place(call) for call in fewest.values() if _is_new(call))
    spared = _maybe_equal(fewest.values(), pools)
    new_fewest = [call for call in fewest.values() if not call.held and call.key not in spared]
    unknown = tuple(sorted({call.model for call in new_most if call.cost is None}))
    return JobPlan(
        name=name,
        calls_low=len(walk.fewest),
        calls_high=len(walk.most),
        unique_low=len(fewest) - (len(spared) - len(maybe_fewest)),
        unique_high=len(most),
        held_low=held_most,
        held_high=max(held_most + len(maybe_most), held_fewest + len(maybe_fewest)),
        input_tokens=_span(*([c.input_tokens for c in calls] for calls in (new_fewest, new_likely, new_most))),
        output_tokens=_span(*([c.output_tokens for c in calls] for calls in (new_fewest, new_likely, new_most))),
        cost=None
        if unknown
        else _span(*([c.cost or NOTHING for c in calls] for calls in (new_fewest, new_likely, new_most))),
        unknown_prices=unknown,
        models=tuple(sorted({(call.provider, call.model) for call in new_most})),
        new_low=len(new_fewest),
        new_high=len(new_most),
    )


def _place(call: CallEstimate) -> tuple[str, str, str]:
    return str(call.stage), call.model, call.question


def _is_new(call: CallEstimate) -> bool:
    return not call.held and not call.key.startswith(UNKNOWN) and call.stage != Stage.EMBED


def _maybe_equal(calls: Iterable[CallEstimate], pools: Answered) -> set[str]:
    """Of the calls that are not known yet, the keys of as many as may be equal to one that is there, dearest first.

    Only a call about the same question can be: no more than the ledger has of them, and of controls, which the
    ledger has under no question.
    """
    by_place: defaultdict[tuple[str, str, str], list[CallEstimate]] = defaultdict(list)
    for call in calls:
        if call.key.startswith(UNKNOWN):
            by_place[_place(call)].append(call)
    found: set[str] = set()
    for (stage, model, question), some in by_place.items():
        most = pools.get((stage, model, question), 0) + pools.get((stage, model, ""), 0)
        some.sort(key=lambda call: -(call.cost or NOTHING).low)
        found.update(call.key for call in some[:most])
    return found


def _span(fewest: Sequence[Range], likely: Sequence[Range], most: Sequence[Range]) -> Range:
    low = sum((figure.low for figure in fewest), Decimal(0))
    expected = sum((figure.expected for figure in likely), Decimal(0))
    high = sum((figure.high for figure in most), Decimal(0))
    return Range(low, min(max(low, expected), high), high)


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
