"""The text of a rubric and its content hash: what the judge is told, and nothing else."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

from runner.config.paths import find_instructions
from runner.config.schema import Rubric
from runner.errors import ConfigurationError, Problem
from runner.judging.scales import bounds, label_numbers

LAYOUT = 1
"""Version of the frame that ``prompts`` puts around a rubric; part of the hash, raised when that text changes."""


def rubric_name(rubric: Rubric) -> str:
    """``id@version``, as results carry it."""
    return f"{rubric.id}@{rubric.version}"


def instructions_path(rubric: Rubric) -> Path | None:
    """Where ``instructions_file`` is; ``None`` where the rubric names none or it is not there."""
    found = find_instructions(rubric.instructions_file) if rubric.instructions_file else None
    return found if found is not None and found.is_file() else None


def instructions_text(rubric: Rubric) -> str:
    """The instructions as the judge gets them, from the YAML or from the file, which is taken as it is.

    Raises ConfigurationError where the file is missing or not UTF-8 text.
    """
    if not rubric.instructions_file:
        return rubric.instructions.strip()
    where = f"rubric {rubric_name(rubric)}: instructions_file"
    path = instructions_path(rubric)
    if path is None:
        remedy = "put it beside the rubric's YAML, in conf/rubric"
        raise ConfigurationError([Problem(where, f"there is no file {rubric.instructions_file!r}", remedy)])
    try:
        return path.read_text(encoding="utf-8-sig").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigurationError([Problem(where, f"cannot read {path}: {error}", "save it as UTF-8 text")]) from error


def rubric_text(rubric: Rubric, *, markdown: bool = False) -> str:
    """The rubric as one readable text, for artifacts and diffs; ``markdown``: where it is shown as that.

    The ledger keeps the text without ``markdown`` and compares it with that of later runs, so that it must stay.
    """
    low, high = bounds(rubric.scale)
    lines = [rubric.description.strip(), "", f"Inputs: {', '.join(rubric.inputs)}", "", instructions_text(rubric), ""]
    labels = label_numbers(rubric.scale)
    # Markdown runs lines together that are no items of a list, and a list wants an empty line before it.
    item = "- " if markdown else ""
    if labels:
        lines += [f"{item}{label}: {number:g}" for label, number in labels.items()]
    else:
        lines += [f"Scale: {rubric.scale.kind}, {low:g} to {high:g}", *([""] if markdown else [])]
    anchors = sorted(rubric.scale.anchors.items(), reverse=True)
    lines += [f"{item}{value}: {anchor.strip()}" for value, anchor in anchors]
    return "\n".join(lines).strip() + "\n"


def rubric_hash(rubric: Rubric) -> str:
    """SHA-256 of everything of the rubric that reaches the judge.

    Not in it: id and version, which only name the text, and ``pass_at``, which the judge is never told; moving the
    pass mark needs no call.
    """
    scale = rubric.scale
    told: dict[str, Any] = {
        "layout": LAYOUT,
        "description": rubric.description.strip(),
        "inputs": list(rubric.inputs),
        "instructions": instructions_text(rubric),
        "kind": scale.kind,
        "bounds": list(bounds(scale)),
        "labels": [[label, number] for label, number in label_numbers(scale).items()],
        "anchors": [[value, text.strip()] for value, text in sorted(scale.anchors.items())],
    }
    canonical = json.dumps(told, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(canonical.encode("utf-8")).hexdigest()
