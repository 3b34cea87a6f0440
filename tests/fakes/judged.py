"""Questions, passages, answers and rubrics for tests of judges."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import yaml

from runner.config.schema import Judge, Rubric, Scale
from runner.records import Answer, AnswerStatus, Chunk, Question, Retrieved

CONF = Path(__file__).parents[2] / "conf"
CASES = Path(__file__).parents[1] / "judging" / "cases"
DOCUMENTS = Path(__file__).parents[2] / "experiments" / "academic_faq" / "documents"


def shipped(name: str) -> Rubric:
    """A rubric as it ships."""
    told = yaml.safe_load((CONF / "rubric" / f"{name}.yaml").read_text(encoding="utf-8"))
    return Rubric(**{**told, "scale": Scale(**told["scale"])})


def judge(rubric: Rubric | str, **choices: Any) -> Judge:
    """A judge with this rubric; what is not chosen is as in ``judge_defaults``."""
    told: dict[str, Any] = {
        "kind": "model", "model": "gpt-4o", "endpoint": None, "temperature": 0.0, "max_tokens": 600,
        "scoring": "verdict", "repeats": 1, "combine": "mean",
    }  # fmt: skip
    return Judge(rubric=shipped(rubric) if isinstance(rubric, str) else rubric, **{**told, **choices})


def passages(*texts: str) -> tuple[Retrieved, ...]:
    """Retrieved chunks with these texts."""
    return tuple(Retrieved(Chunk(f"c{n}", f"d{n}", 0, text), n, 1 / n) for n, text in enumerate(texts, 1))


def said(text: str, *contexts: str) -> Answer:
    """An answer with this text."""
    return Answer(status=AnswerStatus.ANSWERED, text=text, contexts=contexts)


DEADLINE = Question(
    "q1",
    "When are fall applications due?",
    reference="By January 15.",
    gold=("d1",),
    answerable=True,
    metadata={"lang": "en"},
)
CONTEXT = passages(
    "Applications for the fall semester must reach the admissions office by January 15.",
    "Students who transfer apply by March 1. First-year students must live on campus.",
)


def cases(name: str) -> list[dict[str, Any]]:
    """The labelled cases of a rubric."""
    lines = (CASES / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines if line.strip()]


def case_parts(case: dict[str, Any]) -> tuple[Question, tuple[Retrieved, ...], Answer]:
    """Question, passages and answer of a labelled case."""
    texts = [(DOCUMENTS / f"{name}.md").read_text(encoding="utf-8") for name in case.get("documents", ())]
    question = Question(case["id"], case["question"], reference=case.get("reference"))
    return question, passages(*texts), said(case["answer"])
