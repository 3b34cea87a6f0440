"""How a model's reply becomes a verdict: one stated verdict, or the probabilities of the values."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Protocol

from runner.calls.requests import Reply, TokenChoice
from runner.config.schema import Rubric
from runner.judging.replies import Reading, Unreadable, read_verdict
from runner.judging.scales import label_of, options
from runner.judging.schemas import value_key
from runner.records import Reason

ALTERNATIVES = 20
"""Log probabilities asked for at each token; 20 is the most that OpenAI and llama.cpp give."""
LEAST_MASS = 0.5
"""The values must hold at least this probability together, or the model was about to write something else."""


class Mode(Protocol):
    """A way to ask for a verdict and to read it."""

    reasoning: bool
    """Whether the judge is to reason before it gives the value."""
    top_logprobs: int | None

    def read(self, rubric: Rubric, reply: Reply) -> Reading | Unreadable:
        """The verdict in a reply that came."""


class StatedVerdict:
    """The judge reasons and then states one value; that value is the score."""

    reasoning = True
    top_logprobs: int | None = None

    def read(self, rubric: Rubric, reply: Reply) -> Reading | Unreadable:
        """The value in the reply's JSON."""
        return read_verdict(rubric.scale, reply.text)


class ProbabilityWeighted:
    """The judge gives the value alone; the score is the mean of the values, weighted by their probabilities.

    Without reasoning, because written reasoning settles the value before it is given and the distribution collapses
    (Wang et al. 2025, arXiv 2503.03064; the weighting itself is G-Eval's, Liu et al. 2023).
    """

    reasoning = False
    top_logprobs: int | None = ALTERNATIVES

    def read(self, rubric: Rubric, reply: Reply) -> Reading | Unreadable:
        """The weighted mean; malformed where the stated value cannot be read or its probabilities are not there."""
        stated = read_verdict(rubric.scale, reply.text)
        if isinstance(stated, Unreadable):
            return stated
        shares = value_probabilities(rubric, reply.logprobs)
        mass = sum(shares.values())
        if mass < LEAST_MASS:
            detail = (
                f"the probabilities of the values add up to {mass:.2f} only"
                if reply.logprobs
                else "the reply has no log probabilities (say scoring=verdict for a model that gives none)"
            )
            return Unreadable(Reason.MALFORMED, detail)
        numbers = options(rubric.scale)
        score = sum(numbers[value] * share for value, share in shares.items()) / mass
        listed = ", ".join(f"{value} {share / mass:.2f}" for value, share in shares.items() if share / mass >= 0.005)
        return Reading(score, label_of(rubric.scale, score), f"Probabilities: {listed}.")


def value_probabilities(rubric: Rubric, tokens: tuple[TokenChoice, ...]) -> Mapping[str, float]:
    """The probability of each value at the token where the value begins.

    A token counts for the value that it is, or that it alone of all values is a beginning of (labels are often
    several tokens long). Empty where there are no tokens or the value is not found among them.
    """
    values = list(options(rubric.scale))
    text = "".join(token.token for token in tokens)
    head = re.search(rf'"{value_key(rubric.scale)}"\s*:\s*"?', text)
    if head is None:
        return {}
    position = 0
    for token in tokens:
        end = position + len(token.token)
        if end > head.end():
            before = token.token[: max(head.end() - position, 0)]
            return _shares(values, before, token)
        position = end
    return {}


def _shares(values: list[str], before: str, token: TokenChoice) -> Mapping[str, float]:
    shares = dict.fromkeys(values, 0.0)
    alternatives = dict(token.alternatives) or {token.token: token.logprob}
    for text, logprob in alternatives.items():
        if not text.startswith(before):
            continue
        value = _value_of(values, text[len(before) :])
        if value is not None:
            shares[value] += math.exp(logprob)
    return shares


def _value_of(values: list[str], text: str) -> str | None:
    word = text.strip().strip('"}').strip().casefold()
    if not word:
        return None
    exact = [value for value in values if value.casefold() == word]
    begun = exact or [value for value in values if value.casefold().startswith(word)]
    return begun[0] if len(begun) == 1 else None
