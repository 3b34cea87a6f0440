"""What a call that was not made yet may cost: tokens and dollars as low, expected and high.

The ledger's own past decides where there is some; else these rules, which the plan names: a token of English is
about four characters (2.5 at worst, 6 at best), an answer takes a quarter of its output limit (a twentieth at best,
all of it at worst).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal

from runner.calls import ChatRequest
from runner.calls import prices as price_table
from runner.calls.bodies import body_as_meant
from runner.calls.history import History
from runner.calls.keys import canonical_json
from runner.config.schema import Price
from runner.records import Usage

BYTES_PER_TOKEN = (6.0, 4.0, 2.5)
"""For the low, the expected and the high estimate."""
OUTPUT_SHARE = (0.05, 0.25, 1.0)
"""Of the output limit, where the ledger has no past."""
HISTORY_NEEDED = 5
"""Replies of a model in a stage before its past is taken as a ground."""
HISTORY_MARGIN = 0.5
"""How far around the past's extremes the low and the high estimate reach."""


@dataclass(frozen=True, slots=True)
class Range:
    """Low, expected and high of a figure."""

    low: Decimal
    expected: Decimal
    high: Decimal

    def __add__(self, other: Range) -> Range:
        return Range(self.low + other.low, self.expected + other.expected, self.high + other.high)


NOTHING = Range(Decimal(0), Decimal(0), Decimal(0))


@dataclass(frozen=True, slots=True)
class CallEstimate:
    """One call that a job would make."""

    key: str
    stage: str
    model: str
    provider: str
    held: bool
    """The ledger answers it."""
    input_tokens: Range
    output_tokens: Range
    cost: Range | None
    """US dollars if it is made; ``None``: price unknown."""
    question: str = ""
    """The id of the question that it is about; empty for embeddings."""


class Estimator:
    """Estimates requests by the ledger's past and the price tables of one sweep."""

    def __init__(self, past: Mapping[tuple[str, str], History], overrides: Sequence[Price]) -> None:
        self._past = past
        self._overrides = tuple(overrides)
        self._at = datetime.now(UTC)

    def estimate(self, request: ChatRequest, stage: str, *, key: str, held: bool, question: str = "") -> CallEstimate:
        """What this request may come to."""
        size = len(canonical_json(body_as_meant(request)))
        provider = request.endpoint.provider
        return self.sized(
            stage, provider, request.model, size, request.max_tokens, key=key, held=held, question=question
        )

    def sized(
        self,
        stage: str,
        provider: str,
        model: str,
        size: int,
        max_tokens: int,
        *,
        key: str,
        held: bool,
        question: str = "",
    ) -> CallEstimate:
        """The same for a request of which only the size in bytes and the output limit are known."""
        past = self._past.get((stage, model))
        if past is not None and past.replies < HISTORY_NEEDED:
            past = None
        input_tokens = _input_range(size, past)
        output_tokens = _output_range(max_tokens, past)
        return CallEstimate(
            key=key,
            stage=stage,
            model=model,
            provider=provider,
            held=held,
            input_tokens=input_tokens,
            output_tokens=output_tokens,
            cost=self._cost(provider, model, input_tokens, output_tokens),
            question=question,
        )

    def latency_s(self, stage: str, model: str, otherwise: float) -> float:
        """Mean seconds of a call, from the past or as given."""
        past = self._past.get((stage, model))
        return past.mean_latency_s if past is not None and past.replies >= HISTORY_NEEDED else otherwise

    def has_past(self, stage: str, model: str) -> bool:
        past = self._past.get((stage, model))
        return past is not None and past.replies >= HISTORY_NEEDED

    def _cost(self, provider: str, model: str, input_tokens: Range, output_tokens: Range) -> Range | None:
        def at(pick: Callable[[Range], Decimal]) -> Decimal | None:
            usage = Usage(input_tokens=int(pick(input_tokens)), output_tokens=int(pick(output_tokens)))
            return price_table.price(provider, model, usage, at=self._at, overrides=self._overrides).total_cost

        low, expected, high = (at(lambda r: r.low), at(lambda r: r.expected), at(lambda r: r.high))
        if low is None or expected is None or high is None:
            return None
        return Range(low, expected, high)


def _input_range(size: int, past: History | None) -> Range:
    low, expected, high = (Decimal(int(size / ratio)) for ratio in BYTES_PER_TOKEN)
    if past is None:
        return Range(low, expected, high)
    known = Decimal(int(size * past.tokens_per_byte))
    return Range(min(low, known), known, max(high, known))


def _output_range(max_tokens: int, past: History | None) -> Range:
    if past is None:
        low, expected, high = (Decimal(int(max_tokens * share)) for share in OUTPUT_SHARE)
        return Range(low, expected, high)
    least = past.least_output_tokens * (1 - HISTORY_MARGIN)
    most = past.most_output_tokens * (1 + HISTORY_MARGIN)
    return Range(
        Decimal(int(least)), Decimal(round(past.mean_output_tokens)), Decimal(min(max(int(most), 1), 2 * max_tokens))
    )
