"""The limiter keeps every limit exactly, in virtual time; nothing starves, nothing leaks, waiting costs nothing."""

from __future__ import annotations

import asyncio
import random
import threading
import time
from collections.abc import Coroutine
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runner.calls.limits import Limiter, Limiters
from runner.calls.requests import ModelEndpoint
from runner.calls.windows import duration
from tests.fakes.virtual_time import VirtualTimeLoop, run_virtually


class Load:
    """Calls through a limiter, with what happened when."""

    def __init__(self, loop: VirtualTimeLoop, limiter: Limiter, seconds: float = 0.2) -> None:
        self.loop, self.limiter, self.seconds = loop, limiter, seconds
        self.starts: list[tuple[float, int]] = []
        self.most = 0
        self._now = 0

    async def call(self, tokens: int = 0, seconds: float | None = None) -> None:
        async with self.limiter.slot(tokens):
            self.starts.append((round(self.loop.now - 1000, 6), tokens))
            self._now += 1
            self.most = max(self.most, self._now)
            try:
                await asyncio.sleep(self.seconds if seconds is None else seconds)
            finally:
                self._now -= 1

    async def calls(self, number: int, tokens: int = 0) -> None:
        await asyncio.gather(*(self.call(tokens) for _ in range(number)))

    @property
    def times(self) -> list[float]:
        return [at for at, _ in self.starts]


def test_concurrency_is_kept_and_used() -> None:
    async def main(loop: VirtualTimeLoop) -> None:
        load = Load(loop, Limiter(4, clock=loop.time))
        await load.calls(40)
        assert load.most == 4
        assert loop.now - 1000 == pytest.approx(40 / 4 * 0.2)
        assert (load.limiter.in_flight, load.limiter.waiting) == (0, 0)

    run_virtually(main)


def test_first_come_first_served() -> None:
    async def main(loop: VirtualTimeLoop) -> None:
        load = Load(loop, Limiter(1, clock=loop.time))
        await asyncio.gather(*(load.call(number) for number in range(9)))
        assert [tokens for _, tokens in load.starts] == list(range(9))

    run_virtually(main)


@settings(deadline=None, max_examples=30)
@given(st.integers(1, 20), st.lists(st.tuples(st.floats(0, 200), st.integers(0, 400)), max_size=60))
def test_never_more_in_any_minute_than_allowed(limit: int, arrivals: list[tuple[float, int]]) -> None:
    async def main(loop: VirtualTimeLoop) -> Load:
        limiter = Limiter(8, requests_per_minute=limit, tokens_per_minute=500, clock=loop.time)
        load = Load(loop, limiter)

        async def arrive(after: float, tokens: int) -> None:
            await asyncio.sleep(after)
            await load.call(tokens)

        await asyncio.gather(*(arrive(*arrival) for arrival in arrivals))
        return load

    load = run_virtually(main)
    assert len(load.starts) == len(arrivals)
    for at, _ in load.starts:
        inside = [tokens for other, tokens in load.starts if at <= other < at + 60 - 1e-4]
        assert len(inside) <= limit
        assert sum(inside) <= 500


def test_a_call_above_the_minutes_tokens_waits_for_an_empty_minute_and_goes() -> None:
    async def main(loop: VirtualTimeLoop) -> None:
        load = Load(loop, Limiter(8, tokens_per_minute=100, clock=loop.time))
        await asyncio.gather(load.call(60), load.call(5000), load.call(1))
        assert [round(at, 3) for at in load.times] == [0, 60, 120]

    run_virtually(main)


def test_tokens_that_were_not_used_are_given_back() -> None:
    async def main(loop: VirtualTimeLoop) -> None:
        limiter = Limiter(8, tokens_per_minute=100, clock=loop.time)
        async with limiter.slot(90) as slot:
            slot.used(10)
        load = Load(loop, limiter)
        await load.call(90)
        await load.call(1)
        assert [round(at, 3) for at in load.times] == [0, 60]

    run_virtually(main)


def test_retry_after_holds_back_all_calls_of_the_model() -> None:
    async def main(loop: VirtualTimeLoop) -> None:
        limiter = Limiter(8, clock=loop.time)
        load = Load(loop, limiter)
        async with limiter.slot():
            limiter.slowed(3.0)
        await load.calls(3)
        assert min(load.times) == pytest.approx(3.0)
        limiter.slowed(10_000.0)
        await load.call()
        assert load.times[-1] == pytest.approx(loop.now - 1000 - 0.2)
        assert load.times[-1] < 130

    run_virtually(main)


def test_a_shorter_retry_after_does_not_shorten_a_longer_one() -> None:
    async def main(loop: VirtualTimeLoop) -> None:
        limiter = Limiter(8, clock=loop.time)
        load = Load(loop, limiter)
        limiter.slowed(5.0)
        limiter.slowed(1.0)
        limiter.slowed(None)
        await load.call()
        assert load.times == [5.0]

    run_virtually(main)


