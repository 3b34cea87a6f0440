"""Search among the chunks whose vectors are stored, in memory: for plans that may not embed the others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from runner.knowledge.index import Hits, in_order

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class PartialIndex:
    """Exact cosine similarity; nothing is written."""

    def __init__(self, places: Sequence[int], vectors: NDArray[np.float32]) -> None:
        """``places``: of the chunks among all chunks, those that a filter leaves out left out already."""
        self._places = list(places)
        self._vectors = vectors
        self._rows = {place: row for row, place in enumerate(self._places)}

    def query(self, vectors: NDArray[np.float32], count: int, where: Mapping[str, Any]) -> list[Hits]:
        """The nearest ``count`` chunks of each vector."""
        import numpy as np

        if not self._places:
            return [() for _ in vectors]
        likeness = _unit(vectors) @ _unit(self._vectors).T
        best = np.argsort(-likeness, axis=1, kind="stable")[:, :count]
        return [
            in_order((self._places[at], float(scores[at])) for at in some)
            for some, scores in zip(best, likeness, strict=True)
        ]

    def vectors(self, places: Sequence[int]) -> NDArray[np.float32]:
        """The vectors of these chunks, in the order given."""
        import numpy as np

        return np.asarray([self._vectors[self._rows[place]] for place in places], dtype=np.float32)


def _unit(vectors: NDArray[np.float32]) -> NDArray[np.float32]:
    import numpy as np

    units: NDArray[np.float32] = vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12)
    return units
