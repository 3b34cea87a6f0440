"""The verb ``controls``: puts answers whose verdict is known to the judges of a configuration, and shows the table."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from decimal import Decimal

from rich.console import Console
from rich.text import Text

from runner.calls import calling, open_door
from runner.calls.prices import show as dollars
from runner.config import Job, home
from runner.config.arguments import parse_arguments
from runner.config.composition import prepare
from runner.config.schema import Controls
from runner.errors import ConfigurationError, ExitCode, Problem
from runner.evaluation import Pipeline
from runner.judging import Control, ControlReport, Sample, control_cases, draw, run_controls
from runner.records import ControlRow
from runner.report.tables import table_or_blocks
from runner.report.text import plain
from runner.sweeps.announcing import agreed, announcement
from runner.sweeps.parts import Data, Parts
from runner.sweeps.plan import plan_controls
from runner.sweeps.plan_controls import LEAST


async def control_judges(pipeline: Pipeline, controls: Controls, *, seed: int, run: str = "") -> ControlReport:
    """The controls of all judges of one run, on ``controls.sample`` of its questions.

    Empty where the questions allow none. Calls that the ledger holds cost nothing again. Raises what ends a run
    (BudgetReached and its like).
    """
    with calling(run=run):
        retrievals = await pipeline.retriever.retrieve(pipeline.questions, pipeline.top_k)
        samples = [
            Sample(question, tuple(retrieval.retrieved))
            for question, retrieval in zip(pipeline.questions, retrievals, strict=True)
        ]
        drawn = draw(samples, max(controls.sample, LEAST), seed)
        return await run_controls(pipeline.judges, control_cases(drawn))


def main(argv: Sequence[str]) -> int:
    """``runner controls [--yes] [overrides]``; exit 4 where a judge cannot be trusted, 3 where verdicts failed.

    Says what it costs before the first call, and asks for consent where somebody is there to give it (not with
    ``--yes``).
    """
    arguments = parse_arguments([argument for argument in argv if argument != "--yes"])
    if arguments.information or arguments.multirun:
        raise ConfigurationError("controls: give only overrides; it looks at the judges of one configuration")
    (job,) = prepare(arguments.overrides, multirun=False, source=arguments.source)
    data = Data()
    plan = asyncio.run(plan_controls(job, home(), data))
    if plan.unique_high:
        print(announcement(plan))
    if "--yes" not in argv and not agreed(plan):
        print("nothing was asked and nothing was paid")
        return ExitCode.DONE
    report = asyncio.run(_of_job(job, data))
    if not report.rows:
        what = "no question has a reference answer whose gold documents were retrieved"
        raise ConfigurationError([Problem("controls", what, "give the questions reference answers")])
    show(report, Console())
    if any(row.failed for row in report.rows):
        return ExitCode.INCOMPLETE
    return ExitCode.GATE_FAILED if report.sentences else ExitCode.DONE


async def _of_job(job: Job, data: Data) -> ControlReport:
    config = job.config
    async with open_door(config.calls, config.budget, config.prices, home=home(), metadata=config.metadata) as door:
        parts = Parts(door, home(), data)
        parts.check((job,))
        return await control_judges(await parts.pipeline(job), config.controls, seed=config.seed, run=job.key)


def show(report: ControlReport, console: Console) -> None:
    """Controls against judges: how many cases came out as expected; then what failed, in words."""
    judges = list(dict.fromkeys(row.judge for row in report.rows))
    rows = {(row.control, row.judge): row for row in report.rows}
    cells = {control: [_cell(rows.get((control, judge))) for judge in judges] for control in Control}
    lines = [[control.replace("_", " "), *found] for control, found in cells.items() if any(found)]
    header = ("control", *(plain(judge, single_line=True) for judge in judges))
    console.print(table_or_blocks(header, lines, console.width))
    for sentence in report.sentences:
        console.print(Text(sentence))
    for judge in judges:
        console.print(Text(f"{judge}: {'can be trusted' if report.trusted(judge) else 'cannot be trusted'}"))
    costs = [call.new_cost for call in report.calls if call.new_cost is not None]
    new = sum(not call.from_ledger for call in report.calls)
    paid = dollars(sum(costs, Decimal(0)) if len(costs) == len(report.calls) else None)
    console.print(Text(f"{len(report.calls)} calls, {new} of them new; new spend {paid}"))


def _cell(row: ControlRow | None) -> str:
    """Empty where the judge's rubric cannot be held to this control."""
    if row is None:
        return ""
    return f"{row.as_expected}/{row.cases} {'ok' if row.passed else 'FAILS'}"
