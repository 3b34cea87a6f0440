"""What a run spent, by stage and model: exact Decimal sums over the calls that count (see ``RunResult.calls``)."""

from __future__ import annotations

from runner.records import Call, RunResult, Stage, StageSpend, Usage, total_money

_STAGE_ORDER = [stage.value for stage in Stage]


def spending(run: RunResult) -> tuple[StageSpend, ...]:
    """Calls, tokens and money by stage and model, in the order of the stages, then by model name.

    A key counts as a call made when any of its occurrences was paid now, else as one read from the ledger.
    """
    groups: dict[tuple[str, str], list[Call]] = {}
    for call in run.calls:
        groups.setdefault((call.stage, call.model), []).append(call)
    return tuple(
        _spend(stage, model, calls)
        for (stage, model), calls in sorted(groups.items(), key=lambda item: (_rank(item[0][0]), item[0]))
    )


def unknown_prices(run: RunResult) -> tuple[str, ...]:
    """Models with at least one call whose price is unknown, sorted."""
    return tuple(sorted({call.model for call in run.calls if call.total_cost is None}))


def _spend(stage: str, model: str, calls: list[Call]) -> StageSpend:
    made = {call.key for call in calls if call.key and not call.from_ledger}
    stored = {call.key for call in calls if call.key and call.from_ledger} - made
    nameless = [call for call in calls if not call.key]
    return StageSpend(
        stage=stage,
        model=model,
        calls_made=len(made) + sum(not call.from_ledger for call in nameless),
        calls_from_ledger=len(stored) + sum(call.from_ledger for call in nameless),
        usage=sum((call.usage for call in calls if call.usage is not None), Usage()),
        input_cost=total_money(call.input_cost for call in calls),
        output_cost=total_money(call.output_cost for call in calls),
        total_cost=total_money(call.total_cost for call in calls),
        new_cost=total_money(call.new_cost for call in calls),
    )


def _rank(stage: str) -> int:
    return _STAGE_ORDER.index(stage) if stage in _STAGE_ORDER else len(_STAGE_ORDER)