def test_slows_down_on_429_once_a_jam_and_recovers() -> None:
    async def main(loop: VirtualTimeLoop) -> None:
        limiter = Limiter(16, clock=loop.time)
        slots = [limiter.slot() for _ in range(16)]
        for slot in slots:
            await slot.__aenter__()
        for _ in range(5):
            limiter.slowed(None)
        assert limiter.allowed == 8
        await asyncio.sleep(1)
        limiter.slowed(None)
        assert limiter.allowed == 4
        for slot in slots:
            await slot.__aexit__(None, None, None)
        load = Load(loop, limiter)
        await load.calls(12)
        assert load.most == 4
        for _ in range(40):
            limiter.recovered()
        assert limiter.allowed == 16
        load.most = 0
        await load.calls(40)
        assert load.most == 16

    run_virtually(main)


def test_never_below_one_call() -> None:
    async def main(loop: VirtualTimeLoop) -> None:
        limiter = Limiter(3, clock=loop.time)
        for _ in range(10):
            limiter.slowed(0.0)
            await asyncio.sleep(1)
        load = Load(loop, limiter)
        await load.calls(2)
        assert (limiter.allowed, load.most) == (1, 1)

    run_virtually(main)


def headers(requests: str | None = None, tokens: str | None = None) -> dict[str, str]:
    """``limit/remaining/reset`` each."""
    made = {}
    for what, told in (("requests", requests), ("tokens", tokens)):
        if told:
            limit, left, reset = told.split("/")
            made |= {f"x-ratelimit-remaining-{what}": left, f"x-ratelimit-reset-{what}": reset}
            made |= {f"x-ratelimit-limit-{what}": limit} if limit else {}
    return made


def test_learns_what_the_server_has_left() -> None:
    async def main(loop: VirtualTimeLoop) -> None:
        limiter = Limiter(8, clock=loop.time)
        load = Load(loop, limiter, seconds=0.0)
        # 60 a minute, nothing left, full again in a minute: one a second.
        limiter.learn(headers(requests="60/0/1m0s"))
        await load.calls(3)
        assert load.times == pytest.approx([1, 2, 3])
        limiter.learn(headers(requests="60/30/30s"))
        await load.calls(3)
        assert load.times[3:] == pytest.approx([3, 3, 3])

    run_virtually(main)


def test_learns_tokens_too() -> None:
    async def main(loop: VirtualTimeLoop) -> None:
        limiter = Limiter(8, clock=loop.time)
        load = Load(loop, limiter, seconds=0.0)
        limiter.learn(headers(tokens="6000/1000/50s"))
        await load.call(1000)
        await load.call(500)
        await load.call(100_000)
        assert load.times == pytest.approx([0, 5, 65])

    run_virtually(main)


def test_without_a_limit_it_waits_for_the_reset() -> None:
    async def main(loop: VirtualTimeLoop) -> None:
        limiter = Limiter(8, clock=loop.time)
        limiter.learn(headers(requests="/0/250ms"))
        load = Load(loop, limiter)
        await load.call()
        assert load.times == pytest.approx([0.25])

    run_virtually(main)


@pytest.mark.parametrize(
    "told",
    [
        headers(requests="x/y/z"),
        headers(requests="60/nan/1s"),
        headers(requests="inf/0/1s"),
        headers(requests="60/0/soon"),
        headers(requests="60//1s"),
        {"x-ratelimit-remaining-requests": "0"},
        {},
    ],
)
def test_nonsense_holds_nothing_up(told: dict[str, str]) -> None:
    async def main(loop: VirtualTimeLoop) -> None:
        limiter = Limiter(8, clock=loop.time)
        limiter.learn(told)
        load = Load(loop, limiter)
        await load.calls(3)
        assert load.times == [0, 0, 0]

    run_virtually(main)


def test_a_reset_far_away_is_believed_for_two_minutes_at_most() -> None:
    async def main(loop: VirtualTimeLoop) -> None:
        limiter = Limiter(8, clock=loop.time)
        limiter.learn(headers(requests="/0/30d"))
        load = Load(loop, limiter)
        await load.call()
        assert load.times == pytest.approx([120])

    run_virtually(main)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("1s", 1), ("6m0s", 360), ("20ms", 0.02), ("1h2m3.5s", 3723.5), ("1d", 86400), ("7", 7), ("0", 0), (" 8s ", 8)],
)
def test_durations(text: str, seconds: float) -> None:
    assert duration(text) == pytest.approx(seconds)


