"""Words of a text, brought to a form in which "applications" and "application" are one; knows nothing of meaning."""

# ruff: noqa: SIM905 (a list of words is read as a sentence, not as forty literals)
from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")

STOP_WORDS = frozenset(
    """a about after again all also although am an and any are as at be because been before being below between both
    but by can can't cannot could couldn't did didn't do does doesn't doing don't down during each either else even
    ever few for from further get gets had has have having he her here hers him his how however i i'm if in into is
    isn't it it's its itself just let like may me might mine more most much must my myself neither no nor not now of
    off on once one only onto or other our ours out over own per please rather really same shall she should since so
    some such than that that's the their theirs them themselves then there there's these they this those though
    through thus to too under until up upon us very was wasn't we were weren't what when where whether which while
    who whom whose why will with within without won't would yes yet you your yours yourself""".split()
)
"""Words that carry no subject matter; negations are among them and are looked at apart (``facts.negated``)."""


def words(text: str) -> list[str]:
    """The words of a text in lower case, with a straight apostrophe."""
    return [match.group().replace("’", "'").casefold() for match in _WORD.finditer(text)]


def stem(word: str) -> str:
    """The word without its commonest English endings; light on purpose, "university" stays itself."""
    for possessive in ("'s", "'"):
        word = word.removesuffix(possessive)
    for ending, instead, least in (
        ("ies", "y", 5),
        ("sses", "ss", 6),
        ("ications", "y", 10),
        ("ication", "y", 9),
        ("ments", "", 8),
        ("ment", "", 7),
        ("ations", "", 9),
        ("ation", "", 8),
        ("ings", "", 7),
        ("ing", "", 6),
        ("ied", "y", 5),
        ("ed", "", 5),
        ("es", "", 5),
        ("s", "", 4),
        ("ly", "", 6),
    ):
        if word.endswith(ending) and len(word) >= least and not word.endswith("ss"):
            word = word[: -len(ending)] + instead
            break
    if len(word) > 3 and word.endswith("e"):
        word = word[:-1]
    if len(word) > 3 and word.endswith("y"):
        word = word[:-1] + "i"
    if len(word) > 3 and word[-1] == word[-2] and word[-1] not in "lsz":
        word = word[:-1]
    return word


def content_words(text: str) -> list[str]:
    """Stems of the words that carry the subject matter: no stop words, no bare numbers, in the order of the text."""
    return [stem(word) for word in words(text) if word not in STOP_WORDS and not word.isnumeric() and len(word) > 1]


def inverse_frequencies(texts: Iterable[str]) -> Mapping[str, float]:
    """How telling each content word is among these texts: ``log(1 + N / n)`` with n the texts that hold it."""
    folders = [frozenset(content_words(text)) for text in texts]
    counts = Counter(word for folder in folders for word in folder)
    return {word: math.log(1 + len(folders) / count) for word, count in counts.items()}


def coverage(wanted: Sequence[str], given: Iterable[str], weights: Mapping[str, float] | None = None) -> float:
    """The share of the wanted words, weighted, that are among the given ones; 1.0 where nothing is wanted.

    A word without a weight counts as much as the most telling one: nothing is known of it.
    """
    weights = weights or {}
    unknown = max(weights.values(), default=1.0)
    distinct = dict.fromkeys(wanted)
    total = sum(weights.get(word, unknown) for word in distinct)
    if not total:
        return 1.0
    there = frozenset(given)
    return sum(weights.get(word, unknown) for word in distinct if word in there) / total
