"""``kind: evidence``: a judge without a model. Words, numbers, dates, names and negation, mapped onto the scale.

What it looks at follows from the rubric's inputs: with ``context`` whether the answer's statements are in it; with
``reference`` whether the reference is in the answer; else whether the answer takes up the question. It knows nothing
of meaning: a paraphrase in other words scores low, a contradiction in the same words scores high unless it turns a
number, a date or a negation. A second opinion that costs nothing, and what stands in where there is no model.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from runner.calls.requests import ChatRequest
from runner.config.schema import Judge
from runner.judging.bare_answers import compare_bare, is_yes_or_no
from runner.judging.combining import combine_verdicts, not_applicable
from runner.judging.inputs import Inputs, Missing, gather
from runner.judging.rubrics import rubric_hash
from runner.judging.scales import from_share, label_of
from runner.judging.support import Support, support
from runner.records import Answer, Question, Reason, Retrieved, Score, Verdict, VerdictStatus
from runner.text import (
    SentenceKind,
    content_words,
    coverage,
    dates,
    kind_of,
    months,
    numbers,
    only_refuses,
    sentences,
    stating_sentences,
    words,
)

if TYPE_CHECKING:
    from runner.calls import Door

PASS_SHARE = 0.6
"""The share that stands for the pass mark; 0.84 right on 44 natural answers of small models, chosen before the run."""
REFERENCE_PASS_SHARE = 0.3
"""The same where the answer is compared with a reference, which is mostly longer than its key information. Chosen on
395 answers with published verdicts (379 good, 16 bad): 85 % of the good reach it and 2 of the bad; AUC 0.94."""
FRAGMENT = 6
"""An answer of at most this many words is a bare answer, not a sentence that could be about anything."""
_ASKS_FOR_NUMBER = ("how many", "how much", "how long", "how often", "what percentage", "how far", "how late")
_TIME_WORDS = frozenset({"when", "date", "deadline", "deadlines", "month", "day", "due"})
_ASKS_YES_NO = frozenset(
    "is are was were do does did can could may must should will would has have am need".split()  # noqa: SIM905
)


@dataclass(frozen=True, slots=True)
class Finding:
    """A share between 0 and 1 and what it rests on."""

    share: float
    explanation: str


def grounding(question: str, answer: str, passages: tuple[str, ...]) -> Finding | None:
    """The support of the answer's weakest statement; ``None`` where it states nothing."""
    supports = [support(statement, question, passages) for statement in stating_sentences(answer)]
    if not supports:
        return None
    if len(passages) == 1 and len(words(passages[0])) <= FRAGMENT and is_yes_or_no(passages[0], answer):
        found = compare_bare(question, passages[0], answer)
        if found is not None:
            return Finding(found[0], found[1].replace("reference", "context"))
    weakest = min(supports, key=lambda each: each.share)
    return Finding(weakest.share, _weakest_words(weakest))


def _weakest_words(weakest: Support) -> str:
    why = f"; {weakest.explanation}" if weakest.explanation else ""
    return f'Weakest statement: "{weakest.statement}" (support {weakest.share:.2f}{why}).'


def topicality(question: str, answer: str) -> Finding | None:
    """How much the answer takes up the question: its words, or the kind of thing asked for; ``None`` for a refusal."""
    if only_refuses(answer):
        return None
    if not words(answer):
        return Finding(0.0, "The answer holds no word.")
    shared = coverage(content_words(question), content_words(answer))
    kind = _fitting_kind(question, answer)
    # A short right answer ("January 15.") shares no word with its question, but is of the kind asked for.
    share = max(shared, 0.75 + 0.25 * shared) if kind else min(1.0, 1.3 * shared)
    words_ = f"{shared:.0%} of the question's words are taken up"
    return Finding(share, f"{words_}{f'; it holds {kind}, as asked' if kind else ''}.")


