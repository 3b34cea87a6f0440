"""How many calls may be on their way: one limiter for each (base URL, model) of the whole process.

Concurrency, requests and tokens in any 60 seconds, what ``x-ratelimit-*`` says is left, and ``Retry-After``, which
holds back all calls of the model and not only the one that was refused. A 429 lowers the concurrency, successes raise
it again. First come, first served. Works from several event loops at once; a cancelled caller leaves nothing behind.
"""

from __future__ import annotations

import asyncio
import math
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping
from types import TracebackType
from typing import Self

from runner.calls.outcomes import LONGEST_WAIT_S, header
from runner.calls.requests import ModelEndpoint
from runner.calls.windows import Told, stricter, told

__all__ = ["Limiter", "Limiters", "Slot"]

_DECREASE = 0.5
_SETTLE_S = 0.5
"""Refusals within this of the last decrease are the same jam: the calls were on their way already."""
_NOW = 0.0
_UNTIL_WOKEN = math.inf
_TICK_S = 1e-6
"""Shorter waits are none: rounding errors of the clock would keep a caller awake."""


class _Waiter:
    """A caller in the queue, in whatever event loop it lives."""

    __slots__ = ("future", "loop")

    def __init__(self) -> None:
        self.loop = asyncio.get_running_loop()
        self.future: asyncio.Future[None] | None = None

    def wake(self) -> bool:
        """Let it look again; False where its loop is closed, so that nobody waits there any more."""
        if asyncio._get_running_loop() is self.loop:
            self.done()
            return True
        try:
            self.loop.call_soon_threadsafe(self.done)
        except RuntimeError:
            return False
        return True

    def done(self) -> None:
        if self.future is not None and not self.future.done():
            self.future.set_result(None)

    async def until(self, future: asyncio.Future[None], delay: float) -> None:
        """Wait to be woken, at most ``delay`` seconds."""
        timer = None if delay == _UNTIL_WOKEN else self.loop.call_later(delay, self.done)
        try:
            await future
        finally:
            if timer is not None:
                timer.cancel()


class Slot:
    """A place among the calls in flight: ``async with limiter.slot(tokens) as slot``. Good for one use."""

    __slots__ = ("_entry", "_held", "_limiter", "_tokens", "started")

    def __init__(self, limiter: Limiter, tokens: int) -> None:
        self._limiter = limiter
        self._tokens = tokens
        self._held = False
        self._entry: list[float] | None = None
        self.started = 0.0
        """The limiter's clock when the place was given."""

    async def __aenter__(self) -> Self:
        await self._limiter._acquire(self)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._limiter._release(self)

    def used(self, tokens: int) -> None:
        """The real number of tokens, where it is known: gives back what was counted too much of this minute."""
        self._limiter._correct(self, tokens)


