"""Prices to the last digit: the published ones, cached, written, reasoning, batch, dates, snapshots, the user's own."""

from __future__ import annotations

import json
import os
import random
import re
import subprocess
import sys
from datetime import UTC, datetime, timedelta, timezone
from decimal import Decimal
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from runner.calls import prices
from runner.config.schema import Price
from runner.records import Usage

AT = datetime(2026, 11, 1, tzinfo=UTC)
MILLION = 1_000_000

# US dollars per million tokens: input, cached input, output (OpenAI's price page, October 2026).
PUBLISHED = {
    "gpt-4o": ("2.50", "1.25", "10"),
    "gpt-4o-mini": (".15", ".075", ".60"),
    "gpt-4.1": ("2", ".50", "8"),
    "gpt-4.1-mini": (".40", ".10", "1.60"),
    "gpt-4.1-nano": (".10", ".025", ".40"),
    "gpt-5": ("1.25", ".125", "10"),
    "gpt-5.1": ("1.25", ".125", "10"),
    "gpt-5-mini": (".25", ".025", "2"),
    "gpt-5-nano": (".05", ".005", ".40"),
    "gpt-5.2": ("1.75", ".175", "14"),
    "gpt-5.4": ("2.50", ".25", "15"),
    "gpt-5.4-mini": (".75", ".075", "4.50"),
    "gpt-5.4-nano": (".20", ".02", "1.25"),
    "gpt-5.5": ("5", ".50", "30"),
    "gpt-5.6-sol": ("4", ".40", "20"),
    "gpt-5.6-terra": ("2", ".20", "12"),
    "gpt-5.6-luna": (".20", ".02", "1.20"),
    "text-embedding-3-small": (".02", ".02", "0"),
    "text-embedding-3-large": (".13", ".13", "0"),
    "text-embedding-ada-002": (".10", ".10", "0"),
}


def cost(model: str, *usage: int, provider: str = "openai", **more: Any) -> Decimal | None:
    return prices.price(provider, model, Usage(*usage), **({"at": AT} | more)).total_cost


@pytest.mark.parametrize("model", PUBLISHED)
def test_published_prices(model: str) -> None:
    # 100,000 tokens stay below the size from which some models charge more.
    given_rate, cached_rate, made_rate = (Decimal(rate) / 10 for rate in PUBLISHED[model])
    assert cost(model, 100_000) == given_rate
    assert cost(model, 100_000, 0, 100_000) == cached_rate
    assert cost(model, 0, 100_000) == made_rate


def test_input_and_output_are_priced_apart_and_add_up() -> None:
    priced = prices.price("openai", "gpt-5.4-mini", Usage(297, 50), at=AT)
    assert (priced.input_cost, priced.output_cost) == (Decimal("0.00022275"), Decimal("0.000225"))
    assert priced.total_cost == Decimal("0.00044775")
    assert priced.source == prices.table_version() == "genai-prices 0.2.3"


def test_rows_of_a_known_run_reproduce() -> None:
    rows = [cost("gpt-4o-mini", 229, 13), Decimal("0.00041085"), Decimal(".0118"), Decimal(".00757")]
    assert rows[0] == Decimal("0.00004215")
    assert sum(rows[1:]) == Decimal("0.01978085")


def test_snapshot_names_resolve() -> None:
    assert cost("gpt-5.4-mini-2026-03-17", 297, 50) == cost("gpt-5.4-mini", 297, 50)
    assert cost("gpt-4o-mini-2024-07-18", MILLION) == Decimal(".15")


def test_an_unlisted_snapshot_costs_what_the_name_asked_for_does() -> None:
    assert cost("gpt-4o-2031-01-01", MILLION) is None
    assert cost("gpt-4o-2031-01-01", MILLION, asked="gpt-4o") == Decimal("2.5")


def test_dearer_above_272k() -> None:
    assert cost("gpt-5.4", 300_000, 1_000) == Decimal("1.5225")
    assert cost("gpt-5.4", 272_000, 1_000) == Decimal("0.695")


@pytest.mark.parametrize(
    ("model", "day", "expected"),
    [
        ("gpt-5.6-sol", datetime(2026, 8, 20, 23, 59, tzinfo=UTC), "5"),
        ("gpt-5.6-sol", datetime(2026, 8, 21, tzinfo=UTC), "4"),
        ("gpt-5.6-terra", datetime(2026, 7, 30, tzinfo=UTC), "2"),
        ("o3", datetime(2025, 1, 1, tzinfo=UTC), "10"),
        ("o3", AT, "2"),
        # Two hours east of Greenwich the new day has begun, in UTC it has not.
        ("gpt-5.6-sol", datetime(2026, 8, 21, 1, 0, tzinfo=timezone(timedelta(hours=2))), "5"),
    ],
)
def test_price_of_the_request_date(model: str, day: datetime, expected: str) -> None:
    assert cost(model, 200_000, at=day) == Decimal(expected) / 5


