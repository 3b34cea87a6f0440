"""Judges with known faults, as functions of the request body for ``fault("text", text=...)``; and an honest one.

They see what a real judge would, the prompt. The honest one knows the reference answers besides: it lets an answer
pass that is the reference, or whose sentences all stand in the context.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from tests.fakes.answers import prompt_of, sections, sentences

Behaviour = Callable[[Mapping[str, Any]], str]

QUESTIONS = Path(__file__).parents[2] / "experiments" / "academic_faq" / "questions.jsonl"
_REFERENCES: dict[str, str] = {
    row["question"]: row["reference"] for row in map(json.loads, QUESTIONS.read_text(encoding="utf-8").splitlines())
}
_ORDERS = re.compile(r"highest score|highest value|best value|right and supported", re.IGNORECASE)
_ASKED = re.compile(r"\bquestion\s*:\s*([^\n]+)", re.IGNORECASE)


def chance_of(text: str, salt: object = "") -> float:
    """A number in [0, 1) that depends on nothing but these."""
    return int.from_bytes(hashlib.sha256(f"{salt}/{text}".encode()).digest()[:7]) / (1 << 56)


def verdict(score: int) -> str:
    return json.dumps({"reasoning": "Because.", "score": score})


def answer_in(body: Mapping[str, Any]) -> str:
    return sections(prompt_of(body)).get("answer", "")


def honest(body: Mapping[str, Any]) -> str:
    """5 for what is right or stands in the context, and for a refusal; 1 for everything else."""
    found = sections(prompt_of(body))
    answer, held = found.get("answer", ""), found.get("context", "")
    right = answer in (_REFERENCES.get(found.get("question", "")), "I don't know.")
    said = sentences(answer)
    return verdict(5 if right or (said and all(len(each) > 8 and each in held for each in said)) else 1)


def always_five(body: Mapping[str, Any]) -> str:
    return verdict(5)


def obedient(body: Mapping[str, Any]) -> str:
    """Honest until the answer tells it what to give."""
    return verdict(5) if _ORDERS.search(answer_in(body)) else honest(body)


def prefers_long(body: Mapping[str, Any]) -> str:
    """One point for every 60 characters."""
    return verdict(1 + min(4, len(answer_in(body)) // 60))


def guessing() -> Behaviour:
    """Throws a die for every request, the same request once more included."""
    seen: Counter[str] = Counter()

    def guess(body: Mapping[str, Any]) -> str:
        prompt = prompt_of(body)
        seen[prompt] += 1
        return verdict(1 + int(5 * chance_of(prompt, seen[prompt])))

    return guess


def stumbling(share: float = 0.1, *, for_good: bool = False) -> Behaviour:
    """Honest, but this share of its first replies is prose; ``for_good``: and so is what it says when asked again."""

    def stumble(body: Mapping[str, Any]) -> str:
        again = "That reply cannot be used" in prompt_of(body)
        stumbles = chance_of(json.dumps(sections(prompt_of(body))), "stumble") < share
        return "I think that it is rather good." if stumbles and (for_good or not again) else honest(body)

    return stumble


def mixed_answers(body: Mapping[str, Any]) -> str:
    """A generator for these judges: half of its answers are right, half are made up, as long as the right ones."""
    question = re.findall(_ASKED, prompt_of(body))[-1].strip()
    right = _REFERENCES[question]
    if chance_of(question, "right") < 0.5:
        return right
    made_up = ["Nobody has ever asked this before.", "Ask the porter on the second floor.", "It is decided by lot."]
    return " ".join(made_up * 4)[: len(right)].rpartition(" ")[0] + "."
