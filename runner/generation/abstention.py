"""When an answer counts as an abstention; the stated rule, so that nobody has to guess from a number.

The rule
    An answer abstains where at least one of its sentences is a refusal and every other one is courtesy.

A refusal is a sentence that as a whole says that there is no answer: "I don't know.", "The context does not mention
parking.", "There is no information about this in the documents." Courtesy states nothing: "Sorry.", "Please ask the
registrar." Each clause after "but" or "however" is looked at for itself, so "I don't know the fee, but it is about
20 dollars" states something and does not abstain; neither does a right answer that ends with "I don't know more than
that". The patterns are in ``runner.text.refusals``; they are English, and anchored at the start of the sentence: the
words "I don't know" inside a sentence mean nothing.

What the rule cannot see: a refusal in other words than these, or in another language, counts as an answer.
"""

from __future__ import annotations

from runner.text import only_refuses

REFUSAL = "The context does not say."
"""What the generators of this project say themselves where they have no answer."""


def abstains(text: str) -> bool:
    """Whether this answer says that the context does not hold an answer, and nothing else."""
    return only_refuses(text)
