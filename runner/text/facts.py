"""Numbers, dates, names and negations that a text states: what a judge without a model can check."""

# ruff: noqa: SIM905 (a list of words is read as a sentence, not as forty literals)
from __future__ import annotations

import re
from collections.abc import Iterable
from decimal import Decimal, InvalidOperation

from runner.text.words import STOP_WORDS

MONTHS = "january february march april may june july august september october november december".split()
_MONTH = "(" + "|".join(f"{month}|{month[:3]}" for month in MONTHS) + r"|sept)\.?"
_DAY = r"(\d{1,2})(?:st|nd|rd|th)?"
_MONTH_DAY = re.compile(rf"\b{_MONTH}\s+(?:the\s+)?{_DAY}\b(?!\s*(?:%|hours?\b|credits?\b))", re.IGNORECASE)
_DAY_MONTH = re.compile(rf"\b{_DAY}\s+(?:of\s+)?{_MONTH}(?![a-z])", re.IGNORECASE)
_ISO = re.compile(r"\b\d{4}-(\d{2})-(\d{2})\b")
# "may" and "march" are also words: only with a capital, and "May" only where a date could stand.
_BARE_MONTH = re.compile(
    r"\b(January|February|March|April|June|July|August|September|October|November|December)\b"
    r"|(?<=\bin )May\b|(?<=\bof )May\b|(?<=\bby )May\b|(?<=\bsince )May\b|(?<=\buntil )May\b|\bMay(?=\s+\d)"
)
_NUMBER = re.compile(r"(?<![\w.,])[-−]?\d+(?:[.,]\d{3})*(?:[.,]\d+)?(?:(?=\D)|$)")
_SMALL = "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen "
_SMALL += "seventeen eighteen nineteen"
_WORD_NUMBERS = {word: value for value, word in enumerate(_SMALL.split())} | {
    word: 10 * value for value, word in enumerate("twenty thirty forty fifty sixty seventy eighty ninety".split(), 2)
}
_TENS = "twenty|thirty|forty|fifty|sixty|seventy|eighty|ninety"
_SPELLED = re.compile(
    rf"\b(?:({_TENS})[- ](one|two|three|four|five|six|seven|eight|nine)|({'|'.join(_WORD_NUMBERS)}))\b", re.IGNORECASE
)
_NAME = re.compile(r"(?<![.!?:;]\s)(?<=\s)[\"“‘(]?([A-Z][\w’'&-]*[\w])")
_ACRONYM = re.compile(r"\b[A-Z][A-Z0-9]{1,}s?\b")
_NEGATION = re.compile(
    r"\b(?:not|no|never|none|nobody|nothing|neither|nor|without|cannot|unable|impossible|\w+n['’]t)\b", re.IGNORECASE
)


def _plain(number: str) -> str | None:
    text = number.replace("−", "-").strip("-")
    if re.fullmatch(r"\d{1,3}(,\d{3})+(\.\d+)?", text):
        text = text.replace(",", "")
    elif re.fullmatch(r"\d+,\d{1,2}", text):
        text = text.replace(",", ".")
    try:
        value = Decimal(text)
    except InvalidOperation:
        return None
    return format(value.normalize(), "f")


def numbers(text: str) -> frozenset[str]:
    """The numbers of a text in plain digits: "1,000" and "1000", "twenty-one" and "21", "2.0" and "2" are alike.

    A spelled-out "one" is left out: it is mostly a pronoun. The days of dates are in, their years too.
    """
    found = {_plain(match.group()) for match in _NUMBER.finditer(text)}
    found |= {_plain(match.group(1)) for match in re.finditer(r"(?<![\w.])(\d+)(?:st|nd|rd|th|%|k|h)\b", text)}
    for match in _SPELLED.finditer(text):
        tens, unit, alone = match.groups()
        value = _WORD_NUMBERS[tens.casefold()] + _WORD_NUMBERS[unit.casefold()] if tens else None
        if alone and alone.casefold() != "one":
            value = _WORD_NUMBERS[alone.casefold()]
        if value is not None:
            found.add(str(value))
    return frozenset(number for number in found if number is not None)


def dates(text: str) -> frozenset[tuple[str, int]]:
    """Month and day of each date: "January 15", "15th of January" and "2026-01-15" are alike."""
    found: set[tuple[str, int]] = set()
    for match in _MONTH_DAY.finditer(text):
        found.add((_month(match.group(1)), int(match.group(2))))
    for match in _DAY_MONTH.finditer(text):
        found.add((_month(match.group(2)), int(match.group(1))))
    for match in _ISO.finditer(text):
        if 1 <= int(match.group(1)) <= 12:
            found.add((MONTHS[int(match.group(1)) - 1], int(match.group(2))))
    return frozenset((month, day) for month, day in found if 1 <= day <= 31)


def months(text: str) -> frozenset[str]:
    """The months that a text names, with or without a day."""
    return frozenset({match.group().casefold() for match in _BARE_MONTH.finditer(text)} | {m for m, _ in dates(text)})


def _month(name: str) -> str:
    return next(month for month in MONTHS if month.startswith(name.casefold()[:3]))


def names(text: str) -> frozenset[str]:
    """Names in lower case: capitalised words inside a sentence, and acronyms anywhere; months are not names."""
    found = {match.group(1) for match in _NAME.finditer(text)} | {m.group() for m in _ACRONYM.finditer(text)}
    lowered = {re.sub(r"['’]s$", "", name).casefold() for name in found}
    return frozenset(name for name in lowered if name not in MONTHS and name not in STOP_WORDS and len(name) > 1)


def negations(text: str) -> int:
    """How often a text says "not", "no", "never" or the like; a leading "No," that answers a question is left out."""
    body = re.sub(r"^\W*(?:no|yes)\b\s*[,.:;–—-]+\s*", "", text, flags=re.IGNORECASE)
    body = re.sub(r"\bnot only\b|\b(?:no|not) later than\b|\bno more than\b", "", body, flags=re.IGNORECASE)
    return sum(1 for _ in _NEGATION.finditer(body))


def negated(text: str) -> bool:
    """Whether a text is negated on the whole: two negations make a statement."""
    return negations(text) % 2 == 1


def missing(stated: Iterable[str], given: Iterable[str]) -> tuple[str, ...]:
    """What is stated and not given, sorted."""
    return tuple(sorted(frozenset(stated) - frozenset(given)))
