"""What a user's own application returns: an answer, perhaps with contexts and usage, or a reason why it is unusable."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from runner import json_paths
from runner.records import Call, Reason, Stage, Usage
from runner.text.surrogates import without_surrogates, without_surrogates_within

if TYPE_CHECKING:
    from runner.calls import Door

_SHAPE = "a text, or an object with answer and perhaps contexts (a list of texts) and usage"
MOST_TOKENS = 1_000_000_000
"""Of one answer, far above what any model takes: more is a mistake, and no money can be counted with it."""
MOST_COST = Decimal(1_000_000)
"""US dollars that one answer may say it cost."""
_SHOWN = 60
"""Characters of a wrong value that a message shows."""


class Unusable(Exception):
    """What was returned is no answer; the text goes on after the application's name."""

    def __init__(self, reason: str, text: str) -> None:
        super().__init__(without_surrogates(text))
        self.reason = reason


@dataclass(frozen=True, slots=True)
class Returned:
    """An answer of an application."""

    text: str
    contexts: tuple[str, ...] | None
    """``None``: it returned none, not even an empty list."""
    usage: Mapping[str, Any] | None
    seconds: float


def read(told: Any, seconds: float) -> Returned:
    """What an application returned, checked; its texts can be written. Raises Unusable (malformed, empty)."""
    try:
        return _read(told, seconds)
    except Unusable:
        raise
    except Exception as error:
        # An object of the application's own that fails when it is looked at, or one that holds itself.
        said = f"returned something that cannot be read ({type(error).__name__}: {_shown(error, str)})"
        raise Unusable(Reason.MALFORMED, said) from None


def _read(told: Any, seconds: float) -> Returned:
    if isinstance(told, str):
        told = {"answer": told}
    if not isinstance(told, Mapping):
        raise Unusable(Reason.MALFORMED, f"returned {_kind(told)} instead of {_SHAPE}")
    if "answer" not in told:
        keys = ", ".join(str(key) for key in list(told)[:8]) or "nothing"
        raise Unusable(Reason.MALFORMED, f"returned no answer (there is: {keys}); it must be {_SHAPE}")
    text, contexts, usage = told["answer"], told.get("contexts"), told.get("usage")
    if not isinstance(text, str):
        raise Unusable(Reason.MALFORMED, f"returned {_kind(text)} as the answer instead of a text")
    if not text.strip():
        raise Unusable(Reason.EMPTY, "returned an empty answer")
    if contexts is not None:
        if isinstance(contexts, str) or not isinstance(contexts, Sequence):
            raise Unusable(Reason.MALFORMED, f"returned {_kind(contexts)} as contexts instead of a list of texts")
        wrong = next((item for item in contexts if not isinstance(item, str)), None)
        if wrong is not None:
            raise Unusable(Reason.MALFORMED, f"returned {_kind(wrong)} among the contexts instead of a text")
    if usage is not None and not isinstance(usage, Mapping):
        raise Unusable(Reason.MALFORMED, f"returned {_kind(usage)} as usage instead of an object")
    usage = None if usage is None else {key: usage[key] for key in _USAGE if usage.get(key) is not None}
    _usage(usage or {})
    if usage is not None:
        usage = without_surrogates_within(usage)
    texts = None if contexts is None else tuple(without_surrogates(item) for item in contexts)
    return Returned(without_surrogates(text.strip()), texts, usage, seconds)


def reported_call(usage: Mapping[str, Any] | None, model: str, door: Door, seconds: float) -> tuple[Call, ...]:
    """The usage that an application reports itself, as a call that the ledger does not hold: none where it is silent.

    ``cost_usd`` wins over the price of its tokens. What it asked through our client is counted already and must not
    be reported.
    """
    if not usage:
        return ()
    tokens, own_cost = _usage(usage)
    name = str(usage.get("model") or model)
    priced = door.priced("openai", name, tokens)
    cost = priced.total_cost if own_cost is None else own_cost
    return (
        Call(
            key="",
            stage=Stage.GENERATE,
            model=name,
            provider="application",
            status="ok",
            from_ledger=False,
            usage=tokens,
            input_cost=priced.input_cost if own_cost is None else own_cost,
            output_cost=priced.output_cost if own_cost is None else Decimal(0),
            total_cost=cost,
            new_cost=cost,
            latency_s=seconds,
            attempts=1,
            started_at=(datetime.now(UTC) - timedelta(seconds=seconds)).isoformat(timespec="milliseconds"),
        ),
    )


_INPUT = ("input_tokens", "prompt_tokens")
_OUTPUT = ("output_tokens", "completion_tokens")
_USAGE = ("model", "cost_usd", *_INPUT, *_OUTPUT)
"""What is read of a usage."""


def _usage(usage: Mapping[str, Any]) -> tuple[Usage, Decimal | None]:
    def refused(name: str, value: object, instead: str) -> Unusable:
        return Unusable(Reason.MALFORMED, f"returned {name}={_shown(value)} in usage instead of {instead}")

    def count(*names: str) -> int:
        name, value = next(((name, usage[name]) for name in names if usage.get(name) is not None), (names[0], 0))
        if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= MOST_TOKENS:
            raise refused(name, value, f"a count of tokens (0 to {MOST_TOKENS:,})")
        return int(value)

    cost = usage.get("cost_usd")
    try:
        money = None if cost is None else Decimal(str(cost))
    except (ValueError, ArithmeticError, RecursionError):
        money = Decimal("NaN")
    if money is not None and not (money.is_finite() and 0 <= money <= MOST_COST):
        raise refused("cost_usd", cost, f"US dollars (0 to {MOST_COST:,})")
    model = usage.get("model")
    if model is not None and not isinstance(model, str):
        raise refused("model", model, "a name")
    return Usage(count(*_INPUT), count(*_OUTPUT)), money


def _shown(value: object, write: Callable[[Any], str] = repr) -> str:
    """A value for a message, which must not fail because of it: it may be endless, deep or hostile."""
    try:
        text = write(value)
    except Exception:
        return _kind(value)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."


def _kind(value: object) -> str:
    names = {type(None): "nothing (None)", list: "a list", dict: "an object", str: "a text", bool: "true or false"}
    return names.get(type(value), f"a value of type {type(value).__name__}")


def select(value: Any, path: str) -> Any:
    """What stands at a path such as ``data.answer``, ``choices.0.text`` or ``docs.*.text`` (a list of all).

    Raises Unusable (malformed) that says how far the path led.
    """
    try:
        return json_paths.select(value, path)
    except json_paths.NotThere as gap:
        place = gap.holder or "the reply"
        raise Unusable(Reason.MALFORMED, f"returned nothing at {gap.place} ({place} holds: {gap.holds})") from gap
