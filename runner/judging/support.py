"""Whether a statement is in a text, without a model: words, numbers, dates, months, names and negation.

The share of a statement's telling words that the best window of the passages holds, times what its facts deserve:
a number or date that no passage holds makes the statement almost worthless however well its words fit, which is just
where word overlap alone fails ("by March 15" for "by January 15").
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from runner.text import (
    content_words,
    coverage,
    dates,
    inverse_frequencies,
    missing,
    months,
    names,
    negated,
    negations,
    numbers,
    sentences,
    words,
)

NOWHERE = 0.1
"""Factor for a number, date or month that no passage holds."""
ELSEWHERE = 0.7
"""Factor for one that stands in the passages but not near the words it is said of."""
UNKNOWN_NAME = 0.5
"""Factor for a name that neither the passages nor the question hold."""
OPPOSITE = 0.55
"""Factor where just one of the statement and its best window is negated."""
SAME_POLARITY = 0.75
"""A clause of the statement's own polarity that fits this well in comparison clears it."""
LEAST_CLAIM = 4
"""Words of substance from which on a statement is more than a fragment."""
WINDOW = 2
"""Consecutive sentences that are taken together when a statement is looked up."""
QUESTION_WEIGHT = 0.4
"""How much a word counts that the question brought up: repeating the question supports nothing by itself."""
_CLAUSE = re.compile(r";\s+|,\s+(?:but|and|so|while|whereas|what)\s+")


@dataclass(frozen=True, slots=True)
class Support:
    """How well one statement is supported."""

    share: float
    """0 to 1."""
    statement: str
    window: str
    """The part of the passages that fits best."""
    lacking: tuple[str, ...] = ()
    """Numbers, dates, months and names that are not where they should be, as a person reads them."""
    reversed: bool = False
    """Just one of statement and window is negated."""
    passage: str = ""
    """The passage that the window is from."""

    @property
    def explanation(self) -> str:
        """Why the share is not 1, in a few words; empty where nothing stands out."""
        parts = [f"not found: {', '.join(self.lacking)}"] if self.lacking else []
        if self.reversed:
            parts.append("the context seems to say the opposite")
        return "; ".join(parts)


@lru_cache(maxsize=512)
def _windows(passages: tuple[str, ...]) -> tuple[tuple[str, frozenset[str], str], ...]:
    """(window, its words, its passage), each window once."""
    found: dict[str, tuple[frozenset[str], str]] = {}
    for passage in passages:
        parts = sentences(passage)
        for length in range(1, WINDOW + 1):
            for start in range(max(len(parts) - length + 1, 1)):
                window = " ".join(parts[start : start + length])
                found.setdefault(window, (frozenset(content_words(window)), passage))
    return tuple((window, held, passage) for window, (held, passage) in found.items())


@lru_cache(maxsize=512)
def _clauses(passages: tuple[str, ...]) -> tuple[tuple[str, bool, frozenset[str]], ...]:
    parts = (part for passage in passages for sentence in sentences(passage) for part in _CLAUSE.split(sentence))
    return tuple((part, negated(part), frozenset(content_words(part))) for part in parts)


def _facts(text: str) -> frozenset[str]:
    # A date's day is also a number: it is looked at as a date only.
    days = {str(day) for _, day in dates(text)}
    return frozenset(number for number in numbers(text) if number not in days)


def _dates(text: str) -> frozenset[str]:
    dated = dates(text)
    bare = months(text) - {month for month, _ in dated}
    return frozenset({f"{month.capitalize()} {day}" for month, day in dated} | {month.capitalize() for month in bare})


def _within(stated: Iterable[str], near: frozenset[str], anywhere: frozenset[str]) -> tuple[float, tuple[str, ...]]:
    nowhere = missing(stated, anywhere)
    if nowhere:
        return NOWHERE, nowhere
    elsewhere = missing(stated, near)
    return (ELSEWHERE, elsewhere) if elsewhere else (1.0, ())


def _months_in(text: str) -> frozenset[str]:
    return _dates(text) | {month.capitalize() for month in months(text)}


def support(statement: str, question: str, passages: Sequence[str]) -> Support:
    """How well the passages support one statement that answers a question. Deterministic; about a millisecond."""
    asked = frozenset(content_words(question))
    claim = content_words(statement)
    if not [word for word in claim if word not in asked] and not _facts(statement) and not _dates(statement):
        # "Yes." or a mere echo: what is claimed is what the question asks about.
        claim, asked = [*claim, *asked], frozenset()
    windows = _windows(tuple(passages))
    everything = "\n".join(passages)
    weights = dict(inverse_frequencies(window for window, _, _ in windows))
    unknown = max(weights.values(), default=1.0)
    weights.update({word: QUESTION_WEIGHT * weights.get(word, unknown) for word in asked if word in set(claim)})
    all_words = frozenset(content_words(everything))
    scored = [(coverage(claim, held, weights), -len(window), window, passage) for window, held, passage in windows]
    best, _, window, passage = max(scored, default=(0.0, 0, "", ""))
    # Words from other sentences of the passages count for something: answers join what stands apart.
    share = max(best, 0.8 * coverage(claim, all_words, weights))
    number_factor, no_numbers = _within(_facts(statement) - _facts(question), numbers(window), numbers(everything))
    date_factor, no_dates = _within(_dates(statement), _months_in(window), _months_in(everything))
    strange = _strange_names(statement, f"{everything}\n{question}")
    reversed_ = best >= 0.5 and _opposite(statement, claim, tuple(passages), weights)
    share *= min(number_factor, date_factor) * (UNKNOWN_NAME if strange else 1.0) * (OPPOSITE if reversed_ else 1.0)
    return Support(share, statement, window, (*no_numbers, *no_dates, *strange), reversed_, passage)


def _strange_names(statement: str, known_from: str) -> tuple[str, ...]:
    found = words(known_from)
    known = {*found, *(word.removesuffix("'s") for word in found), *(word.rstrip("s") for word in found)}
    parts = ((name, [part.rstrip("s") or part for part in words(name)]) for name in names(statement))
    return tuple(sorted(name for name, each in parts if name not in known and not known.issuperset(each)))


def _opposite(statement: str, claim: Sequence[str], passages: tuple[str, ...], weights: Mapping[str, float]) -> bool:
    """Whether the clauses that fit best say "not" where the statement does not, or the other way round.

    Only where no clause of the statement's own polarity fits nearly as well, and never for a fragment.
    """
    said = negated(statement)
    opening = words(statement)[:1]
    if opening == ["no"] and not negations(statement):
        if content_words(statement):
            return False  # "No, students find it themselves": what the "no" denies is not in this sentence
        said = True
    if len(set(content_words(statement))) < LEAST_CLAIM and opening not in (["yes"], ["no"]):
        return False
    best = {True: 0.0, False: 0.0}
    for clause, negative, held in _clauses(passages):
        best[negative] = max(best[negative], coverage(claim, held, weights) if clause else 0.0)
    return best[not said] >= 0.5 and best[said] < SAME_POLARITY * best[not said]
