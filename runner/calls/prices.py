"""What a call costs, in Decimal US dollars: the user's prices first, the price table second, else "unknown".

Unknown is never 0 and never guessed. Nothing is rounded here except by ``show``. Rules (OpenAI's price pages, as in
genai-prices): cached tokens are part of the input and cheaper; cache writes are part of the input and dearer where the
table says so; reasoning is part of the output; Batch is half price.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from decimal import ROUND_HALF_UP, Decimal
from functools import lru_cache
from typing import Any

from runner.config.schema import Price
from runner.records import Usage

__all__ = ["Priced", "known", "price", "show", "table_version", "worst_case"]

UNKNOWN = "unknown"
LOCAL = "local"
USER = "user"

_MILLION = Decimal(1_000_000)
_HALF = Decimal("0.5")
_SNAPSHOT = re.compile(r"-\d{4}-\d{2}-\d{2}$")
_TABLES = {"openai": "openai"}
"""Provider of ours → provider of the table. A compatible server is never looked up: its names mean other models."""


@dataclass(frozen=True, slots=True)
class Priced:
    """What some usage costs; ``None``: price unknown."""

    input_cost: Decimal | None
    output_cost: Decimal | None
    total_cost: Decimal | None
    source: str
    """``user``, ``local``, ``genai-prices <version>`` or ``unknown``."""


@dataclass(frozen=True, slots=True)
class _Rates:
    """US dollars per token."""

    input: Decimal
    cached: Decimal
    cache_write: Decimal
    output: Decimal
    source: str

    def priced(self, usage: Usage) -> Priced:
        cached = min(usage.cached_input_tokens, usage.input_tokens)
        written = min(usage.cache_write_tokens, usage.input_tokens - cached)
        plain = usage.input_tokens - cached - written
        given = plain * self.input + cached * self.cached + written * self.cache_write
        made = usage.output_tokens * self.output
        return Priced(given, made, given + made, self.source)


def price(
    provider: str,
    model: str,
    usage: Usage,
    *,
    at: datetime,
    batch: bool = False,
    overrides: Sequence[Price] = (),
    asked: str | None = None,
) -> Priced:
    """The price of this usage for a request sent ``at`` (a time without zone is UTC).

    ``model`` is the name that the reply gave, which may be a snapshot; ``asked`` the name that was asked for, looked up
    where the first is unknown. ``batch``: the request went through a Batch, which replies do not say.
    """
    for name in _names(model, asked):
        own = _override(name, overrides)
        if own is not None:
            return _user_rates(own, batch).priced(usage)
    if provider == "embedded":
        return Priced(Decimal(0), Decimal(0), Decimal(0), LOCAL)
    for name in _names(model, asked):
        found = _from_table(provider, name, usage, at, batch)
        if found is not None:
            return found
    return Priced(None, None, None, UNKNOWN)


def worst_case(
    provider: str,
    model: str,
    *,
    input_tokens: int,
    output_tokens: int,
    at: datetime,
    overrides: Sequence[Price] = (),
) -> Decimal | None:
    """The most that so many tokens can cost: nothing cached, or all of it written to the cache where that is dearer."""
    plain = price(provider, model, Usage(input_tokens, output_tokens), at=at, overrides=overrides).total_cost
    written = Usage(input_tokens, output_tokens, cache_write_tokens=input_tokens)
    dearer = price(provider, model, written, at=at, overrides=overrides).total_cost
    return None if plain is None or dearer is None else max(plain, dearer)


def known(provider: str, model: str, overrides: Sequence[Price] = ()) -> bool:
    """Whether the model has a price today."""
    return price(provider, model, Usage(), at=datetime.now(UTC), overrides=overrides).source != UNKNOWN


def table_version() -> str:
    """Name and version of the price table, to be logged beside every figure."""
    import genai_prices

    return f"genai-prices {genai_prices.__version__}"


def show(amount: Decimal | None) -> str:
    """Money for people: ``unknown``, ``$0``, ``$12.34``, ``$0.0123``, ``$0.00042`` (two digits that count)."""
    if amount is None:
        return UNKNOWN
    if amount == 0:
        return "$0"
    size = abs(amount)
    digits = 2 if size >= 1 else 4 if size >= Decimal("0.01") else 1 - size.adjusted()
    rounded = size.quantize(Decimal(1).scaleb(-digits), ROUND_HALF_UP)
    return f"{'-' if amount < 0 else ''}${rounded:f}"


def _names(model: str, asked: str | None) -> tuple[str, ...]:
    return (model,) if asked is None or asked == model else (model, asked)


def _override(model: str, overrides: Sequence[Price]) -> Price | None:
    """The user's price of this very name, else of the name without its snapshot date; the last of equals wins."""
    for name in (model, _SNAPSHOT.sub("", model)):
        for candidate in reversed(overrides):
            if candidate.model == name:
                return candidate
    return None


