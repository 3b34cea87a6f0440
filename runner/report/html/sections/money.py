"""Tokens and money by stage and model, and what was planned beside what was spent."""

from __future__ import annotations

from decimal import Decimal

from runner.records import RunSummary, StageSpend, total_money
from runner.report.html.given import PlannedSpend, ReportInput
from runner.report.html.parts import Cell, Section, table
from runner.report.leaderboard import dollars


def money(given: ReportInput) -> Section | None:
    rows = [
        [Cell(given.names[run.job_key]), *_part(part)]
        for run in given.sweep.runs
        for part in given.summaries[run.job_key].spend
    ]
    if not rows:
        return None
    spent = total_money(summary.new_cost for summary in given.ordered_summaries)
    whole = total_money(summary.total_cost for summary in given.ordered_summaries)
    sentences = [f"New spend {dollars(spent)}; as if nothing had been stored, it would have been {dollars(whole)}."]
    if given.planned is not None:
        sentences.append(_planned(given.planned, spent, given.ordered_summaries))
    unknown = sorted({model for summary in given.ordered_summaries for model in summary.unknown_prices})
    if unknown:
        sentences.append(f"No price is known for {', '.join(unknown)}; add it to prices to see the cost.")
    columns = (
        "job",
        "stage",
        "model",
        "calls made",
        "from the ledger",
        "input tokens",
        "output tokens",
        "new",
        "total",
    )
    caption = "Calls, tokens and US dollars by stage and model; total is what it costs with an empty ledger"
    return Section("money", "Money", paragraphs=tuple(sentences), tables=(table(caption, columns, rows, texts=3),))


def _planned(planned: PlannedSpend, spent: Decimal | None, summaries: tuple[RunSummary, ...]) -> str:
    made = sum(part.calls_made for summary in summaries for part in summary.spend)
    low, high = planned.calls_low, planned.calls_high
    calls = f"{low:,}" if low == high else f"{low:,} to {high:,}"
    if planned.expected is None:
        cost = f"at an unknown price ({', '.join(planned.unknown_prices)})"
    else:
        cost = f"{dollars(planned.low)} to {dollars(planned.high)} (expected {dollars(planned.expected)})"
    return f"Planned: {calls} distinct calls, {cost}. Made: {made:,} calls for {dollars(spent)}."


def _part(part: StageSpend) -> list[str]:
    return [
        str(part.stage),
        part.model,
        f"{part.calls_made:,}",
        f"{part.calls_from_ledger:,}",
        f"{part.usage.input_tokens:,}",
        f"{part.usage.output_tokens:,}",
        dollars(part.new_cost),
        dollars(part.total_cost),
    ]
