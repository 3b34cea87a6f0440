"""The retrieval metrics of runs by k, and what must be said beside them: their denominators, and k itself."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence

from runner.records import RunSummary

NAMES = {
    "hit_rate": "hit rate",
    "precision": "precision",
    "recall": "recall",
    "mrr": "MRR",
    "map": "MAP",
    "ndcg": "nDCG",
}
_METRIC = re.compile(r"^(chunk_)?(\w+)_at_(\d+)$")


def by_k(summary: RunSummary, over_chunks: bool) -> Mapping[int, Mapping[str, float]]:
    """k → metric (as in ``NAMES``) → mean, over documents or over chunks."""
    found: dict[int, dict[str, float]] = defaultdict(dict)
    for name, value in summary.retrieval.items():
        match = _METRIC.match(name)
        if match and bool(match[1]) == over_chunks:
            found[int(match[3])][match[2]] = value
    return dict(sorted(found.items()))


def retrieval_notes(summaries: Sequence[RunSummary]) -> list[str]:
    """How many questions the metrics rest on where it is not all of them, and why different k do not compare."""
    measured = [summary for summary in summaries if summary.retrieval]
    notes = []
    left_out = [one for one in measured if one.retrieval_questions < one.asked]
    if left_out:
        counts = sorted({f"{one.asked - one.retrieval_questions} of {one.asked}" for one in left_out})
        notes.append(f"Retrieval leaves out the questions without gold documents: {', '.join(counts)}")
    lost = [one for one in measured if one.evidence_in_no_chunk]
    if lost:
        counts = sorted({f"{one.evidence_in_no_chunk} of {one.retrieval_questions}" for one in lost})
        what = "questions whose evidence stands in no chunk"
        notes.append(f"Retrieval over chunks leaves out the {what}: {', '.join(counts)}")
    lengths = {k for one in measured for k in by_k(one, False)}
    if len(lengths) > 1:
        # Every run knows the shortest list; at any other k one of them has nothing to be compared.
        notes.append(
            "Retrieval at different k: hit rate, recall, MRR and MAP can only rise with k, so that more of them is no "
            f"sign of a better retriever; compare at equal k: --metric retrieval/recall_at_{min(lengths)}"
        )
    return notes
