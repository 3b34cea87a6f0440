"""What is said, and asked, before a verb other than a run makes its first call."""

from __future__ import annotations

import sys

from runner.calls.prices import show as dollars
from runner.sweeps.plan_totals import JobPlan


def announcement(plan: JobPlan) -> str:
    """One line: the calls, and what they cost."""
    if plan.cost is None:
        money = f"price unknown: {', '.join(plan.unknown_prices)}"
    else:
        money = f"about {dollars(plan.cost.expected)}, at most {dollars(plan.cost.high)}"
        money += "; more where a reply must be asked for again"
    calls = between(plan.unique_low, plan.unique_high)
    return f"{calls} calls, {between(plan.held_low, plan.held_high)} of them in the ledger: {money}"


def agreed(plan: JobPlan) -> bool:
    """Ask where somebody is there to answer and something is to be paid; otherwise the cap (budget) is the guard."""
    free = plan.cost is not None and not plan.cost.high
    if free or not sys.stdin.isatty():
        return True
    return input("go on? [y/N] ").strip().lower() in ("y", "yes")


def between(low: int, high: int) -> str:
    """One number, or two with a dash."""
    return f"{low:,}" if low == high else f"{low:,}–{high:,}"
