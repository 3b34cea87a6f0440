"""Checks a question set against the knowledge base and the judges, before anything is paid."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from runner.errors import Problem
from runner.knowledge.gold import nearest
from runner.records import Document, Question


def check_questions(
    questions: Sequence[Question], documents: Sequence[Document], *, needs_reference: Sequence[str]
) -> list[Problem]:
    """Everything that would make scores of these questions meaningless.

    Gold ids that no document has (not checked without documents), questions without text, references that only
    repeat the question, and judges in ``needs_reference`` where no question has a reference answer at all. (Where
    only some have none, the judge's verdict on those is "not applicable".)
    """
    problems = list(_gold(questions, {document.id for document in documents}) if documents else ())
    for question in questions:
        if not question.text.strip():
            problems.append(Problem(f"question {question.id}", "has no text"))
        elif question.reference is not None and _plain(question.reference) == _plain(question.text):
            what = "has a reference answer that is the question itself"
            problems.append(Problem(f"question {question.id}", what, "write the answer, or leave it empty"))
    if questions and not any(question.reference for question in questions):
        remedy = "add reference answers (questions.fields.reference names their column) or leave the judge out"
        what = "needs reference answers, and no question has one"
        problems.extend(Problem(f"judges.{name}", what, remedy) for name in needs_reference)
    return problems


def _gold(questions: Sequence[Question], known: set[str]) -> Iterator[Problem]:
    for question in questions:
        for gold in question.gold:
            if gold in known:
                continue
            near = nearest(gold, known)
            remedy = f"did you mean {near}?" if near else "gold ids are the ids of documents"
            yield Problem(f"question {question.id}", f"no document has the gold id {gold}", remedy)


def _plain(text: str) -> str:
    return re.sub(r"\W+", " ", text).casefold().strip()
