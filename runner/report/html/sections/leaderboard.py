"""The leaderboard: one job a row, each judge's mean with its error and denominators, retrieval, money, what failed."""

from __future__ import annotations

from collections.abc import Sequence

from runner.records import JudgeSummary, RunResult, RunStatus, RunSummary
from runner.report.html.figures import counted, number, percent, placed, scale_of
from runner.report.html.given import ReportInput
from runner.report.html.parts import Cell, Section, Table, table
from runner.report.leaderboard import dollars, leaderboard_notes
from runner.report.retrieval import NAMES, by_k
from runner.report.text import plus_minus


def leaderboard(given: ReportInput) -> Section | None:
    runs, judges = given.sweep.runs, given.judges
    if not runs:
        return None
    summaries = given.ordered_summaries
    scales = {judge: scale_of(runs, judge) for judge in judges}
    rows = []
    for run, summary in zip(runs, summaries, strict=True):
        status = "" if run.status is RunStatus.COMPLETE else run.status.value
        rows.append(
            [
                Cell(given.names[run.job_key], note=status, tone="warn" if status else ""),
                *(_score(summary.judges.get(judge), scales[judge]) for judge in judges),
                *_rest(summary),
            ]
        )
    columns = [
        "job",
        *judges,
        "answered",
        "abstained",
        "new cost",
        "total cost",
        "calls",
        "median answer",
    ]
    caption = (
        "Each job with its judges' means ± standard error (clustered by document), the share that passes, and how many "
        "of the questions were scored. The line under a mean is two standard errors each way on the judge's scale."
    )
    return Section(
        "leaderboard",
        "Leaderboard",
        tables=(table(caption, columns, rows), *_retrieval(given)),
        notes=tuple(leaderboard_notes(_named(given, runs))),
    )


def _named(given: ReportInput, runs: Sequence[RunResult]) -> list[tuple[RunResult, RunSummary]]:
    return [(run, given.summaries[run.job_key]) for run in runs]


def _score(judge: JudgeSummary | None, scale: tuple[float, float] | None) -> Cell:
    if judge is None:
        return Cell("not asked")
    counts = f"{judge.scored} of {judge.asked}"
    if judge.mean is None:
        return Cell("none scored", note=counts, tone="warn")
    error = plus_minus(judge.standard_error, 2)
    passed = "" if judge.pass_rate is None else f"{percent(judge.pass_rate)} pass, "
    if judge.pass_worst_case is not None and judge.pass_best_case is not None:
        passed = f"{percent(judge.pass_worst_case)} to {percent(judge.pass_best_case)} pass, "
    return Cell(f"{judge.mean:.2f}{error}", note=passed + counts, range=placed(judge.mean, judge.standard_error, scale))


def _rest(summary: RunSummary) -> list[str]:
    made = sum(part.calls_made for part in summary.spend)
    stored = sum(part.calls_from_ledger for part in summary.spend)
    latency = summary.answer_latency_p50_s
    return [
        f"{summary.answered} of {summary.asked}",
        str(summary.abstained or ""),
        dollars(summary.new_cost),
        dollars(summary.total_cost),
        f"{made:,} + {stored:,} stored" if made or stored else "",
        "" if latency is None else f"{latency:.2f} s",
    ]


def _retrieval(given: ReportInput) -> list[Table]:
    found = []
    for over_chunks, what in ((False, "documents, each once at its first chunk"), (True, "chunks")):
        rows: list[list[Cell | str]] = []
        counts = set()
        for run in given.sweep.runs:
            summary = given.summaries[run.job_key]
            for k, values in by_k(summary, over_chunks).items():
                rows.append([given.names[run.job_key], str(k), *(number(values.get(name)) for name in NAMES)])
                counts.add(summary.retrieval_chunk_questions if over_chunks else summary.retrieval_questions)
        if rows:
            shown = (
                counted(min(counts), "question") if len(counts) == 1 else f"{min(counts)} to {max(counts)} questions"
            )
            caption = f"Retrieval over {what}: means over {shown} with gold documents; no judge is in them"
            found.append(table(caption, ["job", "k", *NAMES.values()], rows))
    return found