def _user_rates(own: Price, batch: bool) -> _Rates:
    def per_token(amount: float) -> Decimal:
        return Decimal(str(amount)) / own.per * (_HALF if batch else 1)

    given = per_token(own.input)
    cached = given if own.cached_input is None else per_token(own.cached_input)
    return _Rates(given, cached, given, per_token(own.output), USER)


def _from_table(provider: str, model: str, usage: Usage, at: datetime, batch: bool) -> Priced | None:
    table = _TABLES.get(provider)
    if table is None:
        return None
    day = (at if at.tzinfo is None else at.astimezone(UTC)).date()
    found = _listed(table, model, day, batch)
    if found is None or isinstance(found, _Rates):
        return None if found is None else found.priced(usage)
    return found.priced(usage)


@dataclass(frozen=True, slots=True)
class _Tiered:
    """A price that depends on the size of the input: the table's own arithmetic does it."""

    prices: Any
    factor: Decimal
    source: str

    def priced(self, usage: Usage) -> Priced:
        from genai_prices import Usage as TableUsage

        cached = min(usage.cached_input_tokens, usage.input_tokens)
        counts = TableUsage(
            input_tokens=usage.input_tokens,
            output_tokens=usage.output_tokens,
            cache_read_tokens=cached,
            cache_write_tokens=min(usage.cache_write_tokens, usage.input_tokens - cached),
        )
        costs = self.prices.calc_price(counts)
        given, made = costs["input_price"] * self.factor, costs["output_price"] * self.factor
        return Priced(given, made, given + made, self.source)


@lru_cache(maxsize=1024)
def _listed(table: str, model: str, day: date, batch: bool) -> _Rates | _Tiered | None:
    """The table's price on that day; looked up once per model and day, because a look-up costs 70 µs."""
    from genai_prices.data_snapshot import get_snapshot

    moment = datetime(day.year, day.month, day.day, tzinfo=UTC)
    try:
        _, entry = get_snapshot().find_provider_model(model, None, table, None)
    except LookupError:
        return None
    prices = entry.get_prices(moment)
    factor = Decimal(1)
    if batch:
        # Asked for a variant that it does not list (all embeddings, or a day before the listing begins) the table
        # answers with the standard price without a word. Batch is half price, so say so ourselves.
        listed = entry.get_prices(moment, {"processing": "batch"})
        prices, factor = (listed, Decimal(1)) if listed != prices else (prices, _HALF)
    given = getattr(prices, "input_mtok", None)
    if given is None:
        return None
    cached = _or(getattr(prices, "cache_read_mtok", None), given)
    written = _or(getattr(prices, "cache_write_mtok", None), given)
    made = _or(getattr(prices, "output_mtok", None), Decimal(0))
    if all(isinstance(rate, Decimal) for rate in (given, cached, written, made)):
        per_token = factor / _MILLION
        return _Rates(given * per_token, cached * per_token, written * per_token, made * per_token, table_version())
    return _Tiered(prices, factor, table_version())


def _or(value: Any, default: Any) -> Any:
    return default if value is None else value
