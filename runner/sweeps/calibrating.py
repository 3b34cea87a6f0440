"""The verb ``calibrate``: a judge against human labels, and its numbers corrected by them; costs nothing."""

from __future__ import annotations

import argparse
import dataclasses
import json
from collections.abc import Sequence
from pathlib import Path

from runner.errors import ExitCode
from runner.findings import Measure
from runner.sweeps.comparing import judges_of, loaded
from runner.sweeps.warnings import family


def main(argv: Sequence[str]) -> int:
    """``runner calibrate RUN ... --labels FILE [FILE ...] [--judge J]``."""
    asked = _parser().parse_args(list(argv))
    runs = loaded(asked.runs)
    judge = asked.judge or judges_of(runs)[0]
    from rich.console import Console

    from runner.report.agreement import CalibrationView
    from runner.statistics.biases import bias_readings
    from runner.statistics.calibrate import calibrate
    from runner.statistics.label_files import read_labels, scale_of

    scale = scale_of(runs, judge)
    files = [read_labels(path, scale) for path in asked.labels]
    found = calibrate(runs, judge, files, measure=asked.measure, cluster_by=asked.cluster_by, seed=asked.seed)
    readings = bias_readings(runs, judge, family_of=family, cluster_by=asked.cluster_by, seed=asked.seed)
    Console().print(CalibrationView(found, readings))
    if asked.json:
        whole = {"calibration": dataclasses.asdict(found), "bias_readings": dataclasses.asdict(readings)}
        asked.json.write_text(json.dumps(whole, indent=2), encoding="utf-8")
    return ExitCode.DONE


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="runner calibrate", description=__doc__)
    parser.add_argument("runs", nargs="+", metavar="RUN", help="the same runs as given to `label`")
    parser.add_argument("--labels", nargs="+", type=Path, required=True, metavar="FILE", help="one file a person")
    parser.add_argument("--judge", help="the judge (default: the first one)")
    parser.add_argument("--measure", choices=[one.value for one in Measure], default="mean")
    parser.add_argument("--cluster-by", default="gold", help="gold, question, or a metadata field of the questions")
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--json", type=Path, help="write everything")
    return parser
