"""``scoring: sentences``: small models judge by yes or no, one statement at a time, and are believed by probability.

Asked for a verdict on a scale a model of 1.5 billion parameters ranks answers no better than chance; the probability
that it gives to "yes" for one statement against one passage ranks them well (areas under the curve on the same
answers: 0.47 and 0.94). So grounding is the lowest P(yes) over the answer's statements, times what the evidence says
of the same statement; topicality is the lowest P(yes) alone; a reference is compared with the whole answer. The
rationale is made of these numbers: what such a model writes as its reason is not to be trusted.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from runner.calls import calling
from runner.calls.requests import ChatRequest, Reply, TokenChoice
from runner.judging import evidence, yes_no
from runner.judging.asking import AskingJudge, check_log_probabilities, side_by_side, worth_asking_again
from runner.judging.inputs import Inputs, Missing, gather
from runner.judging.scales import from_share, label_of
from runner.judging.support import Support, support
from runner.records import Answer, Question, Reason, Retrieved, Score, Stage, Verdict, VerdictStatus
from runner.text import only_refuses, stating_sentences

STATEMENT_PASS_SHARE = 0.4
"""P(yes) times evidence that stands for the pass mark: 0.89 right on 44 natural answers, chosen before the run."""
WHOLE_PASS_SHARE = 0.5
"""P(yes) about a whole answer that stands for the pass mark."""
LEAST_MASS = 0.5
"""Below this "yes" and "no" are not what the model was about to say; it was 0.98 and more in every measured call."""


@dataclass(frozen=True, slots=True)
class Ask:
    """One yes-or-no question to the model, and the part of the answer it is about."""

    request: ChatRequest
    part: str
    evidence: float = 1.0
    """The share that P(yes) is multiplied by."""
    explanation: str = ""
    """What the evidence found, in a few words."""


class SentenceJudge(AskingJudge):
    """Scores answers by P(yes); made for local models, works with any that gives log probabilities."""

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
            return [
                self._about(support(each, question, inputs.passages), question) for each in stating_sentences(answer)
            ]
        if "reference" in texts:
            found = evidence.reference(question, texts["reference"], answer)
            # Only half of it counts: a right answer in other words has little evidence, a wrong one has none.
            return [
                Ask(
                    self._request(yes_no.match(question, texts["reference"], answer)),
                    answer,
                    min(1.0, 0.5 + found.share),
                )
            ]
        if yes_no.asks_by_statement(self._judge.rubric, texts):
            parts = stating_sentences(answer) or (answer,)
            return [Ask(self._request(yes_no.reply(question, part)), part) for part in parts]
        return [Ask(self._request(yes_no.whole(self._judge.rubric, texts)), answer)]

    def _about(self, found: Support, question: str) -> Ask:
        messages = yes_no.statement(found.statement, question, found.passage)
        return Ask(self._request(messages), found.statement, found.share, found.explanation)

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
        replies: list[Reply] = await side_by_side(self._asked(replace(ask.request, repeat=repeat)) for ask in asks)
        calls = tuple(reply.call for reply in replies)
        raw = "\n".join(reply.text for reply in replies)
        verdict = Verdict(status=VerdictStatus.FAILED, raw=raw, repeat=repeat, calls=calls)
        for reply in replies:
            if not _came(reply):
                return replace(verdict, reason=reply.reason, detail=reply.detail)
        shares = [probability_of_yes(reply.logprobs) for reply in replies]
        if any(share is None for share in shares):
            model = self._judge.model
            detail = f"{model} gave no probability to yes or no (scoring=sentences needs log probabilities)"
            return replace(verdict, reason=Reason.MALFORMED, detail=detail)
        share, reasoning = self._weigh(asks, [each for each in shares if each is not None])
        return self._scored(inputs, share, reasoning, verdict)

    async def _asked(self, request: ChatRequest) -> Reply:
        reply = await self._door.chat(request)
        check_log_probabilities(self.name, self._judge, reply)
        unreadable = _came(reply) and probability_of_yes(reply.logprobs) is None
        if unreadable and worth_asking_again(self._door, (reply.call,)):
            reply = await self._door.chat(request, again=True)
        return reply

    def _pass_share(self, inputs: Inputs) -> float:
        by_statement = bool(inputs.passages) or yes_no.asks_by_statement(self._judge.rubric, inputs.texts)
        return STATEMENT_PASS_SHARE if by_statement else WHOLE_PASS_SHARE

    def _scored(self, inputs: Inputs, share: float, reasoning: str, verdict: Verdict) -> Verdict:
        scale = self._judge.rubric.scale
        value = from_share(scale, share, self._pass_share(inputs))
        return replace(
            verdict, status=VerdictStatus.SCORED, score=value, label=label_of(scale, value), reasoning=reasoning
        )

    @staticmethod
    def _weigh(asks: list[Ask], shares: list[float]) -> tuple[float, str]:
        """The lowest P(yes) times evidence, and what it was found at."""
        weakest, yes = min(zip(asks, shares, strict=True), key=lambda each: each[1] * each[0].evidence)
        numbers = f"P(yes) {yes:.2f}" + (f", evidence {weakest.evidence:.2f}" if weakest.evidence != 1.0 else "")
        why = f"; {weakest.explanation}" if weakest.explanation else ""
        where = f'Weakest statement: "{weakest.part}"' if len(asks) > 1 or weakest.explanation else f'"{weakest.part}"'
        return yes * weakest.evidence, f"{where} ({numbers}{why})."


def _came(reply: Reply) -> bool:
    """Whether there is a first token, which is all that counts: what follows it may well be cut off."""
    return reply.ok or (reply.reason == Reason.TRUNCATED and bool(reply.logprobs))


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