class Limiter:
    """The limits of one model at one server."""

    def __init__(
        self,
        concurrency: int,
        *,
        requests_per_minute: int | None = None,
        tokens_per_minute: int | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """``clock``: seconds; tests give the time of their event loop."""
        self.concurrency = concurrency
        self._clock = clock
        self._lock = threading.Lock()
        self._waiters: deque[_Waiter] = deque()
        self._in_flight = 0
        self._allowed = float(concurrency)
        self._paused_until = -math.inf
        self._last_decrease = -math.inf
        self._requests = stricter(None, requests_per_minute)
        self._tokens = stricter(None, tokens_per_minute)
        self._told_requests: Told | None = None
        self._told_tokens: Told | None = None

    @property
    def in_flight(self) -> int:
        """Calls that hold a slot now."""
        return self._in_flight

    @property
    def waiting(self) -> int:
        """Callers that wait for a slot now."""
        return len(self._waiters)

    @property
    def allowed(self) -> int:
        """Calls that may be in flight now; ``concurrency`` unless the server complained."""
        return max(1, int(self._allowed))

    def slot(self, tokens: int = 0) -> Slot:
        """A place for one request of about so many tokens; waits inside ``async with`` as long as the limits say."""
        return Slot(self, tokens)

    def learn(self, headers: Mapping[str, str]) -> None:
        """Read ``x-ratelimit-*`` of an answer. Cheap where the server sends none."""
        requests = header(headers, "x-ratelimit-remaining-requests") is not None
        tokens = header(headers, "x-ratelimit-remaining-tokens") is not None
        if not requests and not tokens:
            return
        with self._lock:
            now = self._clock()
            self._told_requests = (told(headers, "requests", now) if requests else None) or self._told_requests
            self._told_tokens = (told(headers, "tokens", now) if tokens else None) or self._told_tokens
            self._wake_first()

    def slowed(self, retry_after_s: float | None) -> None:
        """The server refused a call with 429: no call leaves for ``retry_after_s``, and fewer at once after that."""
        with self._lock:
            now = self._clock()
            if retry_after_s is not None:
                self._paused_until = max(self._paused_until, now + min(max(retry_after_s, 0.0), LONGEST_WAIT_S))
            if now - self._last_decrease >= _SETTLE_S:
                # Of what really was in flight: a jam at 4 calls is not cured by allowing 16 of 32.
                self._allowed = max(1.0, min(self._allowed, self._in_flight) * _DECREASE)
            self._last_decrease = max(now, self._paused_until)

    def recovered(self) -> None:
        """A call succeeded: allow one more at once, up to the configured concurrency."""
        if self._allowed >= self.concurrency:
            return
        with self._lock:
            self._allowed = min(float(self.concurrency), self._allowed + 1.0)
            self._wake_first()

    def tighten(self, requests_per_minute: int | None, tokens_per_minute: int | None) -> None:
        """Another part of the configuration names limits for the same model: the strictest hold."""
        with self._lock:
            self._requests = stricter(self._requests, requests_per_minute)
            self._tokens = stricter(self._tokens, tokens_per_minute)

    # -- inside

    async def _acquire(self, slot: Slot) -> None:
        with self._lock:
            if not self._waiters and self._try(slot) == _NOW:
                return
            waiter = _Waiter()
            self._waiters.append(waiter)
        try:
            while True:
                with self._lock:
                    delay = self._try(slot) if self._waiters[0] is waiter else _UNTIL_WOKEN
                    if delay == _NOW:
                        self._waiters.popleft()
                        self._wake_first()
                        return
                    future = waiter.future = waiter.loop.create_future()
                await waiter.until(future, delay)
        except BaseException:
            with self._lock:
                if waiter in self._waiters:
                    self._waiters.remove(waiter)
                self._wake_first()
            raise

    def _try(self, slot: Slot) -> float:
        """Take a place (0), or say how many seconds to wait before looking again. The lock is held."""
        if self._in_flight >= self.allowed:
            return _UNTIL_WOKEN
        now = self._clock()
        requests = [rate for rate in (self._requests, self._told_requests) if rate is not None]
        tokens = [rate for rate in (self._tokens, self._told_tokens) if rate is not None]
        wait = self._paused_until - now
        for rate in requests:
            wait = max(wait, rate.wait(now, 1))
        for rate in tokens:
            wait = max(wait, rate.wait(now, slot._tokens))
        if wait > _TICK_S:
            return wait
        self._in_flight += 1
        slot._held, slot.started = True, now
        for rate in requests:
            rate.take(now, 1)
        for rate in tokens:
            entry = rate.take(now, slot._tokens)
            slot._entry = entry if entry is not None else slot._entry
        return _NOW

    def _release(self, slot: Slot) -> None:
        with self._lock:
            if slot._held:
                slot._held = False
                self._in_flight -= 1
                self._wake_first()

    def _correct(self, slot: Slot, tokens: int) -> None:
        with self._lock:
            if self._tokens is not None and slot._entry is not None:
                self._tokens.correct(slot._entry, tokens, self._clock())
                self._wake_first()

    def _wake_first(self) -> None:
        while self._waiters and not self._waiters[0].wake():
            self._waiters.popleft()


class Limiters:
    """All limiters of the process."""

    def __init__(self, concurrency: int, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._concurrency = concurrency
        self._clock = clock
        self._lock = threading.Lock()
        self._made: dict[tuple[str, str], Limiter] = {}

    def for_model(self, endpoint: ModelEndpoint, model: str) -> Limiter:
        """The limiter of this model at this server; where endpoints disagree about its limits the strictest hold."""
        requests, tokens = endpoint.requests_per_minute, endpoint.tokens_per_minute
        with self._lock:
            limiter = self._made.get((endpoint.base_url, model))
            if limiter is None:
                limiter = Limiter(
                    self._concurrency, requests_per_minute=requests, tokens_per_minute=tokens, clock=self._clock
                )
                self._made[endpoint.base_url, model] = limiter
                return limiter
        if requests is not None or tokens is not None:
            limiter.tighten(requests, tokens)
        return limiter
