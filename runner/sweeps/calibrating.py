"""The verb ``calibrate`` and the function ``runner.calibrate``: a judge against human labels; costs nothing."""

from __future__ import annotations

import argparse
import dataclasses
import json
from collections.abc import Sequence
from pathlib import Path

from runner.config import home
from runner.config.numbers import check_seed, seed_number
from runner.errors import ExitCode
from runner.findings import BiasReadings, Calibration, Measure
from runner.records import RunResult
from runner.report.text import plain
from runner.sweeps.comparing import judges_of, loaded
from runner.sweeps.logged_later import Logged, Named, log_findings
from runner.sweeps.warnings import family


def main(argv: Sequence[str]) -> int:
    """``runner calibrate RUN ... --labels FILE [FILE ...] [--judge J]``."""
    asked = _parser().parse_args(list(argv))
    runs = loaded(asked.runs, asked.uri)
    from rich.console import Console

    from runner.report.agreement import CalibrationView

    found, readings = calibrate_stored(
        runs, asked.labels, asked.judge, measure=asked.measure, cluster_by=asked.cluster_by, seed=asked.seed
    )
    Console().print(CalibrationView(found, readings))
    if asked.json:
        whole = {"calibration": dataclasses.asdict(found), "bias_readings": dataclasses.asdict(readings)}
        asked.json.write_text(json.dumps(whole, indent=2), encoding="utf-8")
    if asked.log:
        logged = log_calibration(
            (found, readings),
            asked.runs,
            runs,
            uri=asked.uri,
            measure=asked.measure,
            cluster_by=asked.cluster_by,
            seed=asked.seed,
        )
        for sentence in logged.sentences:
            print(plain(sentence))
    return ExitCode.DONE


def calibrate_stored(
    runs: Sequence[RunResult],
    labels: Sequence[Path],
    judge: str | None,
    *,
    measure: str,
    cluster_by: str,
    seed: int,
) -> tuple[Calibration, BiasReadings]:
    """What ``runner.calibrate`` does, and what can be read about the judge without labels.

    Raises ConfigurationError where no run has the judge, or a file has labels that are not on its scale.
    """
    from runner.statistics import bias_readings, calibrate
    from runner.statistics.label_files import read_labels, scale_of

    check_seed(seed)
    Measure(measure)
    runs = loaded(runs)
    chosen = judge or judges_of(runs)[0]
    scale = scale_of(runs, chosen)
    files = [read_labels(path, scale) for path in labels]
    found = calibrate(runs, chosen, files, measure=measure, cluster_by=cluster_by, seed=seed)
    return found, bias_readings(runs, chosen, family_of=family, cluster_by=cluster_by, seed=seed)


def log_calibration(
    found: tuple[Calibration, BiasReadings],
    named: Sequence[Named],
    runs: Sequence[RunResult],
    *,
    uri: str | None,
    measure: str,
    cluster_by: str,
    seed: int,
) -> Logged:
    """Keeps it with the parent runs of what was named."""
    from runner.sweeps.finding_files import of_calibration, options_in_words

    how = options_in_words(measure=measure, cluster_by=cluster_by, seed=seed)
    return log_findings(home(), named, runs, [of_calibration(*found, Measure(measure), how)], uri=uri)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="runner calibrate", description=__doc__)
    parser.add_argument("runs", nargs="+", metavar="RUN", help="the same runs as given to `label`")
    parser.add_argument("--labels", nargs="+", type=Path, required=True, metavar="FILE", help="one file a person")
    parser.add_argument("--uri", help="the MLflow store to look into (default: that of the configuration)")
    parser.add_argument("--judge", help="the judge (default: the first one)")
    parser.add_argument("--measure", choices=[one.value for one in Measure], default="mean")
    parser.add_argument("--cluster-by", default="gold", help="gold, question, or a metadata field of the questions")
    parser.add_argument("--seed", type=seed_number, default=7)
    parser.add_argument("--json", type=Path, help="write everything")
    parser.add_argument("--log", action="store_true", help="keep the result with the sweep's run in MLflow")
    return parser
