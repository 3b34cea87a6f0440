"""``scoring: sentences``: small models judge by yes or no, one statement at a time, and are believed by probability.

Asked for a verdict on a scale a model of 1.5 billion parameters ranks answers no better than chance; the probability
that it gives to "yes" for one statement against one passage ranks them well (platform measurements: AUC 0.47 against
0.94). So grounding is the lowest P(yes) over the answer's statements, times what the evidence says of the same
statement; rubrics without a context ask once about the whole answer. The rationale is made of these numbers: what
such a model writes as its reason is not to be trusted.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from runner.calls import calling
from runner.calls.requests import ChatRequest, Reply, TokenChoice
from runner.config.schema import Judge
from runner.judging import yes_no
from runner.judging.combining import combine_verdicts, not_applicable
from runner.judging.inputs import Inputs, Missing, gather
from runner.judging.model_judge import check_log_probabilities, side_by_side
from runner.judging.rubrics import rubric_hash
from runner.judging.scales import from_share, label_of
from runner.judging.support import Support, support
from runner.records import Answer, Question, Reason, Retrieved, Score, Stage, Verdict, VerdictStatus
from runner.text import only_refuses, stating_sentences

if TYPE_CHECKING:
    from runner.calls import Door

STATEMENT_PASS_SHARE = 0.4
"""P(yes) times evidence that stands for the pass mark: 0.89 right on 44 natural answers, chosen before the run."""
WHOLE_PASS_SHARE = 0.5
"""P(yes) about a whole answer that stands for the pass mark."""
LEAST_MASS = 0.5
"""Below this "yes" and "no" are not what the model was about to say; it was 0.98 and more in every measured call."""


@dataclass(frozen=True, slots=True)
class Ask:
    """One yes-or-no question to the model, and the statement it is about."""

    request: ChatRequest
    support: Support | None = None


class SentenceJudge:
    """Scores answers by P(yes); made for local models, works with any that gives log probabilities."""

    def __init__(self, name: str, judge: Judge, door: Door) -> None:
        self.name = name
        self.rubric_hash = rubric_hash(judge.rubric)
        self.inputs = tuple(judge.rubric.inputs)
        self._judge = judge
        self._door = door
        self._endpoint = door.endpoint(judge.endpoint, judge.model)

    def requests(self, question: Question, retrieved: tuple[Retrieved, ...], answer: Answer) -> tuple[ChatRequest, ...]:
        """What the model would be asked about this answer; nothing is sent."""
        inputs = gather(self._judge.rubric, question, retrieved, answer)
        if isinstance(inputs, Missing) or self._says_nothing(inputs) or refusals_compared(inputs) is not None:
            return ()
        asks = self._asks(inputs)
        return tuple(replace(ask.request, repeat=repeat) for repeat in range(self._judge.repeats) for ask in asks)

    async def score(self, question: Question, retrieved: tuple[Retrieved, ...], answer: Answer) -> Score:
        """The score of one answer; an answer that only refuses is not applicable, with the reason ``abstained``."""
        rubric = self._judge.rubric
        inputs = gather(rubric, question, retrieved, answer)
        if isinstance(inputs, Missing):
            return self._not_applicable(inputs.reason, inputs.detail)
        if self._says_nothing(inputs):
            return self._not_applicable(Reason.ABSTAINED, "the answer only says that there is none")
        alike = refusals_compared(inputs)
        if alike is not None:
            return self._combined([self._scored(inputs, *alike, Verdict(status=VerdictStatus.SCORED))])
        asks = self._asks(inputs)
        with calling(stage=Stage.JUDGE):
            return self._combined(
                await side_by_side(self._verdict(inputs, asks, repeat) for repeat in range(self._judge.repeats))
            )

    def _combined(self, verdicts: list[Verdict]) -> Score:
        judge = self._judge
        return combine_verdicts(
            self.name, judge.rubric, verdicts, how=judge.combine, model=judge.model, content_hash=self.rubric_hash
        )

    def _not_applicable(self, reason: Reason, detail: str) -> Score:
        return not_applicable(
            self.name, self._judge.rubric, reason, detail, model=self._judge.model, content_hash=self.rubric_hash
        )

    @staticmethod
    def _says_nothing(inputs: Inputs) -> bool:
        answer = inputs.texts.get("answer", "")
        if "reference" in inputs.texts:
            return False  # a refusal may be just what the reference says
        return only_refuses(answer) if not inputs.passages else not stating_sentences(answer)

    def _asks(self, inputs: Inputs) -> list[Ask]:
        texts = inputs.texts
        question, answer = texts.get("question", ""), texts.get("answer", "")
        if inputs.passages:
            supports = [support(each, question, inputs.passages) for each in stating_sentences(answer)]
            return [
                Ask(self._request(yes_no.statement(each.statement, question, each.passage)), each) for each in supports
            ]
        if "reference" in texts:
            return [Ask(self._request(yes_no.match(question, texts["reference"], answer)))]
        return [Ask(self._request(yes_no.whole(self._judge.rubric, texts)))]

    def _request(self, messages: yes_no.Messages) -> ChatRequest:
        return ChatRequest(
            endpoint=self._endpoint,
            model=self._judge.model,
            messages=messages,
            max_tokens=yes_no.MAX_TOKENS,
            temperature=self._judge.temperature,
            top_logprobs=yes_no.ALTERNATIVES,
        )

    async def _verdict(self, inputs: Inputs, asks: list[Ask], repeat: int) -> Verdict:
        replies: list[Reply] = await side_by_side(self._door.chat(replace(ask.request, repeat=repeat)) for ask in asks)
        calls = tuple(reply.call for reply in replies)
        raw = "\n".join(reply.text for reply in replies)
        verdict = Verdict(status=VerdictStatus.FAILED, raw=raw, repeat=repeat, calls=calls)
        for reply in replies:
            check_log_probabilities(self.name, self._judge, reply)
            # The first token is all that counts: what follows it may well be cut off.
            if not reply.ok and not (reply.reason == Reason.TRUNCATED and reply.logprobs):
                return replace(verdict, reason=reply.reason, detail=reply.detail)
        shares = [probability_of_yes(reply.logprobs) for reply in replies]
        if any(share is None for share in shares):
            model = self._judge.model
            detail = f"{model} gave no probability to yes or no (scoring=sentences needs log probabilities)"
            return replace(verdict, reason=Reason.MALFORMED, detail=detail)
        share, reasoning = self._weigh(inputs, asks, [each for each in shares if each is not None])
        return self._scored(inputs, share, reasoning, verdict)

    def _scored(self, inputs: Inputs, share: float, reasoning: str, verdict: Verdict) -> Verdict:
        scale = self._judge.rubric.scale
        value = from_share(scale, share, STATEMENT_PASS_SHARE if inputs.passages else WHOLE_PASS_SHARE)
        return replace(
            verdict, status=VerdictStatus.SCORED, score=value, label=label_of(scale, value), reasoning=reasoning
        )

    @staticmethod
    def _weigh(inputs: Inputs, asks: list[Ask], shares: list[float]) -> tuple[float, str]:
        if not inputs.passages:
            return shares[0], f"P(yes) {shares[0]:.2f}."
        worst: tuple[float, str] | None = None
        for ask, yes in zip(asks, shares, strict=True):
            if ask.support is None:
                continue
            share = yes * ask.support.share
            why = f"; {ask.support.explanation}" if ask.support.explanation else ""
            numbers = f"P(yes) {yes:.2f}, evidence {ask.support.share:.2f}{why}"
            text = f'Weakest statement: "{ask.support.statement}" ({numbers}).'
            if worst is None or share < worst[0]:
                worst = share, text
        return worst or (0.0, "")


def refusals_compared(inputs: Inputs) -> tuple[float, str] | None:
    """Share and reason where the answer or its reference only refuses: known without asking; ``None``: neither does."""
    if inputs.passages or "reference" not in inputs.texts:
        return None
    answer, expected = only_refuses(inputs.texts.get("answer", "")), only_refuses(inputs.texts["reference"])
    if answer and expected:
        return 1.0, "Both say that there is no answer."
    if answer or expected:
        return 0.0, f"Only the {'answer' if answer else 'reference'} says that there is no answer."
    return None


def probability_of_yes(tokens: tuple[TokenChoice, ...]) -> float | None:
    """P(yes) / (P(yes) + P(no)) at the first token; ``None`` where neither has any weight there."""
    if not tokens:
        return None
    alternatives = dict(tokens[0].alternatives) or {tokens[0].token: tokens[0].logprob}
    mass = {"yes": 0.0, "no": 0.0}
    for text, logprob in alternatives.items():
        word = text.strip(" \t\r\n\"'*.,:Ġ▁").casefold()
        if word in mass:
            mass[word] += math.exp(logprob)
    total = mass["yes"] + mass["no"]
    return mass["yes"] / total if total >= LEAST_MASS else None
