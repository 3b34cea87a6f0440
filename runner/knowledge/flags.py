"""What looks weak about a drafted question, found without a model: hints for the one who reviews, never a verdict."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import SequenceMatcher

from runner.knowledge.bm25 import BM25, words
from runner.records import Document, Question
from runner.text import content_words, coverage

COPIED_WORDS = 6
"""A run of so many words of the document in a question counts as copied."""
ANSWERED_SHARE = 0.85
"""A document that holds so much of what an unanswerable question is about may answer it."""


class Flagger:
    """Compares drafted questions with all documents."""

    def __init__(self, documents: Sequence[Document]) -> None:
        self._documents = {document.id: document for document in documents}
        self._ids = [document.id for document in documents]
        self._search = BM25([f"{document.title}\n{document.text}" for document in documents])
        self._content = {document.id: frozenset(content_words(document.text)) for document in documents}

    def flags(self, question: Question, evidence: str) -> tuple[str, ...]:
        """Sentences for the reviewer; none where nothing looks weak."""
        found = [self._copied(question)]
        if question.gold:
            found += [self._evidence(question, evidence), self._unspecific(question)]
        else:
            found.append(self._answered(question))
        return tuple(flag for flag in found if flag)

    def _copied(self, question: Question) -> str:
        asked = words(question.text)
        for name in question.gold or self._ids:
            given = words(self._documents[name].text)
            match = SequenceMatcher(None, asked, given, autojunk=False).find_longest_match()
            if match.size >= COPIED_WORDS:
                return f"copies the wording of {name}: “{' '.join(asked[match.a : match.a + match.size])}”"
        return ""

    def _evidence(self, question: Question, evidence: str) -> str:
        quoted, given = words(evidence), " ".join(words(self._documents[question.gold[0]].text))
        if quoted and f" {' '.join(quoted)} " in f" {given} ":
            return ""
        return "the quoted evidence does not stand in the document"

    def _unspecific(self, question: Question) -> str:
        """Whether other documents are as near: then any of them may answer it."""
        scores = self._search.scores(question.text)
        own = self._ids.index(question.gold[0])
        best = int(scores.argmax())
        if scores[best] > scores[own]:
            return f"a search for its words finds {self._ids[best]} first: that may answer it too"
        if not set(content_words(question.text)) & self._content[question.gold[0]]:
            return "shares no telling word with its document: any document may answer it"
        return ""

    def _answered(self, question: Question) -> str:
        wanted = content_words(question.text)
        for name in self._ids:
            if wanted and coverage(wanted, self._content[name]) >= ANSWERED_SHARE:
                return f"{name} speaks of all of this and may answer it"
        return ""
