"""The labelled cases of the shipped rubrics: well-formed, and what the judge without a model makes of them."""

from __future__ import annotations

import asyncio
import csv
from pathlib import Path

import pytest

from runner.judging import open_judge
from runner.judging.evidence import REFERENCE_PASS_SHARE, reference
from tests.fakes.judged import CASES, case_parts, cases, judge, shipped
from tests.fakes.queued_door import QueuedDoor

LABELLED = sorted(path.stem for path in CASES.glob("*.jsonl"))
RUBRICS = {
    "grounding": "grounding_v1",
    "topicality": "topicality_v2",
    "topicality_v1": "topicality_v1",
    "reference_match": "reference_match_v1",
    "relevance": "relevance_v1",
    "completeness": "completeness_v1",
}
LEAST = {
    "grounding": (0.95, 0.9),
    "topicality": (0.85, 0.8),
    "reference_match": (0.95, 0.85),
    "completeness": (0.95, 0.85),
}
"""AUC and accuracy that the evidence judge must reach. The rules were written beside the cases: a regression line,
not an estimate of how good it is elsewhere."""


def test_every_rubric_has_labelled_cases_of_both_kinds() -> None:
    assert set(LABELLED) == set(RUBRICS)
    for name in LABELLED:
        outcomes = [case["passes"] for case in cases(name)]
        assert min(outcomes.count(True), outcomes.count(False)) >= 3, name
        assert len({case["id"] for case in cases(name)}) == len(outcomes)


@pytest.mark.parametrize("name", LABELLED)
def test_every_case_has_what_its_rubric_needs(name: str) -> None:
    opened = open_judge(name, judge(RUBRICS[name]), QueuedDoor())  # type: ignore[arg-type]
    for case in cases(name):
        assert opened.requests(*case_parts(case)), case["id"]
        if "label" in case:
            assert case["label"] in shipped(RUBRICS[name]).scale.values


@pytest.mark.parametrize("name", sorted(LEAST))
def test_the_evidence_judge_ranks_the_right_answers_first(name: str) -> None:
    opened = open_judge(name, judge(RUBRICS[name], kind="evidence"), QueuedDoor())  # type: ignore[arg-type]
    right, wrong, hits = [], [], 0
    for case in cases(name):
        score = asyncio.run(opened.score(*case_parts(case)))
        if case["passes"] is None:
            assert (score.status, score.reason) == ("not_applicable", "abstained"), case["id"]
            continue
        assert score.value is not None
        assert score.rationale
        (right if case["passes"] else wrong).append(score.value)
        hits += score.passed is case["passes"]
    area = sum((r > w) + 0.5 * (r == w) for r in right for w in wrong) / (len(right) * len(wrong))
    least_area, least_accuracy = LEAST[name]
    assert area >= least_area
    assert hits / (len(right) + len(wrong)) >= least_accuracy


def test_the_evidence_judge_says_the_same_every_time() -> None:
    opened = open_judge("e", judge("grounding_v1", kind="evidence"), QueuedDoor())  # type: ignore[arg-type]
    for case in cases("grounding")[:6]:
        assert asyncio.run(opened.score(*case_parts(case))) == asyncio.run(opened.score(*case_parts(case)))


def test_published_verdicts_on_real_answers_are_mostly_found() -> None:
    folder = Path("../shared/data/course_faq")
    if not folder.is_dir():
        pytest.skip("the course FAQ is not on this machine")
    answers = _rows(folder / "rag-answers-new.csv")
    verdicts = _rows(folder / "rag-evaluations-new.csv")
    shares: dict[str, list[float]] = {"good": [], "bad": []}
    for answer, verdict in zip(answers, verdicts, strict=True):
        found = reference(answer["question"], answer["answer_orig"], answer["answer_llm"])
        shares[verdict["score"]].append(found.share)
    good, bad = shares["good"], shares["bad"]
    assert (len(good), len(bad)) == (379, 16)
    area = sum((g > b) + 0.5 * (g == b) for g in good for b in bad) / (len(good) * len(bad))
    assert area >= 0.92
    assert sum(share >= REFERENCE_PASS_SHARE for share in good) >= 0.8 * len(good)
    assert sum(share >= REFERENCE_PASS_SHARE for share in bad) <= 3


def _rows(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))
