"""Okapi BM25 in memory: score = sum over the question's words of idf · tf·(k1+1) / (tf + k1·(1 - b + b·length/mean)).

idf = ln(1 + (N - n + 0.5) / (n + 0.5)), as Lucene has it: never negative, also for words in most chunks.
k1 = 1.5 and b = 0.75. Words are runs of letters and digits, case folded; no stemming, no list of stop words.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

K1 = 1.5
B = 0.75
_WORD = re.compile(r"\w+")


def words(text: str) -> list[str]:
    """The words of a text, case folded, in order."""
    return _WORD.findall(text.casefold())


class BM25:
    """The word statistics of a sequence of texts."""

    def __init__(self, texts: Sequence[str]) -> None:
        import numpy as np

        lengths = np.zeros(len(texts))
        postings: dict[str, tuple[list[int], list[int]]] = {}
        for place, text in enumerate(texts):
            counts = Counter(words(text))
            lengths[place] = counts.total()
            for word, count in counts.items():
                places, frequencies = postings.setdefault(word, ([], []))
                places.append(place)
                frequencies.append(count)
        mean = lengths.mean() if len(texts) and lengths.any() else 1.0
        self._size = len(texts)
        self._penalty = K1 * (1 - B + B * lengths / mean)
        self._postings = {
            word: (np.array(places, dtype=np.int64), np.array(frequencies, dtype=np.float64))
            for word, (places, frequencies) in postings.items()
        }

    def scores(self, question: str) -> NDArray[np.float64]:
        """The score of every text; 0 for one that shares no word with the question. A repeated word counts again."""
        import numpy as np

        totals = np.zeros(self._size)
        for word, repeats in Counter(words(question)).items():
            if word in self._postings:
                places, frequencies = self._postings[word]
                idf = math.log(1 + (self._size - len(places) + 0.5) / (len(places) + 0.5))
                gain = frequencies * (K1 + 1) / (frequencies + self._penalty[places])
                totals[places] += repeats * idf * gain
        return totals
