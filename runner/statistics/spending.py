"""What a run spent: calls, tokens and money by stage and model, added exactly and each call once.

The rule, stated once here and used everywhere:

* A call is what its ledger key names. When one key occurs several times in a run (two questions that ask the same,
  a judge that repeats an equal request), it was paid once and is counted once, under the stage where it stands first.
* It counts as made when any occurrence was paid now (``from_ledger`` False), else as read from the ledger.
* Embedding calls (stage ``embed``) carry many texts, and each record holds its own share of them: the tokens and the
  money of all shares add up, the calls are still counted once a key.
* A sum with one unknown price is unknown (``None``), never the sum of the rest.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from decimal import Decimal

from runner.records import Call, RunResult, Stage, StageSpend, Usage

_STAGE_ORDER = (Stage.EMBED, Stage.GENERATE, Stage.JUDGE, Stage.OTHER)


def calls_of(run: RunResult) -> Iterator[Call]:
    """Every occurrence of a call in the run: the index first, then record by record."""
    yield from run.index_calls
    for record in run.records:
        yield from record.calls


def distinct_calls(run: RunResult) -> list[Call]:
    """The calls that count towards tokens and money: one a key, and every share of an embedding call.

    Of several occurrences of a key the one that was paid now is kept, else the first. A call without a key stands
    for itself.
    """
    kept: list[Call] = []
    place: dict[str, int] = {}
    for call in calls_of(run):
        if not call.key or call.stage == Stage.EMBED:
            kept.append(call)
        elif call.key not in place:
            place[call.key] = len(kept)
            kept.append(call)
        elif kept[place[call.key]].from_ledger and not call.from_ledger:
            kept[place[call.key]] = call
    return kept


@dataclass
class _Sum:
    made: set[str] = field(default_factory=set)
    replayed: set[str] = field(default_factory=set)
    usage: Usage = field(default_factory=Usage)
    input_cost: Decimal | None = Decimal(0)
    output_cost: Decimal | None = Decimal(0)
    total_cost: Decimal | None = Decimal(0)
    new_cost: Decimal | None = Decimal(0)

    def add(self, call: Call, name: str) -> None:
        (self.replayed if call.from_ledger else self.made).add(name)
        if call.usage is not None:
            self.usage = self.usage + call.usage
        self.input_cost = plus(self.input_cost, call.input_cost)
        self.output_cost = plus(self.output_cost, call.output_cost)
        self.total_cost = plus(self.total_cost, call.total_cost)
        self.new_cost = plus(self.new_cost, call.new_cost)


def plus(left: Decimal | None, right: Decimal | None) -> Decimal | None:
    """The sum of two amounts; unknown (``None``) if either is."""
    return None if left is None or right is None else left + right


def total(amounts: Iterable[Decimal | None]) -> Decimal | None:
    """The sum of all amounts; unknown (``None``) if any is."""
    result: Decimal | None = Decimal(0)
    for amount in amounts:
        result = plus(result, amount)
    return result


def spending(run: RunResult) -> tuple[StageSpend, ...]:
    """Calls, tokens and money by stage and model, in the order of the stages, then by model name."""
    sums: dict[tuple[str, str], _Sum] = {}
    for place, call in enumerate(distinct_calls(run)):
        sums.setdefault((call.stage, call.model), _Sum()).add(call, call.key or f"#{place}")
    return tuple(
        StageSpend(
            stage=stage,
            model=model,
            calls_made=len(found.made),
            calls_from_ledger=len(found.replayed - found.made),
            usage=found.usage,
            input_cost=found.input_cost,
            output_cost=found.output_cost,
            total_cost=found.total_cost,
            new_cost=found.new_cost,
        )
        for (stage, model), found in sorted(sums.items(), key=lambda item: (_stage_rank(item[0][0]), item[0]))
    )


def unknown_prices(run: RunResult) -> tuple[str, ...]:
    """Models with at least one call whose price is unknown, sorted."""
    return tuple(sorted({call.model for call in calls_of(run) if call.total_cost is None}))


def _stage_rank(stage: str) -> int:
    return _STAGE_ORDER.index(Stage(stage)) if stage in list(Stage) else len(_STAGE_ORDER)