def test_cached_tokens_are_part_of_the_input() -> None:
    assert cost("gpt-4o", 2000, 0, 1024) == (2000 - 1024) * Decimal("2.5e-6") + 1024 * Decimal("1.25e-6")
    assert cost("gpt-5.4", 300_000, 0, 100_000) == Decimal("1.05")


def test_cache_writes_cost_a_quarter_more_where_they_cost() -> None:
    for model in ("gpt-5.6-sol", "gpt-5.6-terra", "gpt-5.6-luna"):
        plain, written = cost(model, 1000), cost(model, 1000, 0, 0, 1000)
        assert written is not None
        assert plain is not None
        assert written == plain * Decimal("1.25")
    assert cost("gpt-4o", 1000, 0, 0, 1000) == cost("gpt-4o", 1000)


def test_reasoning_is_never_added_to_the_output() -> None:
    assert cost("gpt-5", 10, 500, 0, 0, 400) == cost("gpt-5", 10, 500)


@pytest.mark.parametrize("model", PUBLISHED)
def test_batch_is_half_price_embeddings_too(model: str) -> None:
    for day in (AT, datetime(2026, 9, 1, tzinfo=UTC)):
        whole = cost(model, 100_000, 3_000, at=day)
        assert whole is not None
        assert cost(model, 100_000, 3_000, at=day, batch=True) == whole / 2


def test_batch_above_272k() -> None:
    assert cost("gpt-5.4", 300_000, 1_000, batch=True) == Decimal("0.76125")


@pytest.mark.parametrize(
    ("provider", "model"),
    [("openai", "gpt-99"), ("openai", "qwen2.5"), ("openai_compatible", "gpt-4o"), ("openai_compatible", "llama3")],
)
def test_unknown_stays_unknown(provider: str, model: str) -> None:
    priced = prices.price(provider, model, Usage(10, 10), at=AT)
    assert priced == prices.Priced(None, None, None, "unknown")
    assert not prices.known(provider, model)
    assert prices.worst_case(provider, model, input_tokens=1, output_tokens=1, at=AT) is None


def test_the_embedded_server_costs_nothing() -> None:
    assert prices.price("embedded", "any", Usage(10, 10), at=AT) == prices.Priced(
        Decimal(0), Decimal(0), Decimal(0), "local"
    )
    assert prices.known("embedded", "any")


def test_the_users_price_wins_everywhere() -> None:
    own = [Price("gpt-4o", 1.1, 0.3, 2.2), Price("llama3", 0.1, output=0.2), Price("cheap", 3, output=6, per=1000)]
    assert cost("gpt-4o", 1000, 100, 400, overrides=own) == Decimal("0.001") * Decimal("1.0")
    assert prices.price("openai", "gpt-4o", Usage(1), at=AT, overrides=own).source == "user"
    assert cost("gpt-4o-2024-11-20", MILLION, overrides=own) == Decimal("1.1")
    assert cost("gpt-4o-mini", MILLION, overrides=own) == Decimal(".15")
    assert cost("llama3", MILLION, MILLION, MILLION, provider="openai_compatible", overrides=own) == Decimal("0.3")
    assert cost("cheap", 1, 1, provider="openai_compatible", overrides=own) == Decimal("0.009")
    assert cost("llama3", MILLION, provider="openai_compatible", overrides=own, batch=True) == Decimal("0.05")
    assert cost("served-name", MILLION, provider="openai_compatible", overrides=own, asked="llama3") == Decimal(".1")
    assert prices.known("openai_compatible", "llama3", own)


def test_a_users_price_of_zero_is_free_not_unknown() -> None:
    own = [Price("llama3", 0.0)]
    assert cost("llama3", 5, 5, provider="openai_compatible", overrides=own) == 0
    assert prices.worst_case("openai_compatible", "llama3", input_tokens=5, output_tokens=5, at=AT, overrides=own) == 0


def test_worst_case_is_never_below_the_real_price() -> None:
    assert prices.worst_case("openai", "gpt-5.6-luna", input_tokens=1000, output_tokens=10, at=AT) == Decimal(
        "0.000262"
    )
    assert prices.worst_case("openai", "gpt-4o", input_tokens=1000, output_tokens=10, at=AT) == Decimal("0.0026")


