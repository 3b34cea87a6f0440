"""What a whole run costs besides the model: ``python -m benchmarks.whole_run [questions] [tracking]``

400 questions x (1 answer + 2 judges), 200 ms latency, 32 calls in flight (all of them go to one model, because the
limit is for each), through the command line's own code: retrieval, prompts, verdicts, ledger and journal on disk.
Before it a bare HTTP client on as many calls; after it the same run again (from the journal), and again without the
journal (from the ledger). Prints one JSON object each: the span from the first to the last call over the ideal, the
CPU in that span for each call, and the CPU of everything around it.
"""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks.door import CONCURRENCY, LATENCY_S, bare, model_server, stats
from runner.calls import ChatRequest, ModelEndpoint, Reply
from runner.calls.door import Door
from runner.config import compose_jobs
from runner.sweeps.launch import run_jobs

TOPICS = ("fall applications", "financial aid", "course registration", "graduation", "housing", "grade appeals")


class Span:
    """CPU and wall between the first and the last call that the door was asked for."""

    def __init__(self) -> None:
        self.calls = 0
        self._began: tuple[float, float] | None = None
        self._ended = (0.0, 0.0)

    def watch(self) -> None:
        """Notes the moments of every call from now on."""
        chat = Door.chat

        async def watched(door: Door, request: ChatRequest, **more: Any) -> Reply:
            if door.offline:  # the plan looks answers up before the run begins
                return await chat(door, request, **more)
            self._began = self._began or (time.perf_counter(), time.process_time())
            self.calls += 1
            reply = await chat(door, request, **more)
            self._ended = (time.perf_counter(), time.process_time())
            return reply

        Door.chat = watched  # type: ignore[method-assign, assignment]

    def reset(self) -> None:
        self.calls, self._began, self._ended = 0, None, (0.0, 0.0)

    @property
    def wall_s(self) -> float:
        return self._ended[0] - self._began[0] if self._began else 0.0

    @property
    def cpu_s(self) -> float:
        return self._ended[1] - self._began[1] if self._began else 0.0


def write_questions(path: Path, count: int) -> None:
    """Different questions about the shipped example."""
    lines = [
        json.dumps(
            {
                "id": f"q{number}",
                "question": f"Student {number} asks about {TOPICS[number % len(TOPICS)]}: what holds in case {number}?",
                "reference": f"Case {number} is as the policy says.",
            }
        )
        for number in range(count)
    ]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def main() -> int:
    """Prints one JSON object a run."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 400
    tracking = sys.argv[2] if len(sys.argv) > 2 else "none"
    with model_server(LATENCY_S) as base_url, tempfile.TemporaryDirectory() as folder:
        home = Path(folder) / "home"
        os.environ["RUNNER_HOME"] = str(home)
        os.chdir(folder)
        write_questions(Path("questions.jsonl"), count)
        span = Span()
        ideal = 3 * count * LATENCY_S / CONCURRENCY
        wall, cpu = asyncio.run(bare(ModelEndpoint("openai", base_url, None, base_url), count))
        figures: dict[str, Any] = {
            "run": "bare client",
            "span_over_ideal": round(wall / ideal, 3),
            "cpu_ms_per_call_in_span": round(cpu * 1000 / (3 * count), 3),
        }
        print(json.dumps(figures), flush=True)
        span.watch()
        for what in ("fresh", "from the journal", "from the ledger"):
            if what == "from the ledger":
                shutil.rmtree(home / "jobs")
            span.reset()
            asked = stats(base_url)["requests"]
            began, processor = time.perf_counter(), time.process_time()
            jobs = compose_jobs(
                [
                    "stack=openai_compatible", f"endpoint.base_url={base_url}", "generator.model=answerer",
                    "judge_defaults.model=answerer", "questions=file", "questions.path=questions.jsonl",
                    "retriever=bm25", "embedder=none", f"tracking={tracking}", f"calls.concurrency={CONCURRENCY}",
                ],
                multirun=False,
            )  # fmt: skip
            outcome = run_jobs(jobs, output_dir=Path("outputs") / what.replace(" ", "_"), quiet=True)
            wall, cpu = time.perf_counter() - began, time.process_time() - processor
            made = stats(base_url)["requests"] - asked
            calls = 3 * count
            figures = {
                "run": what,
                "status": outcome.result.status.value,
                "requests": made,
                "in_flight_max": stats(base_url).get("in_flight_max"),
                "span_over_ideal": round(span.wall_s / ideal, 3) if made else None,
                "cpu_ms_per_call_in_span": round(span.cpu_s * 1000 / calls, 3),
                "cpu_s_around": round(cpu - span.cpu_s, 2),
                "wall_s": round(wall, 2),
            }
            print(json.dumps(figures), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
