"""Numbers that people give: options of verbs in their range, and nothing that is infinite or no number at all."""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable, Iterator
from typing import Any

from runner.errors import ConfigurationError, Problem

GREATEST_SEED = 2**63 - 1
"""What fits the seed that OpenAI's API takes."""


def whole_number(at_least: int, at_most: int | None = None) -> Callable[[str], int]:
    """A type for ``argparse``: a whole number in this range."""

    def read(text: str) -> int:
        try:
            number = int(text)
        except ValueError:
            number = at_least - 1
        if number < at_least or (at_most is not None and number > at_most):
            raise argparse.ArgumentTypeError(f"{text!r} is not a whole number {_range(at_least, at_most)}")
        return number

    return read


def real_number(at_least: float, at_most: float | None = None) -> Callable[[str], float]:
    """A type for ``argparse``: a finite number in this range."""

    def read(text: str) -> float:
        try:
            number = float(text)
        except ValueError:
            number = math.nan
        if not math.isfinite(number) or number < at_least or (at_most is not None and number > at_most):
            raise argparse.ArgumentTypeError(f"{text!r} is not a number {_range(at_least, at_most)}")
        return number

    return read


seed_number = whole_number(0, GREATEST_SEED)
"""A type for ``argparse``: what starts a random draw."""


def check_seed(seed: int) -> None:
    """Raises ConfigurationError where a function was given a seed that no draw can start from."""
    if not 0 <= seed <= GREATEST_SEED:
        raise ConfigurationError(f"seed: must be a whole number {_range(0, GREATEST_SEED)}, not {seed}")


def check_margin(margin: float) -> None:
    """Raises ConfigurationError where a margin is below 0, infinite or no number."""
    if not math.isfinite(margin) or margin < 0:
        raise ConfigurationError(f"margin: must be a number {_range(0, None)}, not {margin:g}")


def not_finite(values: Any, where: str = "") -> Iterator[Problem]:
    """Every infinite number and NaN in nested values: not every range excludes them, and JSON cannot hold them."""
    if isinstance(values, float):
        if not math.isfinite(values):
            yield Problem(where, f"must be a finite number, not {values}")
    elif isinstance(values, dict):
        for key, value in values.items():
            yield from not_finite(value, f"{where}.{key}" if where else str(key))
    elif isinstance(values, (list, tuple)):
        for place, value in enumerate(values):
            yield from not_finite(value, f"{where}[{place}]")


def _range(at_least: float, at_most: float | None) -> str:
    return f"from {at_least:g} on" if at_most is None else f"from {at_least} to {at_most}"
