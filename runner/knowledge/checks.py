"""Checks a question set against the knowledge base and the judges, before anything is paid."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from runner.errors import Problem
from runner.knowledge.gold import nearest
from runner.records import Document, Question


def check_questions(
    questions: Sequence[Question],
    documents: Sequence[Document],
    *,
    needs_reference: Sequence[str],
    name: str = "those of other documents",
) -> list[Problem]:
    """Everything that would make scores of these questions meaningless.

    Gold ids that no document has (not checked without documents), questions without text, references that only
    repeat the question, and judges in ``needs_reference`` where no question has a reference answer at all. (Where
    only some have none, the judge's verdict on those is "not applicable".) Where nearly all questions have gold from
    elsewhere, the set, called ``name`` there, was made for other documents: one problem instead of one each.
    """
    known = {document.id for document in documents}
    problems: list[Problem] = []
    if documents:
        problems = _of_other_documents(questions, known, name) or list(_gold(questions, known))
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


_FEW = 3
"""So few questions are named one by one, whatever is wrong with them."""
_NEARLY_ALL = 0.9


def _of_other_documents(questions: Sequence[Question], known: set[str], name: str) -> list[Problem]:
    """One problem where the questions are those of another knowledge base, as after a change of the documents alone."""
    with_gold = [question for question in questions if question.gold]
    strange = [question for question in with_gold if known.isdisjoint(question.gold)]
    if len(strange) < max(_FEW, _NEARLY_ALL * len(with_gold)):
        return []
    example, there = strange[0].gold[0], min(known)
    what = f"these are {name}, whose gold documents ({example}, ...) are not in this knowledge base"
    remedy = f"say questions=NAME, or questions=file questions.path=FILE; gold is the id of a document, such as {there}"
    return [Problem("questions", what, remedy)]


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
