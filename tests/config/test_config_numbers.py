"""Numbers that are infinite, no number, or out of range are refused before anything is paid."""

from __future__ import annotations

import argparse
import dataclasses
import math
import typing
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runner.config import compose_jobs, prepare
from runner.config.numbers import check_margin, check_seed, not_finite, real_number, seed_number, whole_number
from runner.config.schema import Config
from runner.config.validation import wrong_values
from runner.errors import ConfigurationError

pytestmark = pytest.mark.usefixtures("home")


def numbers(values: Any, kind: Any, where: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Where a value of the schema may be a float."""
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if origin is typing.Annotated:
        yield from numbers(values, arguments[0], where)
    elif dataclasses.is_dataclass(kind):
        hints = typing.get_type_hints(kind, include_extras=True)
        for name, inner in hints.items():
            yield from numbers(values[name], inner, (*where, name))
    elif origin is dict and values:
        for key in values:
            yield from numbers(values[key], arguments[1], (*where, key))
    elif origin is list and values:
        for place in range(len(values)):
            yield from numbers(values[place], arguments[0], (*where, place))
    elif kind is float or kind is Any:
        yield where
    else:
        for inner in arguments:
            if inner is float or typing.get_origin(inner) is typing.Annotated:
                yield from numbers(values, inner, where)


@pytest.fixture
def values(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    (job,) = compose_jobs(["stack=openai", "budget=one_dollar", "judge=[grounding,topicality]"], multirun=False)
    found = dataclasses.asdict(job.config)
    found["prices"] = [{"model": "m", "input": 1.0, "cached_input": 1.0, "output": 1.0, "per": 1}]
    found["gate"]["thresholds"] = [{"metric": "grounding/mean", "at_least": 1.0, "at_most": 2.0}]
    found["generator"]["settings"] = {"warmth": 1.0}
    assert not list(wrong_values(found))
    return found


def test_no_number_of_the_configuration_may_be_infinite_or_nan(values: dict[str, Any]) -> None:
    places = list(numbers(values, Config))
    assert {("budget", "max_usd"), ("prices", 0, "input"), ("gate", "baseline", "margin")} <= set(places)
    assert len(places) > 20
    for place in places:
        *above, last = place
        node: Any = values
        for step in above:
            node = node[step]
        before = node[last]
        for bad in (math.nan, math.inf, -math.inf):
            node[last] = bad
            (problem,) = wrong_values(values)
            assert problem.what == f"must be a finite number, not {bad}"
            assert str(last).replace("0", "[0]") in problem.where
        node[last] = before


@pytest.mark.parametrize(
    ("override", "said"),
    [
        ("budget.max_usd=1e400", "budget.max_usd: must be a finite number, not inf"),
        ("budget.max_usd=nan", "budget.max_usd: must be a finite number, not nan"),
        ("retriever.score_threshold=inf", "must be a finite number"),
        ("gate.baseline.margin=nan", "must be a finite number"),
        ("gate.baseline.margin=-1", "must be at least 0"),
        ("calls.attempt_timeout_s=1e300", "must be at most 86400"),
        ("seed=9223372036854775808", "must be at most 9223372036854775807"),
        ("seed=-1", "must be at least 0"),
    ],
)
def test_an_infinite_cap_is_no_cap_and_refused(override: str, said: str) -> None:
    with pytest.raises(ConfigurationError) as raised:
        prepare(["stack=extractive", override], multirun=False)
    assert said in str(raised.value)


@pytest.mark.parametrize("bad", ["nan", "-nan", "inf", "-inf", "1e400", "-1", "one", ""])
def test_an_option_that_is_a_number_takes_no_other_thing(bad: str) -> None:
    with pytest.raises(argparse.ArgumentTypeError, match="is not a number from 0 on"):
        real_number(0)(bad)


@pytest.mark.parametrize("bad", ["nan", "1e3", "0.5", "-1", "0", "1001", ""])
def test_an_option_that_counts_takes_whole_numbers_of_its_range(bad: str) -> None:
    with pytest.raises(argparse.ArgumentTypeError, match="is not a whole number from 1 to 1000"):
        whole_number(1, 1000)(bad)


@given(st.integers(0, 2**63 - 1), st.floats(0, allow_infinity=False))
def test_numbers_in_range_are_taken_as_they_are(whole: int, real: float) -> None:
    assert seed_number(str(whole)) == whole
    assert real_number(0)(repr(real)) == real
    check_seed(whole)
    check_margin(real)
    assert not list(not_finite({"a": [whole, real]}))
