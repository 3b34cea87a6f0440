"""Time and memory of comparing 100 configurations × 10,000 questions on one core; fails above 30 s or 1.5 GB."""

# ruff: noqa: E402 (the threads must be limited before numpy is imported)

from __future__ import annotations

import argparse
import os
import resource
import sys
import time
from collections.abc import Iterator

for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[_name] = "1"
if hasattr(os, "sched_setaffinity"):
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})

import numpy

from runner.records import Answer, AnswerStatus, Question, Record, RunResult, RunStatus, Score, VerdictStatus
from runner.statistics import compare_sweep

MOST_SECONDS, MOST_BYTES = 30.0, 1.5e9


def runs(configurations: int, questions: int, per_document: int, missing: float) -> Iterator[RunResult]:
    """Runs as they would stream from disk: scores 1 to 5, clustered, some failed."""
    generator = numpy.random.default_rng(1)
    documents = generator.normal(0, 0.5, questions // per_document + 1)
    asked = [Question(f"q{k}", f"question {k}?", gold=(f"d{k // per_document}",)) for k in range(questions)]
    answer = Answer(AnswerStatus.ANSWERED, "an answer")
    hard = generator.normal(0, 0.7, questions) + documents[numpy.arange(questions) // per_document]
    for configuration in range(configurations):
        level = 3.5 + 0.01 * configuration
        values = (level + hard + generator.normal(0, 0.7, questions)).round().clip(1, 5)
        failed = generator.random(questions) < missing
        records = tuple(
            Record(question, (), answer, {"grounding": _score(float(value), bool(bad))})
            for question, value, bad in zip(asked, values, failed, strict=True)
        )
        yield RunResult(f"key{configuration}", f"run {configuration}", RunStatus.COMPLETE, "", {}, records)


def _score(value: float, failed: bool) -> Score:
    if failed:
        return Score("grounding", "g@1", "h", VerdictStatus.FAILED, "timeout", lowest=1.0, highest=5.0)
    return Score("grounding", "g@1", "h", VerdictStatus.SCORED, value=value, passed=value >= 4, lowest=1.0, highest=5.0)


class _Timed:
    """Iterates, and keeps what making the runs took, so that it is not counted as comparing."""

    def __init__(self, made: Iterator[RunResult]) -> None:
        self._made, self.wall, self.cpu = made, 0.0, 0.0

    def __iter__(self) -> Iterator[RunResult]:
        while True:
            wall, cpu = time.perf_counter(), time.process_time()
            run = next(self._made, None)
            self.wall, self.cpu = self.wall + time.perf_counter() - wall, self.cpu + time.process_time() - cpu
            if run is None:
                return
            yield run


def main() -> int:
    """Compare, print seconds and memory, and say whether the limits hold."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--configurations", type=int, default=100)
    parser.add_argument("--questions", type=int, default=10_000)
    parser.add_argument("--per-document", type=int, default=2)
    parser.add_argument("--missing", type=float, default=0.01)
    parser.add_argument("--measure", default="mean")
    asked = parser.parse_args()
    began, processor = time.perf_counter(), time.process_time()
    made = _Timed(runs(asked.configurations, asked.questions, asked.per_document, asked.missing))
    sweep = compare_sweep(made, "grounding", measure=asked.measure)
    seconds, cpu = time.perf_counter() - began - made.wall, time.process_time() - processor - made.cpu
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    print("\n".join(sweep.sentences))
    print(f"{len(sweep.pairs)} pairs: {seconds:.1f} s ({cpu:.1f} s of CPU), peak {peak / 1e9:.2f} GB")
    return 0 if cpu <= MOST_SECONDS and peak <= MOST_BYTES else 1


if __name__ == "__main__":
    sys.exit(main())
