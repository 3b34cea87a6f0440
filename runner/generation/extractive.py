"""Answers without a model: the sentence of the retrieved passages that shares most with the question."""

from __future__ import annotations

from runner.calls.requests import ChatRequest
from runner.generation.abstention import REFUSAL
from runner.records import Answer, AnswerStatus, Question, Retrieved
from runner.text import content_words, coverage, inverse_frequencies, numbers, sentences

LEAST_OVERLAP = 0.34
"""Below this share of the question's telling words a sentence is no answer: about one word in three."""
HEADING_SHARE = 0.5
"""How much a word counts that stands only in the passage around the sentence, such as in its heading."""


class ExtractiveGenerator:
    """Picks the best sentence; the same passages and question always give the same answer, in about a millisecond."""

    def requests(self, question: Question, retrieved: tuple[Retrieved, ...]) -> tuple[ChatRequest, ...]:
        """Nothing: no model is asked."""
        return ()

    async def answer(self, question: Question, retrieved: tuple[Retrieved, ...]) -> Answer:
        """The best sentence word for word, or the fixed refusal where none shares enough with the question."""
        passages = [item.chunk.text for item in retrieved]
        best, overlap = self._best(question.text, passages)
        found = overlap >= LEAST_OVERLAP
        return Answer(
            status=AnswerStatus.ANSWERED,
            text=best if found else REFUSAL,
            abstained=not found,
            contexts=tuple(passages),
        )

    @staticmethod
    def _best(question: str, passages: list[str]) -> tuple[str, float]:
        wanted = content_words(question)
        candidates = [(sentence, passage) for passage in passages for sentence in sentences(passage)]
        weights = inverse_frequencies(sentence for sentence, _ in candidates)
        wants_number = question.casefold().startswith(("how many", "how much", "when", "how long", "what date"))
        best, best_overlap, best_rank = "", 0.0, 0.0
        for sentence, passage in candidates:
            if len(content_words(sentence)) < 3:
                continue
            inside = coverage(wanted, content_words(sentence), weights)
            around = coverage(wanted, content_words(passage), weights)
            overlap = (inside + HEADING_SHARE * max(around - inside, 0.0)) if inside else 0.0
            # Between sentences that share as much, the one that holds a number answers a question for a number.
            rank = overlap * (1.25 if wants_number and numbers(sentence) else 1.0)
            if rank > best_rank:
                best, best_overlap, best_rank = sentence, overlap, rank
        return best, best_overlap
