"""The verb ``compare`` and the function ``runner.compare``: stored runs, question by question, at no cost."""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from runner.config import home
from runner.config.numbers import check_seed, real_number, seed_number, whole_number
from runner.errors import ConfigurationError, ExitCode
from runner.findings import Agreement, Measure, SweepComparison
from runner.records import Record, RunResult
from runner.report.text import plain
from runner.sweeps.logged_later import Logged, Named, log_findings
from runner.sweeps.stored import load, load_one

EXAMPLES = 3
_AT_K = re.compile(r"^(?:retrieval/)?\w+_at_(\d+)$")


def compare_stored(
    runs: Sequence[str | RunResult],
    metric: str | None,
    *,
    baseline: str | None = None,
    uri: str | None = None,
    **options: Any,
) -> SweepComparison:
    """What ``runner.compare`` does; ``options`` are those of ``statistics.compare_sweep``."""
    from runner.statistics import compare_sweep

    check_seed(options.get("seed", 0))
    found, named = with_baseline(loaded(runs, uri), baseline, uri)
    chosen = metric or judges_of(found)[0]
    return compare_sweep(at_equal_k(found, chosen), chosen, baseline=named, **options)


def with_baseline(
    runs: Sequence[RunResult], baseline: str | None, uri: str | None = None
) -> tuple[list[RunResult], str | None]:
    """The runs with the baseline among them, and what it is called there: one of their names or keys.

    Raises ConfigurationError where the baseline is none of the runs and no one stored run either.
    """
    if baseline is None or any(baseline in (run.name, run.job_key) for run in runs):
        return list(runs), baseline
    found = load_one(home(), baseline, uri=uri)
    known = any(run.job_key == found.job_key for run in runs)
    return [*runs, *([] if known else [found])], found.job_key


def at_equal_k(runs: Sequence[RunResult], metric: str) -> list[RunResult]:
    """The runs with a retrieval metric at the k that the name says, taken from the chunks that each run stored.

    A run over ``top_k=10`` knows its first three chunks too, so that it can be compared with ``top_k=3`` at 3. Runs
    with shorter lists stay as they are, and no verdict is given on those.
    """
    match = _AT_K.match(metric)
    if match is None:
        return list(runs)
    k = int(match.group(1))
    name = metric.removeprefix("retrieval/")
    return [replace(run, records=tuple(_with_metrics(record, name, k) for record in run.records)) for run in runs]


def _with_metrics(record: Record, name: str, k: int) -> Record:
    if name in record.retrieval_metrics or not record.question.gold or len(record.retrieved) < k:
        return record
    from runner.knowledge import retrieval_metrics

    found = retrieval_metrics(record.question, record.retrieved, k, record.relevant_chunks)
    return replace(record, retrieval_metrics={**record.retrieval_metrics, **found})


def loaded(runs: Sequence[str | RunResult], uri: str | None = None) -> list[RunResult]:
    """The runs themselves, each once, in the order given."""
    found = [one for run in runs for one in ((run,) if isinstance(run, RunResult) else load(home(), run, uri=uri))]
    return list({run.job_key: run for run in found}.values()) if len(found) > 2 else found


def judges_of(runs: Sequence[RunResult]) -> list[str]:
    """All judges and panels of the runs. Raises ConfigurationError where there is none."""
    names = list(dict.fromkeys(name for run in runs for record in run.records for name in record.scores))
    if not names:
        raise ConfigurationError("compare: these runs hold no scores; name a retrieval metric with --metric")
    return names


def main(argv: Sequence[str]) -> int:
    """``runner compare RUN RUN ... [options]``; exit 0 whatever the verdicts (a gate decides on those)."""
    parser = _parser()
    asked = parser.parse_args(list(argv))
    runs, baseline = with_baseline(loaded(asked.runs, asked.uri), asked.baseline, asked.uri)
    if asked.rubric:
        runs = with_rubrics(runs, asked.rubric)
    metrics = asked.metric or (judges_with(runs, asked.rubric) if asked.rubric else judges_of(runs))
    from rich.console import Console

    from runner.report.comparison import render_comparison
    from runner.report.examples import render_examples

    console = Console()
    found = []
    for metric in metrics:
        sweep = compare_stored(
            runs,
            metric,
            baseline=baseline,
            measure=asked.measure,
            cluster_by=asked.cluster_by,
            margin=asked.margin,
            seed=asked.seed,
            confirm=asked.confirm,
        )
        found.append(sweep)
        console.print(render_comparison(sweep))
        if len(runs) == 2 and asked.examples:
            console.print(render_examples(runs[0], runs[1], metric, asked.examples))
        console.print()
    agreed = None
    if asked.agreement:
        from runner.report.agreement import render_agreement
        from runner.statistics import between_judges

        agreed = between_judges(runs, asked.agreement, cluster_by=asked.cluster_by)
        console.print(render_agreement(agreed))
    if asked.csv:
        _write_csv(asked.csv, found)
    if asked.json:
        asked.json.write_text(json.dumps([_plain(sweep) for sweep in found], indent=2), encoding="utf-8")
    if asked.log:
        logged = log_comparisons(
            found,
            asked.runs,
            runs,
            agreed=agreed,
            uri=asked.uri,
            measure=asked.measure,
            cluster_by=asked.cluster_by,
            margin=asked.margin,
            seed=asked.seed,
        )
        for sentence in logged.sentences:
            print(plain(sentence))
    return ExitCode.DONE