@given(
    st.sampled_from([*PUBLISHED]),
    st.integers(0, 400_000),
    st.integers(0, 100_000),
    st.integers(0, 400_000),
    st.integers(0, 400_000),
)
def test_worst_case_covers_every_usage(model: str, given_tokens: int, made: int, cached: int, written: int) -> None:
    worst = prices.worst_case("openai", model, input_tokens=given_tokens, output_tokens=made, at=AT)
    real = cost(model, given_tokens, made, cached, written)
    assert real is not None
    assert worst is not None
    assert 0 <= real <= worst


@given(st.sampled_from([*PUBLISHED]), st.integers(0, 400_000), st.integers(0, 100_000), st.integers(0, 400_000))
def test_same_as_the_tables_own_arithmetic(model: str, given_tokens: int, made: int, cached: int) -> None:
    import genai_prices

    cached = min(cached, given_tokens)
    counts = genai_prices.Usage(input_tokens=given_tokens, output_tokens=made, cache_read_tokens=cached)
    theirs = genai_prices.calc_price(counts, model, provider_id="openai", genai_request_timestamp=AT)
    ours = prices.price("openai", model, Usage(given_tokens, made, cached), at=AT)
    assert (ours.input_cost, ours.output_cost) == (theirs.input_price, theirs.output_price)


@given(
    st.lists(st.tuples(st.sampled_from([*PUBLISHED]), st.integers(0, 9000), st.integers(0, 900)), max_size=40),
    st.randoms(use_true_random=False),
)
def test_money_adds_up_in_any_order(calls: list[tuple[str, int, int]], shuffler: random.Random) -> None:
    costs = [cost(*call) or Decimal(0) for call in calls]
    shuffled = costs.copy()
    shuffler.shuffle(shuffled)
    assert sum(costs) == sum(shuffled)


@pytest.mark.parametrize(
    ("amount", "shown"),
    [
        (None, "unknown"),
        ("0", "$0"),
        ("0E-9", "$0"),
        ("12.345", "$12.35"),
        ("1", "$1.00"),
        ("0.01", "$0.0100"),
        ("0.01978085", "$0.0198"),
        ("0.00042", "$0.00042"),
        ("0.0000421499", "$0.000042"),
        ("1234.5", "$1234.50"),
        ("-0.5", "-$0.5000"),
    ],
)
def test_money_is_rounded_only_where_it_is_shown(amount: str | None, shown: str) -> None:
    assert prices.show(None if amount is None else Decimal(amount)) == shown


def test_importing_prices_loads_no_table() -> None:
    code = "import sys, runner.calls.prices; print('genai_prices' in sys.modules)"
    root = Path(__file__).parents[2]
    run = subprocess.run([sys.executable, "-c", code], cwd=root, capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "False"


# -- cross-check against MLflow's own table, which nobody of genai-prices wrote


def shipped_models() -> set[str]:
    """All OpenAI model names in the shipped configuration."""
    found = set()
    for file in (Path(__file__).parents[2] / "conf").rglob("*.yaml"):
        for name in re.findall(r"^\s*model:\s*['\"]?([\w.\-:]+)", file.read_text("utf-8"), re.MULTILINE):
            if re.match(r"gpt-|o\d|text-embedding-|chatgpt-", name):
                found.add(name)
    return found


def catalogue() -> dict[str, Any]:
    assert os.environ["MLFLOW_MODEL_CATALOG_URI"] == ""
    places = find_spec("mlflow")
    assert places is not None
    assert places.submodule_search_locations
    file = Path(places.submodule_search_locations[0]) / "utils" / "model_catalog" / "openai.json"
    return dict(json.loads(file.read_text("utf-8"))["models"])


@pytest.mark.parametrize("model", sorted({*PUBLISHED, *shipped_models()}))
def test_two_price_tables_agree(model: str) -> None:
    listed = catalogue()[model]["pricing"]
    given_rate = Decimal(str(listed["input_per_million_tokens"]))
    made_rate = Decimal(str(listed.get("output_per_million_tokens", 0)))
    cached_rate = Decimal(str(listed.get("cache_read_per_million_tokens", given_rate)))
    assert cost(model, 100_000) == given_rate / 10
    assert cost(model, 0, 100_000) == made_rate / 10
    assert cost(model, 100_000, 0, 100_000) == cached_rate / 10
    written = listed.get("cache_write_per_million_tokens")
    if written is not None:
        assert cost(model, 100_000, 0, 0, 100_000) == Decimal(str(written)) / 10
    batch = listed.get("service_tiers", {}).get("batch", {})
    if batch:
        assert cost(model, 100_000, batch=True) == Decimal(str(batch["input_per_million_tokens"])) / 10


def test_shipped_configuration_is_valid_yaml_with_prices_for_its_models() -> None:
    for file in (Path(__file__).parents[2] / "conf").rglob("*.yaml"):
        yaml.safe_load(file.read_text("utf-8"))
    assert [model for model in shipped_models() if not prices.known("openai", model)] == []
