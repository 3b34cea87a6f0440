"""What the door costs beside a bare HTTP client on the same work: python -m benchmarks.door [questions] [kills]

400 questions x (1 answer + 2 judges), 200 ms latency, 32 at once, on the fake model server in a process of its own.
All calls go to one model: the door's limit of calls at once is for each model, and the comparison must be fair.
Reports ratios: wall over ideal, CPU over that of the bare client. Then the same again from the ledger, and kill -9 at
random moments. Prints one JSON object.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from runner.calls import ChatRequest, Door, ModelEndpoint, calling, open_door
from runner.calls.bodies import body_as_meant
from runner.config.schema import Budget, Calls, Endpoint

LATENCY_S = 0.2
CONCURRENCY = 32
MODEL = "gpt-4o-mini"
UNDER_WAY = 64
"""Questions under way together: enough that a place is never empty."""
WARM_UP = 32
SCHEMA = {
    "type": "object",
    "properties": {"reasoning": {"type": "string"}, "score": {"type": "integer", "enum": [1, 2, 3, 4, 5]}},
    "required": ["reasoning", "score"],
    "additionalProperties": False,
}
RULES = "Judge the answer by the rule. " * 15
CONTEXT = "Fall applications are due by January 15. " * 20


@contextmanager
def model_server(latency_s: float) -> Iterator[str]:
    """The fake in a process of its own, so that its CPU is not counted as ours."""
    command = [sys.executable, "-m", "tests.fakes.serve", "--latency-s", str(latency_s)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    try:
        yield process.stdout.readline().strip()
    finally:
        process.terminate()
        process.wait()


def stats(base_url: str) -> dict[str, Any]:
    with urllib.request.urlopen(base_url.removesuffix("/v1") + "/_stats") as answer:  # noqa: S310
        found: dict[str, Any] = json.load(answer)
        return found


def requests_of(endpoint: ModelEndpoint, number: int) -> tuple[ChatRequest, ChatRequest, ChatRequest]:
    """One answer and two verdicts about it."""

    def ask(model: str, text: str, schema: dict[str, Any] | None) -> ChatRequest:
        messages = ({"role": "system", "content": RULES}, {"role": "user", "content": text})
        return ChatRequest(endpoint, model, messages, 300, 0.0, schema_name="verdict" if schema else "", schema=schema)

    asked = f"{CONTEXT}\nQuestion {number}: when are applications due?"
    return (
        ask(MODEL, asked, None),
        ask(MODEL, f"grounding of {asked}", SCHEMA),
        ask(MODEL, f"topicality of {asked}", SCHEMA),
    )


async def work(
    ask: Callable[[ChatRequest], Awaitable[Any]], endpoint: ModelEndpoint, numbers: range, under_way: int
) -> tuple[float, float]:
    """(wall, CPU) seconds of all questions."""
    places = asyncio.Semaphore(under_way)

    async def one(number: int) -> None:
        answer, *verdicts = requests_of(endpoint, number)
        async with places:
            with calling(stage="judge", run="benchmark", question=str(number), deadline=300):
                await ask(answer)
                await asyncio.gather(*(ask(verdict) for verdict in verdicts))

    wall, cpu = time.perf_counter(), time.process_time()
    await asyncio.gather(*(one(number) for number in numbers))
    return time.perf_counter() - wall, time.process_time() - cpu


async def bare(endpoint: ModelEndpoint, questions: int) -> tuple[float, float]:
    """The same with nothing but an HTTP client."""
    import httpx2

    places = asyncio.Semaphore(CONCURRENCY)
    limits = httpx2.Limits(max_connections=CONCURRENCY)
    async with httpx2.AsyncClient(timeout=60, limits=limits, headers={"Authorization": "Bearer x"}) as client:

        async def ask(request: ChatRequest) -> Any:
            async with places:
                answer = await client.post(f"{endpoint.base_url}/chat/completions", json=body_as_meant(request))
            return json.loads(answer.content)["choices"][0]["message"]["content"]

        await work(ask, endpoint, range(-WARM_UP, 0), UNDER_WAY)
        return await work(ask, endpoint, range(questions), UNDER_WAY)


async def through_the_door(base_url: str, home: Path, questions: int, cap: float | None) -> tuple[float, float]:
    async with open_door(Calls(concurrency=CONCURRENCY), Budget(cap), [], home=home, sweep="benchmark") as door:
        endpoint = _endpoint(door, base_url)
        await work(door.chat, endpoint, range(-WARM_UP, 0), UNDER_WAY)
        return await work(door.chat, endpoint, range(questions), UNDER_WAY)


def _endpoint(door: Door, base_url: str) -> ModelEndpoint:
    return door.endpoint(Endpoint(base_url=base_url), MODEL)


def kills(base_url: str, home: Path, count: int, times: int) -> dict[str, int]:
    """Calls paid for over ``times`` processes that were killed and one that was not."""
    chance = random.Random(0)
    command = [sys.executable, "-m", "tests.calls.door_process", str(home), base_url, str(count), str(CONCURRENCY)]
    before = stats(base_url)["requests"]
    for _ in range(times):
        process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert process.stdout is not None
        process.stdout.readline()
        seen = stats(base_url)["requests"]
        wanted = seen + chance.randrange(1, max(2, count // times))
        while process.poll() is None and stats(base_url)["requests"] < wanted:
            time.sleep(0.01)
        process.send_signal(signal.SIGKILL)
        process.communicate()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return {"unique": count, "paid": stats(base_url)["requests"] - before, "at_most": count + times * CONCURRENCY}


def main() -> None:
    questions = int(sys.argv[1]) if len(sys.argv) > 1 else 400
    times = int(sys.argv[2]) if len(sys.argv) > 2 else 10
    os.environ["OPENAI_API_KEY"] = "sk-benchmark-000000"
    calls = 3 * questions
    ideal = calls * LATENCY_S / CONCURRENCY
    with model_server(LATENCY_S) as base_url, tempfile.TemporaryDirectory() as folder:
        home = Path(folder) / "home"
        endpoint = ModelEndpoint("openai", base_url, None, base_url)
        client = asyncio.run(bare(endpoint, questions))
        door = asyncio.run(through_the_door(base_url, home, questions, None))
        made = stats(base_url)["requests"]
        replay = asyncio.run(through_the_door(base_url, home, questions, None))
        assert stats(base_url)["requests"] == made
        capped = asyncio.run(through_the_door(base_url, Path(folder) / "capped", questions, 1000.0))
        killed = kills(base_url, Path(folder) / "killed", calls, times) if times else {}
    print(
        json.dumps(
            {
                "calls": calls,
                "ideal_s": round(ideal, 2),
                "bare": _figures(client, ideal, calls),
                "door": _figures(door, ideal, calls),
                "door_with_cap": _figures(capped, ideal, calls),
                "cpu_door_over_bare": round(door[1] / client[1], 2),
                "replay_cpu_ms_per_call": round(replay[1] / calls * 1000, 3),
                "kills": killed,
            }
        )
    )


def _figures(measured: tuple[float, float], ideal: float, calls: int) -> dict[str, float]:
    wall, cpu = measured
    return {"wall_over_ideal": round(wall / ideal, 3), "cpu_ms_per_call": round(cpu / calls * 1000, 2)}


if __name__ == "__main__":
    main()
