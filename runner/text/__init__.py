"""Text without a model: sentences, words, facts and refusals of English, and what a terminal shows. Imports no room."""

from __future__ import annotations

from runner.text.facts import MONTHS, dates, missing, months, names, negated, negations, numbers
from runner.text.refusals import SentenceKind, kind_of, only_refuses, stating_sentences
from runner.text.sentences import sentences
from runner.text.surrogates import without_surrogates, without_surrogates_within
from runner.text.words import content_words, coverage, inverse_frequencies, stem, words

__all__ = [
    "MONTHS",
    "SentenceKind",
    "content_words",
    "coverage",
    "dates",
    "inverse_frequencies",
    "kind_of",
    "missing",
    "months",
    "names",
    "negated",
    "negations",
    "numbers",
    "only_refuses",
    "sentences",
    "stating_sentences",
    "stem",
    "without_surrogates",
    "without_surrogates_within",
    "words",
]