def _fitting_kind(question: str, answer: str) -> str:
    asked = words(question)
    opening = " ".join(asked)
    # A number or date somewhere in an answer that shares no word with the question could belong to anything.
    near = len(words(answer)) <= FRAGMENT or not set(content_words(question)).isdisjoint(content_words(answer))
    if opening.startswith(_ASKS_FOR_NUMBER) and numbers(answer) and near:
        return "a number"
    wants_time = opening.startswith("when") or not _TIME_WORDS.isdisjoint(asked)
    if wants_time and (dates(answer) or months(answer)) and near:
        return "a time"
    if asked[:1] and asked[0] in _ASKS_YES_NO and words(answer)[:1] in (["yes"], ["no"]):
        return "a yes or no"
    if asked[:1] in (["who"], ["where"], ["which"]) and len(words(answer)) <= FRAGMENT and not numbers(answer):
        return "a bare name or place"
    return ""


def reference(question: str, expected: str, answer: str) -> Finding:
    """How much of the reference answer is in the answer; a number or date of the reference must be."""
    bare = compare_bare(question, expected, answer)
    if bare is not None and (bare[0] == 1.0 or not (only_refuses(answer) or only_refuses(expected))):
        return Finding(*bare)
    if only_refuses(answer) or only_refuses(expected):
        same = only_refuses(answer) and only_refuses(expected)
        return Finding(float(same), "Both say that there is no answer." if same else "Only one of the two refuses.")
    supports = [support(sentence, question, (answer,)) for sentence in sentences(expected)]
    stating = [each for each in supports if kind_of(each.statement) is SentenceKind.CONTENT] or supports
    # The key information is rarely in all sentences of a reference: their mean, but no better than the first allows.
    mean = sum(each.share for each in stating) / len(stating)
    weakest = min(stating, key=lambda each: each.share)
    share = min(mean, (stating[0].share + 1) / 2)
    return Finding(min(1.0, 1.25 * share), f"Of the reference least in the answer: {_weakest_words(weakest)[19:]}")


class EvidenceJudge:
    """Scores answers without a model; the same answer always gets the same score."""

    def __init__(self, name: str, judge: Judge, door: Door | None = None) -> None:
        self.name = name
        self.rubric_hash = rubric_hash(judge.rubric)
        self.inputs = tuple(judge.rubric.inputs)
        self._judge = judge

    def requests(self, question: Question, retrieved: tuple[Retrieved, ...], answer: Answer) -> tuple[ChatRequest, ...]:
        """Nothing: no model is asked."""
        return ()

    async def score(self, question: Question, retrieved: tuple[Retrieved, ...], answer: Answer) -> Score:
        """The score of one answer."""
        rubric = self._judge.rubric
        inputs = gather(rubric, question, retrieved, answer)
        if isinstance(inputs, Missing):
            reason, detail = inputs.reason, inputs.detail
        else:
            finding = look(inputs)
            if finding is not None:
                compared = "reference" in inputs.texts and not inputs.passages
                pass_share = REFERENCE_PASS_SHARE if compared else PASS_SHARE
                value = from_share(rubric.scale, finding.share, pass_share)
                verdict = Verdict(
                    status=VerdictStatus.SCORED,
                    score=value,
                    label=label_of(rubric.scale, value),
                    reasoning=finding.explanation,
                )
                return combine_verdicts(
                    self.name, rubric, [verdict], how="mean", model="evidence", content_hash=self.rubric_hash
                )
            reason, detail = Reason.ABSTAINED, "the answer only says that there is none"
        return not_applicable(self.name, rubric, reason, detail, model="evidence", content_hash=self.rubric_hash)


def look(inputs: Inputs) -> Finding | None:
    """What the evidence says about these inputs; ``None`` where the answer states nothing to be checked."""
    texts = inputs.texts
    question, answer = texts.get("question", ""), texts.get("answer", "")
    if inputs.passages:
        return grounding(question, answer, inputs.passages)
    if "reference" in texts:
        return reference(question, texts["reference"], answer)
    return topicality(question, answer)
