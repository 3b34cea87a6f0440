"""The verb ``label``: draws answers at random, blind to run and score, and lets a person label them.

In a terminal one after the other, saved after each; or in a spreadsheet, with ``--only-file``. Costs nothing.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from runner.config.numbers import seed_number, whole_number
from runner.errors import ConfigurationError, ExitCode
from runner.report.text import plain
from runner.statistics.label_files import SKIP, Scale, number_of, read_rows, rows_of, scale_of, write_rows
from runner.statistics.sampling import Design, draw_sample
from runner.sweeps.comparing import judges_of, loaded

COUNT = 60
"""Labels at which the correction kept its coverage on the labelled systems (see ``statistics.correction``)."""
_LEAVE = ("q", "quit", "exit")


def main(argv: Sequence[str]) -> int:
    """``runner label RUN ... [--judge J] [--count N] [--seed N] [--file F]``."""
    asked = _parser().parse_args(list(argv))
    runs = loaded(asked.runs)
    judge = asked.judge or judges_of(runs)[0]
    scale = scale_of(runs, judge)
    path = asked.file or Path(f"labels-{judge}.csv")
    draw = draw_sample(runs, asked.count, asked.seed, asked.design)
    rows = rows_of(draw)
    if path.exists():
        rows = _continued(path, rows)
    else:
        write_rows(path, rows)
    done = sum(bool(row["label"]) for row in rows)
    print(f"{path}: {len(rows)} answers drawn for {judge}, {done} labelled; a label is {scale.shown}, or {SKIP}")
    if asked.only_file or not sys.stdin.readable():
        print(f"fill in the column `label` from top to bottom, then: python -m runner calibrate ... --labels {path}")
        return ExitCode.DONE
    ask_for_labels(rows, scale, save=lambda: write_rows(path, rows))
    done = sum(bool(row["label"]) for row in rows)
    print(f"{done} of {len(rows)} labelled in {path}; the same command goes on, `runner calibrate` uses what is there")
    return ExitCode.DONE


def ask_for_labels(
    rows: Sequence[dict[str, str]],
    scale: Scale,
    save: Callable[[], None],
    read: Callable[[str], str] = input,
    show: Callable[[str], None] = print,
) -> None:
    """Ask for each label that is missing, in the order drawn; ends at ``q``, end of file or Ctrl-C, with all saved."""
    for number, row in enumerate(rows, 1):
        if row["label"]:
            continue
        for name in ("question", "reference", "context", "answer"):
            if row[name]:
                show(f"{name}: {plain(row[name])}")
        try:
            said = _one_label(f"[{number}/{len(rows)}] {scale.shown}, {SKIP} or q> ", scale, read, show)
        except (EOFError, KeyboardInterrupt):
            said = None
        if said is None:
            return
        row["label"] = said
        save()
        show("")


def _one_label(prompt: str, scale: Scale, read: Callable[[str], str], show: Callable[[str], None]) -> str | None:
    while True:
        said = read(prompt).strip()
        if said.lower() in _LEAVE:
            return None
        if said == SKIP or number_of(said, scale) is not None:
            return said
        show(
            f"{plain(said, True)!r} is not on the scale: give {scale.shown}, {SKIP} for what cannot be told, q to leave"
        )


def _continued(path: Path, drawn: Sequence[dict[str, str]]) -> list[dict[str, str]]:
    """The rows of a file begun earlier. Raises ConfigurationError where it holds another sample."""
    rows = read_rows(path)
    if [row["item"] for row in rows] != [row["item"] for row in drawn]:
        raise ConfigurationError(
            f"{path}: holds another sample (other runs, --count, --seed or --design); give another --file, or the same "
            "options as before"
        )
    return rows


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="runner label", description=__doc__)
    parser.add_argument("runs", nargs="+", metavar="RUN", help="job keys, run names or the id of a sweep")
    parser.add_argument("--judge", help="whose scale the labels are on (default: the first judge)")
    parser.add_argument("--count", type=whole_number(1), default=COUNT, help=f"answers to draw (default: {COUNT})")
    parser.add_argument("--seed", type=seed_number, default=7)
    parser.add_argument(
        "--design", choices=[one.value for one in Design], help="draw single answers or whole questions"
    )
    parser.add_argument("--file", type=Path, help="the CSV file (default: labels-JUDGE.csv)")
    parser.add_argument("--only-file", action="store_true", help="write the file and ask nothing")
    return parser
