"""Ids of questions that bring none: from what is asked, never from what was answered."""

from __future__ import annotations

import hashlib
import json
from collections import Counter, defaultdict
from collections.abc import Collection, Sequence
from typing import Any

from runner.records import Question


def hashed_id(content: Sequence[Any]) -> str:
    """An id such as ``q-0123456789`` from anything that JSON or ``str`` can show."""
    text = json.dumps(content, sort_keys=True, default=str)
    return "q-" + hashlib.sha256(text.encode()).hexdigest()[:10]


def answered_ids(questions: Sequence[Question], taken: Collection[str] = ()) -> list[str]:
    """Ids for questions with recorded answers, equal in the files of two systems that were asked the same.

    From the text; where one text stands with several references or gold documents, from those too. What is still equal
    (one question answered several times) is numbered in the order given: ``q-…``, ``q-…-2``. An id in ``taken`` is
    passed over.
    """
    asked: dict[str, set[tuple[str | None, tuple[str, ...]]]] = defaultdict(set)
    for question in questions:
        asked[question.text].add((question.reference, question.gold))
    counted: Counter[str] = Counter()
    found = []
    for question in questions:
        several = len(asked[question.text]) > 1
        base = hashed_id([question.text, *([question.reference, question.gold] if several else [])])
        while True:
            counted[base] += 1
            identity = base if counted[base] == 1 else f"{base}-{counted[base]}"
            if identity not in taken:
                break
        found.append(identity)
    return found