def log_comparisons(
    found: Sequence[SweepComparison],
    named: Sequence[Named],
    runs: Sequence[RunResult],
    *,
    uri: str | None,
    agreed: Agreement | None = None,
    **options: Any,
) -> Logged:
    """Keeps the comparisons with the parent runs of what was named; ``options`` are those of ``options_in_words``."""
    from runner.sweeps.finding_files import of_agreement, of_comparison, options_in_words

    how = options_in_words(**options)
    findings = [of_comparison(one, how) for one in found]
    if agreed is not None:
        findings.append(of_agreement(agreed, how))
    return log_findings(home(), named, runs, findings, uri=uri)


def with_rubrics(runs: Sequence[RunResult], rubrics: Sequence[str]) -> list[RunResult]:
    """The two of the runs that were judged by the two rubrics (``topicality_v1``, or ``topicality@1``)."""
    wanted = [_rubric_key(rubric) for rubric in rubrics]
    chosen = [[run for run in runs if rubric in _rubrics(run)] for rubric in wanted]
    for rubric, fitting in zip(wanted, chosen, strict=True):
        if len(fitting) != 1:
            known = ", ".join(sorted({name for run in runs for name in _rubrics(run)}))
            raise ConfigurationError(
                f"--rubric {rubric}: {len(fitting)} of these runs were judged by it, one is needed; rubrics: {known}"
            )
    return [fitting[0] for fitting in chosen]


def judges_with(runs: Sequence[RunResult], rubrics: Sequence[str]) -> list[str]:
    """The judges that judged by one of the rubrics: of the others the two runs have the same verdicts."""
    wanted = {_rubric_key(rubric) for rubric in rubrics}
    scores = (one for run in runs for record in run.records for one in record.scores.items())
    return list(dict.fromkeys(name for name, score in scores if score.rubric in wanted))


def _rubric_key(name: str) -> str:
    identifier, mark, version = name.rpartition("_v")
    return f"{identifier}@{version}" if mark and version.isdigit() else name


def _rubrics(run: RunResult) -> set[str]:
    return {score.rubric for record in run.records for score in record.scores.values()}


def _write_csv(path: Path, found: Sequence[SweepComparison]) -> None:
    import pandas

    pandas.concat([sweep.to_frame() for sweep in found]).to_csv(path, index=False)


def _plain(sweep: SweepComparison) -> dict[str, object]:
    import dataclasses

    return dataclasses.asdict(sweep)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="runner compare", description=__doc__)
    parser.add_argument(
        "runs", nargs="+", metavar="RUN", help="sweeps, job keys, run names, MLflow run ids or tag:NAME:VALUE"
    )
    parser.add_argument("--uri", help="the MLflow store to look into (default: that of the configuration)")
    parser.add_argument("--metric", action="append", help="a judge, or retrieval/hit_rate_at_3 (default: every judge)")
    parser.add_argument("--baseline", help="compare all with this run (one of them, or another), not all pairs")
    parser.add_argument("--measure", choices=[one.value for one in Measure], default="mean")
    parser.add_argument("--cluster-by", default="gold", help="gold, question, or a metadata field of the questions")
    parser.add_argument(
        "--margin", type=real_number(0), help="differences up to this do not matter (default: 5 %% of the scale)"
    )
    parser.add_argument("--seed", type=seed_number, default=7)
    parser.add_argument(
        "--confirm",
        type=float,
        nargs="?",
        const=0.5,
        metavar="SHARE",
        help="pick the best on the other questions and confirm it on this share of them (0.5 where none is said)",
    )
    parser.add_argument(
        "--rubric", nargs=2, metavar="RUBRIC", help="the two runs judged by these, such as topicality_v1"
    )
    parser.add_argument("--agreement", nargs="+", metavar="JUDGE", help="how far these judges agree on the answers")
    parser.add_argument(
        "--examples", type=whole_number(0), default=EXAMPLES, help="questions to show where two runs differ most"
    )
    parser.add_argument("--csv", type=Path, help="write every pair as a row")
    parser.add_argument("--json", type=Path, help="write everything")
    parser.add_argument("--log", action="store_true", help="keep the result with the sweep's run in MLflow")
    return parser
