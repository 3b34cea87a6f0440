"""How often the 95 % interval of a comparison holds the truth, on clustered ordinal data with a known difference.

``python benchmarks/coverage.py``: for 10, 20 and 40 clusters, through the public ``compare_runs``. Beside it the naive
interval that takes questions for independent, which is what most tools report. Fails outside 93 to 96.5 %.
"""

from __future__ import annotations

import argparse
import sys

import numpy

from runner.records import Answer, AnswerStatus, Question, Record, RunResult, RunStatus, Score, VerdictStatus
from runner.statistics import compare_runs

LEAST, MOST = 0.93, 0.965
SIZES = numpy.arange(2, 9)
"""Questions a document, drawn evenly."""


def difference_scores(generator: numpy.random.Generator, sizes: numpy.ndarray) -> tuple[numpy.ndarray, numpy.ndarray]:
    """Scores 1 to 5 of two systems: hard documents are hard for both, and each system has documents it likes."""
    documents = numpy.repeat(numpy.arange(len(sizes)), sizes)
    shared = generator.normal(0, 0.8, len(sizes))[documents] + generator.normal(0, 0.8, len(documents))

    def scores(level: float) -> numpy.ndarray:
        liked = generator.normal(0, 0.5, len(sizes))[documents]
        raw = level + shared + liked + generator.normal(0, 0.6, len(documents))
        rounded: numpy.ndarray = raw.round().clip(1, 5)
        return rounded

    return scores(4.2), scores(3.9)


def run(name: str, values: numpy.ndarray, documents: numpy.ndarray) -> RunResult:
    """A run with one judge over these scores."""
    answer = Answer(AnswerStatus.ANSWERED, "an answer")
    records = tuple(
        Record(
            Question(f"q{k}", "?", gold=(f"d{document}",)),
            (),
            answer,
            {"g": Score("g", "g@1", "h", VerdictStatus.SCORED, value=float(value), passed=value >= 4)},
        )
        for k, (value, document) in enumerate(zip(values, documents, strict=True))
    )
    return RunResult(name, name, RunStatus.COMPLETE, "", {}, records)


def main() -> int:
    """Print a line a number of clusters; exit 1 where coverage leaves the limits."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--simulations", type=int, default=4000)
    parser.add_argument("--seed", type=int, default=20261130)
    asked = parser.parse_args()
    generator = numpy.random.default_rng(asked.seed)
    a, b = difference_scores(generator, generator.choice(SIZES, 400_000))
    truth = float(a.mean() - b.mean())
    print(f"true difference {truth:.4f}; {asked.simulations} data sets each")
    kept = True
    for clusters in (10, 20, 40):
        clustered = naive = 0
        for _ in range(asked.simulations):
            sizes = generator.choice(SIZES, clusters)
            documents = numpy.repeat(numpy.arange(clusters), sizes)
            a, b = difference_scores(generator, sizes)
            left, right = run("a", a, documents), run("b", b, documents)
            interval = compare_runs(left, right, "g").interval
            clustered += interval is not None and truth in interval
            interval = compare_runs(left, right, "g", cluster_by="question").interval
            naive += interval is not None and truth in interval
        share = clustered / asked.simulations
        kept &= LEAST <= share <= MOST
        print(f"{clusters:3d} clusters: clustered {share:.2%}, naive {naive / asked.simulations:.2%}")
    return 0 if kept else 1


if __name__ == "__main__":
    sys.exit(main())
