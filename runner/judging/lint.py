"""What is wrong, or unwise, about a rubric, said when the configuration is loaded and before anything is paid.

Errors are what cannot work. Warnings name what is known to spoil verdicts: the value before the reasoning, a second
answer format beside the runner's own, an input that the judge does not see, anchors with gaps, and wishes that no
source can fulfil (answers then lose points for caveats that stand nowhere).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from runner.config.schema import Rubric
from runner.errors import ConfigurationError, Problem
from runner.judging.inputs import KNOWN, METADATA
from runner.judging.rubrics import instructions_text
from runner.judging.scales import DISCRETE, bounds, label_numbers, pass_mark
from runner.text import sentences


@dataclass(frozen=True, slots=True)
class RubricProblem(Problem):
    """One finding about a rubric; ``where`` is the key inside the rubric file."""

    severity: Literal["error", "warning"] = "error"


_VALUE_FIRST = re.compile(
    r"\b(?:score|rating|label|grade|verdict|number)\b[^.\n]{0,60}\b(?:then|followed by|and then)\b[^.\n]{0,40}"
    r"\b(?:reason|reasoning|explain|explanation|justif\w+|rationale)\b"
    r"|[\"'](?:score|rating|label|grade|verdict)[\"']\s*:.{0,80}[\"'](?:reason\w*|explanation|rationale)[\"']\s*:"
    r"|\bfirst\b[^.,\n]{0,30}\b(?:score|rating|label|grade|verdict)\b",
    re.IGNORECASE | re.DOTALL,
)
_FORMAT = re.compile(
    r"\bjson\b|```|[{]\s*[\"'](?:score|rating|label|verdict|reasoning)"
    r"|\b(?:reply|respond|answer|return|output)\s+(?:only\s+)?(?:with\s+)?(?:a|the|one|just)?\s*(?:single\s+)?"
    r"(?:number|integer|digit|word|xml|yaml)\b",
    re.IGNORECASE,
)
_MENTIONS = {
    "context": re.compile(
        r"\b(?:the|retrieved|given|provided|supplied)\s+(?:context|passages?|sources?|documents?)\b", re.IGNORECASE
    ),
    "reference": re.compile(
        r"\b(?:reference(?:\s+answer)?|ground[- ]truth|golden?\s+answer|expected\s+answer|correct\s+answer)\b",
        re.IGNORECASE,
    ),
    "question": re.compile(r"\bthe\s+question\b", re.IGNORECASE),
    "answer": re.compile(r"\bthe\s+answer\b", re.IGNORECASE),
}
_WISHES = re.compile(
    r"\bcaveats?\b|\bdisclaimers?\b|\bmay vary\b|\bnuance[ds]?\b|\bin[- ]depth\b|\belaborat\w+\b|\bcomprehensive\w*\b"
    r"|\b(?:further|additional|extra|more|background|helpful|useful)\s+(?:details?|information|examples?|advice|resources)\b"
    r"|\bimportant\s+(?:details?|aspects?|considerations?)\b|\bwhat\s+(?:a|an)\s+expert\b|\bworld knowledge\b",
    re.IGNORECASE,
)
_TOLERATED = re.compile(r"\b(?:fine|allowed|welcome|optional|unnecessary)\b", re.IGNORECASE)
_NEGATED = re.compile(r"\b(?:not|never|no|nor|without|don't|doesn't|neither)\b", re.IGNORECASE)


def lint_rubric(rubric: Rubric) -> list[RubricProblem]:
    """Everything that is wrong or unwise about a rubric, errors first."""
    found = [*_input_errors(rubric), *_scale_errors(rubric)]
    try:
        text = instructions_text(rubric)
    except ConfigurationError as error:
        found += [RubricProblem("instructions_file", each.what, each.remedy) for each in error.problems]
        return found
    if rubric.instructions_file and rubric.instructions.strip():
        found.append(RubricProblem("instructions", "instructions and instructions_file are both given", "keep one"))
    if not text and not rubric.scale.anchors:
        found.append(RubricProblem("instructions", "the judge is told nothing: no instructions and no anchors"))
    return [*found, *_text_warnings(rubric, text), *_anchor_warnings(rubric, text)]


def _input_errors(rubric: Rubric) -> list[RubricProblem]:
    known = f"known: {', '.join(KNOWN)}, {METADATA}FIELD"
    found = [
        RubricProblem("inputs", f"there is no input {name!r}", known)
        for name in rubric.inputs
        if name not in KNOWN and not (name.startswith(METADATA) and len(name) > len(METADATA))
    ]
    if not rubric.inputs:
        found.append(RubricProblem("inputs", "the judge sees nothing", known))
    if len(set(rubric.inputs)) < len(rubric.inputs):
        found.append(RubricProblem("inputs", "an input is listed twice"))
    return found


def _scale_errors(rubric: Rubric) -> list[RubricProblem]:
    scale = rubric.scale
    if scale.kind == "labels" and len(scale.values) < 2:
        return [RubricProblem("scale.values", "a label scale needs two labels at least", "such as {good: 1, bad: 0}")]
    found = []
    low, high = bounds(scale)
    if scale.kind == "labels" and len({label.casefold() for label in scale.values}) < len(scale.values):
        found.append(RubricProblem("scale.values", "two labels differ in capitals only"))
    if low >= high:
        found.append(RubricProblem("scale", f"its lowest value {low:g} is not below its highest {high:g}"))
    if scale.kind == "ordinal" and (low != int(low) or high != int(high)):
        found.append(RubricProblem("scale", "an ordinal scale goes from one whole number to another"))
    if scale.kind == "ordinal" and high - low > 100:
        found.append(RubricProblem("scale", "an ordinal scale has 101 values at most", "use kind: continuous"))
    if scale.pass_at is None and scale.kind not in DISCRETE:
        found.append(RubricProblem("scale.pass_at", "nothing says from which score on an answer passes"))
    if not low < pass_mark(scale) <= high:
        what = f"pass_at {pass_mark(scale):g} lets every answer pass, or none, on a scale from {low:g} to {high:g}"
        found.append(RubricProblem("scale.pass_at", what))
    strange = [value for value in scale.anchors if not low <= value <= high]
    if strange:
        found.append(RubricProblem("scale.anchors", f"not on the scale: {', '.join(map(str, sorted(strange)))}"))
    return found


def _text_warnings(rubric: Rubric, text: str) -> list[RubricProblem]:
    found = []
    whole = "\n".join([rubric.description, text, *rubric.scale.anchors.values()])
    if _VALUE_FIRST.search(text):
        what = "asks for the value before the reasoning, which then only defends it"
        found.append(_warning("instructions", what, "leave the order to the runner: reasoning first"))
    if _FORMAT.search(text):
        what = "asks for a reply format of its own"
        found.append(_warning("instructions", what, "leave it out: the runner adds the format from the scale"))
    for name, pattern in _MENTIONS.items():
        if name not in rubric.inputs and any(pattern.search(s) and not _NEGATED.search(s) for s in _parts(whole)):
            remedy = f"add {name} to inputs or do not speak of it"
            found.append(_warning("instructions", f"speaks of the {name}, which is not among the inputs", remedy))
    demands = [part for part in _parts(whole) if not _NEGATED.search(part) and not _TOLERATED.search(part)]
    wishes = {match.group().lower() for part in demands for match in _WISHES.finditer(part)}
    if wishes:
        what = f"wishes for what the source may not hold ({', '.join(sorted(wishes))}): right answers then lose points"
        found.append(_warning("instructions", what, "say what must be there, and that nothing unasked is required"))
    return found


def _anchor_warnings(rubric: Rubric, text: str) -> list[RubricProblem]:
    labels = label_numbers(rubric.scale) if rubric.scale.kind == "labels" else {}
    unnamed = [label for label in labels if not re.search(rf"(?<!\w){re.escape(label)}(?!\w)", text, re.IGNORECASE)]
    if unnamed:
        return [_warning("instructions", f"does not say what {', '.join(unnamed)} means")]
    if rubric.scale.kind != "ordinal":
        return []
    low, high = bounds(rubric.scale)
    absent = [value for value in range(int(low), int(high) + 1) if value not in rubric.scale.anchors]
    if absent and high - low <= 10:
        listed = ", ".join(map(str, absent))
        return [_warning("scale.anchors", f"say nothing about {listed}", "describe each value, or use a shorter scale")]
    return []


def _parts(text: str) -> list[str]:
    return [part for sentence in sentences(text) for part in sentence.split(";")]


def _warning(where: str, what: str, remedy: str = "") -> RubricProblem:
    return RubricProblem(where, what, remedy, severity="warning")
