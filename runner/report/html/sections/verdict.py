"""The head of the report: the verdict in a sentence, what keeps it from being the whole truth, and the few facts."""

from __future__ import annotations

from dataclasses import dataclass

from runner.records import RunStatus, total_money
from runner.report.html.figures import counted, number, percent
from runner.report.html.given import ReportInput
from runner.report.html.sections.comparison import sentences_of
from runner.report.leaderboard import dollars
from runner.report.text import plus_minus

MOST_JOBS = 5
"""Jobs whose trouble is told in the head; the leaderboard tells it of all."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """The first thing a reader sees."""

    sentence: str
    more: tuple[str, ...]
    warnings: tuple[str, ...]
    facts: tuple[tuple[str, str], ...]


def verdict(given: ReportInput) -> Verdict:
    """The verdict of the first comparison; for a single job what its judges said."""
    said = _said(given)
    return Verdict(said[0], said[1:], _warnings(given), _facts(given))


def _said(given: ReportInput) -> tuple[str, ...]:
    comparisons = given.comparisons
    if comparisons:
        first, *others = comparisons
        sentences = sentences_of(first) or (f"Nothing can be said about {first.metric}.",)
        return (*sentences, *(sentence for one in others for sentence in sentences_of(one)[:1]))
    if not given.sweep.runs:
        return ("No job left any result.",)
    leader = given.leader
    assert leader is not None
    summary = given.summaries[leader.job_key]
    name = "" if len(given.sweep.runs) == 1 else f"{given.names[leader.job_key]}: "
    head = f"{name}{summary.answered} of {counted(summary.asked, 'question')} answered"
    judged = [
        f"{judge.judge} {number(judge.mean, 2)}"
        f"{plus_minus(judge.standard_error, 2)}"
        f" ({judge.scored} of {judge.asked} scored"
        f"{'' if judge.pass_rate is None else f', {percent(judge.pass_rate)} pass'})"
        for judge in summary.judges.values()
        if judge.mean is not None
    ]
    return ("; ".join([head, *judged]) + ".",)


def _warnings(given: ReportInput) -> tuple[str, ...]:
    found = []
    if given.sweep.status is not RunStatus.COMPLETE:
        found.append(f"This sweep is {given.sweep.status.value}: the numbers stand on what is finished.")
    unfinished = [run for run in given.sweep.runs if run.status is not RunStatus.COMPLETE]
    found.extend(f"{given.names[run.job_key]} is {run.status.value}: {run.reason}" for run in unfinished[:MOST_JOBS])
    if len(unfinished) > MOST_JOBS:
        found.append(f"… and {len(unfinished) - MOST_JOBS} more jobs are not complete")
    found.extend(given.notes)
    return tuple(found)


def _facts(given: ReportInput) -> tuple[tuple[str, str], ...]:
    sweep, summaries = given.sweep, given.ordered_summaries
    questions = {record.question.id for run in sweep.runs for record in run.records}
    return (
        ("jobs", f"{len(sweep.runs):,}"),
        ("questions", f"{len(questions):,}"),
        ("judges", ", ".join(given.judges) or "none"),
        ("new spend", dollars(total_money(summary.new_cost for summary in summaries))),
        ("as if nothing had been stored", dollars(total_money(summary.total_cost for summary in summaries))),
        ("finished", sweep.finished_at[:19].replace("T", " ") + (" UTC" if sweep.finished_at else "")),
        ("sweep", sweep.id),
    )
