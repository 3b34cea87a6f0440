"""Whether labels are the random sample that ``label`` drew from these very runs, and which answers they are of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from runner.records import RunResult
from runner.statistics.label_files import LabelFile
from runner.statistics.sampling import Draw, Unit, draw_sample

SKIPPED_TOO_OFTEN = 0.1
"""Share of "cannot tell" from which on the labelled rest may no longer be like the whole."""


def units_by_text(runs: Sequence[RunResult], files: Sequence[LabelFile]) -> tuple[Unit, ...]:
    """The answers that labels from elsewhere are of, found by the texts of question and answer."""
    items = {text: item for file in files for item, text in file.texts.items()}
    return tuple(
        Unit(items[text], place, record)
        for place, run in enumerate(runs)
        for record in run.records
        if (text := (record.question.text, record.answer.text)) in items
    )


def draw_again(runs: Sequence[RunResult], files: Sequence[LabelFile]) -> Draw | None:
    """The sample that the files name, drawn again; ``None`` where they name none."""
    stamps = {file.stamp for file in files}
    parts = dict(part.split("=", 1) for part in next(iter(stamps), "").split() if "=" in part)
    try:
        return draw_sample(runs, int(parts["count"]), int(parts["seed"]), parts["design"])
    except (KeyError, ValueError):
        return None


def sample_warnings(draw: Draw | None, files: Sequence[LabelFile], human: Mapping[str, float]) -> tuple[str, ...]:
    """Everything that keeps the labels from being a random sample of these runs; empty where they are one.

    ``human`` is what people said of each item.
    """
    if draw is None:
        return (
            "The labels do not say how they were drawn: start from a file that `label` wrote. Nothing is corrected.",
        )
    found = []
    stamps = {file.stamp for file in files}
    if len(stamps) > 1:
        found.append("The files hold different samples; give only files of one `label` command.")
    if draw.stamp not in stamps:
        found.append("The labels were drawn from other runs or questions than these; give the same runs as to `label`.")
    order = list(dict.fromkeys(unit.item for unit in draw.units))
    strangers = [item for item in human if item not in set(order)]
    if strangers:
        found.append(f"{len(strangers)} labelled items were not drawn; added items make the sample no longer random.")
    skipped = frozenset().union(*(file.skipped for file in files)) - set(human)
    done = [item in human or item in skipped for item in order]
    last = max((k for k, one in enumerate(done) if one), default=-1)
    holes = sum(not one for one in done[:last])
    if holes:
        found.append(
            f"{holes} items before the last labelled one have no label: label in the order of the file, and mark with "
            "? what cannot be told."
        )
    if len(skipped) > SKIPPED_TOO_OFTEN * max(1, len(human) + len(skipped)):
        found.append(f"{len(skipped)} items were marked as not to be told: the rest is not a random sample of all.")
    return tuple(found)
