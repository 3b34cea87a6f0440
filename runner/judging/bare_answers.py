"""The shortest answers, which hold no word of substance to look for: equal texts, yes and no, letters, bare numbers.

Each function knows only the clear cases and says ``None`` for the others, which the judges decide by their words.
"""

# ruff: noqa: SIM905 (a list of words is read as a sentence, not as forty literals)
from __future__ import annotations

import re

from runner.text import content_words, dates, months, negated, numbers, words

_YES = frozenset({"yes", "yeah", "yep", "yup", "correct", "true"})
_NO = frozenset({"no", "nope", "incorrect", "false"})
_VERBS = frozenset(
    "is are was were do does did can could may must should will would has have am isn't aren't wasn't weren't don't "
    "doesn't didn't can't cannot couldn't mustn't shouldn't won't wouldn't hasn't haven't".split()
)
_ASKS_YES_NO = _VERBS | {"need"}
_PUNCTUATION = re.compile(r"(?:(?<=\s)|^)[\"'“”‘’«»(\[*_`]+|[.,;:!?…\"'“”‘’«»)\]*_`]+(?=\s|$)")
SURE = 1.0
LIKELY = 0.9
WITHOUT_CONDITIONS = 0.5
"""A bare yes or no where the reference says so in a sentence: the same answer, without what else is said there."""
Found = tuple[float, str]
"""(share between 0 and 1, why)."""


def is_equal(one: str, other: str) -> bool:
    """Whether two texts are the same but for case, spaces, and punctuation and marks around words."""
    return _plain(one) == _plain(other)


def is_yes_or_no(*texts: str) -> bool:
    """Whether each text says yes or no and nothing else."""
    return all(_is_bare(text) and _side(text, whole=True) is not None for text in texts)


def compare_bare(question: str, expected: str, answer: str) -> Found | None:
    """What the answer is worth beside what was expected, where one of them is bare; ``None`` where words decide."""
    if is_equal(expected, answer):
        return SURE, "The answer is the reference, word for word."
    return _yes_or_no(question, expected, answer) or _bare_number(expected, answer) or _bare_words(expected, answer)


def _plain(text: str) -> str:
    before, text = "", " ".join(text.casefold().split())
    while before != text:
        before, text = text, _PUNCTUATION.sub("", text).strip()
    return " ".join(text.split())


def _is_bare(text: str) -> bool:
    """Whether there is no word of substance, number or date: only "yes", "you can", "both", "B"."""
    said = [word for word in content_words(text) if word not in _said_stems()]
    return not said and not numbers(text) and not dates(text) and not months(text) and "one" not in words(text)


def _said_stems() -> frozenset[str]:
    return frozenset(stem for word in (*_YES, *_NO, *_VERBS) for stem in content_words(word))


def _side(text: str, *, whole: bool) -> bool | None:
    """Yes or no, as the first word says; with ``whole`` also "You can" and "It isn't"."""
    said = words(text)
    if said and said[0] in _YES | _NO:
        return said[0] in _YES
    if whole and not _VERBS.isdisjoint(said):
        return not negated(text)
    return None


def _yes_or_no(question: str, expected: str, answer: str) -> Found | None:
    bare_expected, bare_answer = _is_bare(expected), _is_bare(answer)
    if not bare_expected and not bare_answer:
        return None
    wanted, given = _side(expected, whole=bare_expected), _side(answer, whole=bare_answer)
    stated = False
    if wanted is None and given is not None and bare_answer and words(question)[:1] and not bare_expected:
        # A whole sentence as reference for a yes-or-no question: it says yes unless it is negated.
        asked = set(content_words(question))
        about = len(asked & set(content_words(expected))) >= 0.5 * len(asked) if asked else False
        if words(question)[0] in _ASKS_YES_NO and about:
            wanted, stated = not negated(expected), True
    if wanted is None or given is None:
        return None
    names = {True: "yes", False: "no"}
    if wanted is not given:
        return 0.0, f"The reference says {names[wanted]}, the answer {names[given]}."
    if bare_expected:
        return SURE, f"Both say {names[wanted]}."
    return (WITHOUT_CONDITIONS, f"Both say {names[wanted]}, and the answer nothing else.") if stated else None


def _numbers(text: str) -> frozenset[str]:
    return numbers(text) | ({"1"} if "one" in words(text) else frozenset())


def _bare_number(expected: str, answer: str) -> Found | None:
    """Nothing but a number on one side: "5" and "five", "$5" and "5 dollars"."""
    wanted, given = _numbers(expected), _numbers(answer)
    if not wanted or dates(expected) or dates(answer) or not (_only_numbers(expected) or _only_numbers(answer)):
        return None
    if max(len(words(expected)), len(words(answer))) > 3:
        return None
    if wanted != given or _minus(expected) != _minus(answer):
        return 0.0, f"The reference says {expected.strip()}, the answer {answer.strip()}."
    return LIKELY, "Both say the same number."


def _only_numbers(text: str) -> bool:
    return all(_numbers(word) for word in words(text))


def _minus(text: str) -> bool:
    return re.match(r"\W*[-−]\s*\d", text) is not None


def _bare_words(expected: str, answer: str) -> Found | None:
    """A reference that is one letter or only words without substance ("both", "before") must be said."""
    wanted = words(expected)
    if not _is_bare(expected) or not wanted or _side(expected, whole=True) is not None:
        return _bare_symbols(expected, answer)
    there = False
    if len(wanted) == 1 and len(wanted[0]) == 1:
        letter = re.escape(expected.strip(" .,;:!?()[]\"'*_`"))
        there = re.search(rf"(?<!\w){letter}(?=[\s.,;:!?)\"'\]*_`]*$|[).:,])", answer) is not None
    else:
        there = f" {' '.join(wanted)} " in f" {' '.join(words(answer))} "
    return (
        (LIKELY, "What the reference says is in the answer.") if there else (0.0, f'Not in the answer: "{expected}".')
    )


def _bare_symbols(expected: str, answer: str) -> Found | None:
    """One word each, the same letters with other signs: "C" is not "C++"."""
    one, other = words(expected), words(answer)
    if len(one) == 1 and one == other and _plain(expected) != _plain(answer):
        return 0.0, f"The reference says {_plain(expected)}, the answer {_plain(answer)}."
    return None
