"""The table at the end of a sweep: one job a row, each score with its error and denominators, the money, what failed.

Rich drops colours by itself where the output is no terminal or NO_COLOR is set; nothing here relies on colour.
"""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal

from rich.console import Console, ConsoleOptions, RenderResult
from rich.text import Text

from runner.records import JudgeSummary, RunResult, RunStatus, RunSummary
from runner.report.retrieval import retrieval_notes
from runner.report.tables import table_or_blocks
from runner.report.text import plain, plus_minus

Row = tuple[RunResult, RunSummary]


def render_leaderboard(runs: Sequence[Row], hints: Sequence[str] = ()) -> Leaderboard:
    """The table of a sweep's jobs, in the order of the sweep.

    Parameters
    ----------
    hints
        Lines that say where to look next, shown as they are below the table.
    """
    return Leaderboard(tuple(runs), tuple(hints))


class Leaderboard:
    """A rich renderable: a table where the terminal is wide enough, else one block a job."""

    def __init__(self, runs: tuple[Row, ...], hints: tuple[str, ...]) -> None:
        self._runs = runs
        self._hints = hints

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        header, rows = _columns([summary for _, summary in self._runs]), [_cells(run, self._runs) for run in self._runs]
        yield table_or_blocks(header, rows, options.max_width)
        for note in leaderboard_notes(self._runs):
            yield Text(note, style="yellow")
        for hint in self._hints:
            yield Text(plain(hint))


def leaderboard_text(runs: Sequence[Row], hints: Sequence[str] = (), width: int = 120) -> str:
    """The leaderboard as plain text, for files and logs."""
    console = Console(width=width, no_color=True, force_terminal=False, highlight=False)
    with console.capture() as captured:
        console.print(render_leaderboard(runs, hints))
    return captured.get()


def dollars(amount: Decimal | None) -> str:
    """Money as it is shown: 4 decimals, 2 significant digits where that says nothing; ``unknown`` without a price."""
    if amount is None:
        return "unknown"
    if amount == 0:
        return "$0"
    return f"${amount:.4f}" if abs(amount) >= Decimal("0.001") else f"${amount:.2g}"


def _judges(summaries: Sequence[RunSummary]) -> list[str]:
    return list(dict.fromkeys(judge for summary in summaries for judge in summary.judges))


_RETRIEVAL = {"hit_rate_at_": "hit rate", "mrr_at_": "MRR", "ndcg_at_": "nDCG"}
"""Beginning of a metric's name → its column. Beside judges only the first: the others are in MLflow and the report."""


def _retrieval(summaries: Sequence[RunSummary]) -> list[str]:
    """The beginnings of the retrieval metrics that are shown; each run has them at its own ``top_k``."""
    shown = list(_RETRIEVAL)[:1] if _judges(summaries) else list(_RETRIEVAL)
    names = {name for summary in summaries for name in summary.retrieval}
    return [start for start in shown if any(name.startswith(start) for name in names)]


def _at_top_k(summary: RunSummary, start: str) -> str:
    found = {
        int(name.removeprefix(start)): value for name, value in summary.retrieval.items() if name.startswith(start)
    }
    return f"{found[max(found)]:.3f} @{max(found)}" if found else ""


def _columns(summaries: Sequence[RunSummary]) -> list[str]:
    judges = [f"{plain(judge, single_line=True)}\nmean ± error, n" for judge in _judges(summaries)]
    retrieval = [_RETRIEVAL[start] for start in _retrieval(summaries)]
    return ["job", *judges, *retrieval, "refusals", "new cost", "total cost", "calls\nmade + stored"]


def _cells(row: Row, runs: Sequence[Row]) -> list[str]:
    run, summary = row
    summaries = [one for _, one in runs]
    name = plain(run.name, single_line=True) or run.job_key[:12]
    status = "" if run.status == RunStatus.COMPLETE else f"\n({run.status.value})"
    judges = [_score(summary.judges.get(judge)) for judge in _judges(summaries)]
    hits = [_at_top_k(summary, start) for start in _retrieval(summaries)]
    made = sum(part.calls_made for part in summary.spend)
    stored = sum(part.calls_from_ledger for part in summary.spend)
    money = [dollars(summary.new_cost), dollars(summary.total_cost)]
    return [name + status, *judges, *hits, _refusals(summary), *money, f"{made} + {stored}"]


_REFUSALS = {"right_refusal": "right", "wrong_refusal": "wrong", "answered_unanswerable": "missing"}
"""What an answer did → its word: a refusal is right where there is no answer, and missing where one was made up."""

REFUSALS_MEAN = (
    "Refusals: right where the documents hold no answer, wrong where they hold one; "
    "missing: answered although they hold none; unchecked: the question set does not say"
)


def _refusals(summary: RunSummary) -> str:
    """How many refused rightly and wrongly, where it is known; how many refused, where it is not; empty without any."""
    counts = {word: int(summary.metrics.get(f"abstention/{kind}", 0)) for kind, word in _REFUSALS.items()}
    unknown = summary.abstained - counts["right"] - counts["wrong"]
    parts = [f"{count} {word}" for word, count in counts.items() if count]
    parts += [f"{unknown} unchecked"] if unknown > 0 else []
    return "\n".join(parts)


def _score(judge: JudgeSummary | None) -> str:
    if judge is None:
        return "not asked"
    counts = f"{judge.scored}/{judge.asked}"
    if judge.mean is None:
        return f"none scored {counts}"
    error = plus_minus(judge.standard_error, 2)
    passed = "" if judge.pass_rate is None else f"\n{judge.pass_rate:.0%} pass"
    if passed and judge.pass_worst_case is not None and judge.pass_best_case is not None:
        passed = f"\n{judge.pass_worst_case:.0%} to {judge.pass_best_case:.0%} pass"
    return f"{judge.mean:.2f}{error} {counts}{passed}"


def leaderboard_notes(runs: Sequence[Row]) -> list[str]:
    notes = []
    for run, summary in runs:
        name = plain(run.name, single_line=True) or run.job_key[:12]
        if run.reason and run.status != RunStatus.COMPLETE:
            notes.append(f"{name}: {plain(run.reason, single_line=True)}")
        if summary.failed_answers:
            notes.append(f"{name}: {summary.failed_answers} of {summary.asked} answers failed")
        notes += [f"{name}: {line}" for judge in summary.judges.values() if (line := _missing(judge))]
        if summary.unknown_prices:
            models = ", ".join(plain(model, single_line=True) for model in summary.unknown_prices)
            why = f"no price for {models} (write it to conf/prices/NAME.yaml, add prices=NAME), or no usage in replies"
            notes.append(f"{name}: cost unknown: {why}")
    if any(_refusals(summary) for _, summary in runs):
        notes.append(REFUSALS_MEAN)
    return notes + retrieval_notes([summary for _, summary in runs])


def _missing(judge: JudgeSummary) -> str:
    if not judge.failed and not judge.not_applicable:
        return ""
    reasons = ", ".join(f"{plain(reason, single_line=True)} {count}" for reason, count in judge.reasons.items())
    bounds = ""
    if judge.worst_case is not None and judge.best_case is not None:
        bounds = f"; the mean lies between {judge.worst_case:.2f} and {judge.best_case:.2f} whatever those were"
    failed = judge.failed - judge.no_answer
    parts = [f"{judge.no_answer} without an answer"] if judge.no_answer else []
    parts += [f"{failed} failed"] if failed else []
    parts += [f"{judge.not_applicable} not applicable"] if judge.not_applicable else []
    return f"{plain(judge.judge, single_line=True)}: {', '.join(parts)} ({reasons}){bounds}"