@pytest.mark.parametrize("text", ["", "soon", "-1", "1s2", "s", "1 s", "nan", "inf", "-1s"])
def test_what_is_no_duration(text: str) -> None:
    assert duration(text) is None


# -- cancellation


def test_cancelled_callers_leave_nothing_behind() -> None:
    async def main(loop: VirtualTimeLoop) -> None:
        limiter = Limiter(2, requests_per_minute=50, clock=loop.time)
        load = Load(loop, limiter)
        tasks = [asyncio.ensure_future(load.call()) for _ in range(10)]
        await asyncio.sleep(0.1)
        assert (limiter.in_flight, limiter.waiting) == (2, 8)
        for task in (tasks[0], tasks[2], tasks[5], tasks[9]):
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        assert (limiter.in_flight, limiter.waiting) == (0, 0)
        assert len(load.starts) == 7
        await load.calls(5)

    run_virtually(main)


@settings(deadline=None, max_examples=60)
@given(st.integers(0, 10_000))
def test_fuzz_of_cancellations_429s_and_lessons(seed: int) -> None:
    rng = random.Random(seed)

    async def main(loop: VirtualTimeLoop) -> None:
        limiter = Limiter(3, requests_per_minute=40, tokens_per_minute=4000, clock=loop.time)
        load = Load(loop, limiter)
        tasks = []
        for _ in range(40):
            tasks.append(asyncio.ensure_future(load.call(rng.randint(0, 300), rng.random())))
            action = rng.random()
            if action < 0.2:
                rng.choice(tasks).cancel()
            elif action < 0.3:
                limiter.slowed(rng.choice([None, 0.0, 2.0]))
            elif action < 0.5:
                limiter.recovered()
            elif action < 0.6:
                limiter.learn(headers(requests=f"40/{rng.randint(0, 40)}/{rng.randint(0, 60)}s"))
            await asyncio.sleep(rng.choice([0, 0, 0.1, 1.0]))
        await asyncio.gather(*tasks, return_exceptions=True)
        assert (limiter.in_flight, limiter.waiting) == (0, 0)
        assert load.most <= 3

    run_virtually(main)


def test_an_error_inside_gives_the_place_back() -> None:
    async def main(loop: VirtualTimeLoop) -> None:
        limiter = Limiter(1, clock=loop.time)
        with pytest.raises(ValueError, match="x"):
            async with limiter.slot():
                raise ValueError("x")
        assert limiter.in_flight == 0

    run_virtually(main)


# -- many loops, many models


def test_event_loops_in_several_threads_share_one_limit() -> None:
    limiter = Limiter(3)
    lock = threading.Lock()
    state = {"now": 0, "most": 0, "done": 0}

    async def call() -> None:
        async with limiter.slot():
            with lock:
                state["now"] += 1
                state["most"] = max(state["most"], state["now"])
            await asyncio.sleep(0.002)
            with lock:
                state["now"] -= 1
                state["done"] += 1

    async def many() -> None:
        await asyncio.gather(*(call() for _ in range(25)))

    def run(main: Coroutine[Any, Any, None]) -> None:
        asyncio.run(main)

    threads = [threading.Thread(target=run, args=(many(),)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    assert (state["done"], state["most"], limiter.in_flight, limiter.waiting) == (100, 3, 0, 0)


def endpoint(base_url: str = "http://a/v1", **more: Any) -> ModelEndpoint:
    return ModelEndpoint("openai_compatible", base_url, None, base_url, **more)


def test_one_limiter_for_each_server_and_model() -> None:
    limiters = Limiters(7)
    first = limiters.for_model(endpoint(), "m")
    assert first is limiters.for_model(endpoint(api="responses"), "m")
    assert first is not limiters.for_model(endpoint(), "n")
    assert first is not limiters.for_model(endpoint("http://b/v1"), "m")
    assert first.concurrency == 7


def test_the_strictest_of_two_configurations_holds() -> None:
    async def main(loop: VirtualTimeLoop) -> None:
        limiters = Limiters(7, clock=loop.time)
        limiters.for_model(endpoint(requests_per_minute=100), "m")
        limiters.for_model(endpoint(requests_per_minute=2), "m")
        limiter = limiters.for_model(endpoint(), "m")
        load = Load(loop, limiter, seconds=0.0)
        await load.calls(5)
        assert load.times == pytest.approx([0, 0, 60, 60, 120])

    run_virtually(main)


@pytest.mark.benchmark
def test_cost_of_a_free_slot() -> None:
    async def main() -> float:
        limiter = Limiter(32, requests_per_minute=10**9, tokens_per_minute=10**12)
        start = time.process_time()
        for _ in range(20_000):
            async with limiter.slot(100):
                pass
        return (time.process_time() - start) / 20_000

    print(f"\none uncontended slot: {asyncio.run(main()) * 1e6:.1f} µs of CPU")
