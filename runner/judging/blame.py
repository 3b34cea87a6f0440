"""Where the fault of an answer lies, read from ids, grounding and correctness; and who refused rightly.

========== ============== ========= ======== ======= ==================
answerable gold retrieved answer    grounded correct blame
========== ============== ========= ======== ======= ==================
yes        no             abstains  –        –       retriever_miss
yes        no             states    any      no      retriever_miss
yes        no             states    no       unknown retriever_miss
yes        yes            abstains  –        –       wrong_refusal
yes        yes            states    no       no      hallucinated
yes        yes            states    no       unknown hallucinated
yes        yes            states    yes      no      context_ignored
yes        yes            states    unknown  no      context_ignored
yes        yes            states    no       yes     judges_disagree
no         –              abstains  –        –       fine
no         –              states    no       any     hallucinated
no         –              states    yes      any     judges_disagree
any        any            otherwise, where a judge scored    fine
========== ============== ========= ======== ======= ==================

"Grounded" is what the judges with a context say, "correct" what those with a reference say; two that contradict each
other are judges_disagree. A question without gold documents and without ``answerable`` is treated as answerable from
what was retrieved, since nothing else is known; its refusals get no blame.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from enum import StrEnum
from typing import Protocol

from runner.records import Answer, AnswerStatus, Question, Record, Retrieved, Score
from runner.text import only_refuses


class Blame(StrEnum):
    """One word for where to look first."""

    FINE = "fine"
    RETRIEVER_MISS = "retriever_miss"
    CONTEXT_IGNORED = "context_ignored"
    HALLUCINATED = "hallucinated"
    WRONG_REFUSAL = "wrong_refusal"
    JUDGES_DISAGREE = "judges_disagree"


class Abstention(StrEnum):
    """Whether the answer refused, against whether the question can be answered."""

    ANSWERED = "answered"
    RIGHT_REFUSAL = "right_refusal"
    WRONG_REFUSAL = "wrong_refusal"
    ANSWERED_UNANSWERABLE = "answered_unanswerable"


class _Judged(Protocol):
    @property
    def inputs(self) -> Sequence[str]: ...


def answerable(question: Question) -> bool | None:
    """Whether the knowledge base holds the answer; ``None`` where the question set does not tell.

    Where the set has no such column, gold documents mean yes and a reference that only refuses means no.
    """
    if question.answerable is not None:
        return question.answerable
    if question.gold:
        return True
    return False if question.reference and only_refuses(question.reference) else None


def abstention_of(question: Question, answer: Answer) -> Abstention | None:
    """The cell of the cross table; ``None`` where there is no answer or nobody knows what would be right."""
    known = answerable(question)
    if answer.status is not AnswerStatus.ANSWERED or not answer.text.strip() or known is None:
        return None
    if answer.abstained:
        return Abstention.WRONG_REFUSAL if known else Abstention.RIGHT_REFUSAL
    return Abstention.ANSWERED if known else Abstention.ANSWERED_UNANSWERABLE


def gold_retrieved(question: Question, retrieved: Sequence[Retrieved]) -> bool | None:
    """Whether a chunk of a gold document was retrieved; ``None`` for a question without gold documents."""
    if not question.gold:
        return None
    gold = frozenset(question.gold)
    return any(item.gold or item.chunk.document_id in gold for item in retrieved)


def blame_of(record: Record, grounding: Iterable[str], correctness: Iterable[str]) -> Blame | None:
    """The blame for one record, by the table above; ``None`` where there is no answer or nothing to judge it by.

    ``grounding`` and ``correctness`` name the judges that see a context and a reference.
    """
    question, answer = record.question, record.answer
    if answer.status is not AnswerStatus.ANSWERED or not answer.text.strip():
        return None
    known = answerable(question)
    missed = gold_retrieved(question, record.retrieved) is False
    if answer.abstained:
        return _of_refusal(known, missed=missed)
    grounded = _verdict(record.scores, grounding)
    correct = _verdict(record.scores, correctness)
    if "split" in (grounded, correct):
        return Blame.JUDGES_DISAGREE
    if known is False:
        return None if grounded is None else (Blame.JUDGES_DISAGREE if grounded else Blame.HALLUCINATED)
    if missed:
        # A right answer without its document is luck or memory, but no fault of the answer.
        wrong = correct is False or (correct is None and grounded is False)
        return Blame.RETRIEVER_MISS if wrong else _fine_if_scored(grounded, correct)
    return _of_statement(grounded, correct)


def _of_refusal(known: bool | None, *, missed: bool) -> Blame | None:
    if known is None:
        return None
    if not known:
        return Blame.FINE
    return Blame.RETRIEVER_MISS if missed else Blame.WRONG_REFUSAL


def _of_statement(grounded: bool | str | None, correct: bool | str | None) -> Blame | None:
    if correct is False:
        return Blame.HALLUCINATED if grounded is False else Blame.CONTEXT_IGNORED
    if grounded is False:
        return Blame.JUDGES_DISAGREE if correct else Blame.HALLUCINATED
    return _fine_if_scored(grounded, correct)


def _fine_if_scored(grounded: bool | str | None, correct: bool | str | None) -> Blame | None:
    return None if grounded is None and correct is None else Blame.FINE


def _verdict(scores: Mapping[str, Score], names: Iterable[str]) -> bool | str | None:
    """Whether these judges let the answer pass; ``"split"`` where they contradict each other, ``None``: none scored."""
    passed = {scores[name].passed for name in names if name in scores} - {None}
    return "split" if len(passed) > 1 else next(iter(passed), None)


def diagnosed(record: Record, judges: Mapping[str, _Judged]) -> Record:
    """The record with its blame and its abstention filled in."""
    blame = blame_of(
        record,
        [name for name, judge in judges.items() if "context" in judge.inputs],
        [name for name, judge in judges.items() if "reference" in judge.inputs],
    )
    return replace(record, blame=blame or "", abstention=abstention_of(record.question, record.answer) or "")


def diagnosis_metrics(records: Sequence[Record]) -> dict[str, float]:
    """Counts by blame and by abstention as metrics (``blame/retriever_miss``); empty where nothing was diagnosed."""
    found: dict[str, float] = {}
    for prefix, kinds, values in (
        ("blame", Blame, [record.blame for record in records if record.blame]),
        ("abstention", Abstention, [record.abstention for record in records if record.abstention]),
    ):
        counts = Counter(values)
        if values:
            found.update({f"{prefix}/{kind}": float(counts[kind]) for kind in kinds})
    return found
