"""Event loops in threads of their own, in which an asynchronous function of the user's runs apart from our own loop.

What blocks its loop, or catches its cancellation, then costs its own time limit and nothing else. Functions share one
loop for as long as that turns, because the clients and locks that a module holds belong to one; a call that is not
begun because another blocks that loop gets a loop of its own.
"""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import threading
from collections.abc import Awaitable, Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

if TYPE_CHECKING:
    from runner.calls import Door

MOST_PATIENCE_S = 5.0
"""A call waits this long at most to be begun in the shared loop."""
_ENDING_S = 0.5
"""What is cancelled has this long to end; then it is left behind in its thread, which does not hold the process."""


class Lanes:
    """The loops of one door. To be used from the door's own loop."""

    def __init__(self) -> None:
        self._shared: _Lane | None = None
        self._all: list[_Lane] = []

    async def run(self, make: Callable[[], Awaitable[Any]], patience_s: float) -> Any:
        """Awaits what ``make`` makes, both in another loop and with the context variables of here.

        Raises what that raises; RuntimeError for what is no Exception, such as a cancellation that nobody asked for.
        """
        job = _Job(make)
        if self._shared is None:
            self._shared = self._open()
        self._shared.submit(job)
        try:
            await asyncio.wait({job.began, job.result}, timeout=patience_s, return_when=asyncio.FIRST_COMPLETED)
            if not (job.began.done() or job.result.done()):
                self._apart(job)
            return await asyncio.shield(job.result)
        except asyncio.CancelledError:
            job.cancel()
            await asyncio.wait({job.result}, timeout=_ENDING_S)
            if not job.heard:
                self._leave(job.lane)
            raise

    def _apart(self, job: _Job) -> None:
        stuck, own = job.lane, self._open()
        if own.submit(job):
            self._leave(stuck)
        # It is for this call alone and ends with it.
        own.retire()

    def _leave(self, lane: _Lane | None) -> None:
        """Nobody is sent to a loop that something blocks."""
        if lane is not None:
            lane.retire()
        if lane is self._shared:
            self._shared = None

    def _open(self) -> _Lane:
        self._all = [lane for lane in self._all if not lane.loop.is_closed()]
        self._all.append(_Lane())
        return self._all[-1]

    async def close(self) -> None:
        """Ends what still runs there, and leaves behind what does not end."""
        lanes, self._all, self._shared = self._all, [], None
        begun = [lane.end() for lane in lanes]
        endings = [asyncio.wrap_future(future) for future in begun if future is not None]
        if endings:
            _, stuck = await asyncio.wait(endings, timeout=2 * _ENDING_S)
            for ending in stuck:
                # It would tell our loop after that has been closed.
                ending.cancel()


_lanes: WeakKeyDictionary[Door, Lanes] = WeakKeyDictionary()


def lanes_of(door: Door) -> Lanes:
    """The loops of this door, shared by all of its jobs; they end with it."""
    found = _lanes.get(door)
    if found is None:
        found = _lanes[door] = Lanes()
        door.closes_with(found.close)
    return found


class _Job:
    """One call: where it runs, and what waits for it in the loop that made it."""

    def __init__(self, make: Callable[[], Awaitable[Any]]) -> None:
        self._make = make
        self._context = contextvars.copy_context()
        self._home = asyncio.get_running_loop()
        self._lock = threading.Lock()
        self._task: asyncio.Task[Any] | None = None
        self._cancelled = False
        self.began: asyncio.Future[None] = self._home.create_future()
        self.result: asyncio.Future[Any] = self._home.create_future()
        self.lane: _Lane | None = None
        self.heard = False
        """The loop in which it runs has heard of its cancellation, so it turns."""

    def given_to(self, lane: _Lane) -> bool:
        """Whether that loop may have it: not when another has begun it."""
        with self._lock:
            if self._task is not None:
                return False
            self.lane = lane
            return True

    def start(self, lane: _Lane) -> asyncio.Task[None]:
        """In the thread of the loop: makes the task, which begins in a later turn."""
        return lane.loop.create_task(self._work(lane), context=self._context)

    async def _work(self, lane: _Lane) -> None:
        with self._lock:
            # Given to another loop meanwhile, or to nobody.
            if self.lane is not lane or self._cancelled:
                return
            self._task = asyncio.current_task()
        self._tell(self.began, None, None)
        result: Any = None
        failure: Exception | None = None
        try:
            result = await self._make()
        except asyncio.CancelledError as error:
            failure = RuntimeError(f"CancelledError: {error}")
        except Exception as error:
            failure = error
        except BaseException as error:
            # SystemExit would end the loop's thread with all that runs in it.
            failure = RuntimeError(f"{type(error).__name__}: {error}")
        self._tell(self.result, result, failure)

    def cancel(self) -> None:
        """From the loop that made it; ``result`` is done when it has ended."""
        with self._lock:
            self._cancelled = True
            lane, task = self.lane, self._task
        if lane is None:
            return

        def act() -> None:
            self.heard = True
            if task is None:
                self._tell(self.result, None, None)
            else:
                task.cancel()

        lane.call(act)

    def _tell(self, future: asyncio.Future[Any], result: Any, failure: Exception | None) -> None:
        def settle() -> None:
            if future.done():
                return
            if failure is None:
                future.set_result(result)
            else:
                future.set_exception(failure)
                # Nobody may be waiting any more, which is no mistake.
                future.exception()

        with contextlib.suppress(RuntimeError):
            # The run is over where its loop is closed.
            self._home.call_soon_threadsafe(settle)


class _Lane:
    """One loop that turns in a daemon thread until it is retired and empty."""

    def __init__(self) -> None:
        self.loop = asyncio.new_event_loop()
        self.loop.set_default_executor(_DaemonThreads(max_workers=1))
        self._running: set[asyncio.Task[Any]] = set()
        self._retired = False
        threading.Thread(target=self._turn, name="own-application-loop", daemon=True).start()

    def _turn(self) -> None:
        asyncio.set_event_loop(self.loop)
        try:
            self.loop.run_forever()
        finally:
            self.loop.close()

    def call(self, act: Callable[[], object]) -> bool:
        """Has this done in the loop's thread; false where it has ended."""
        try:
            self.loop.call_soon_threadsafe(act)
        except RuntimeError:
            return False
        return True

    def submit(self, job: _Job) -> bool:
        """Whether this loop will run it: not when another has begun it."""
        return job.given_to(self) and self.call(lambda: self._start(job))

    def _start(self, job: _Job) -> None:
        task = job.start(self)
        self._running.add(task)
        task.add_done_callback(self._ended)

    def _ended(self, task: asyncio.Task[Any]) -> None:
        self._running.discard(task)
        self._stop_if_empty()

    def retire(self) -> None:
        """Takes nothing more, and stops when what runs has ended."""
        self._retired = True
        self.call(self._stop_if_empty)

    def _stop_if_empty(self) -> None:
        if self._retired and not self._running:
            self.loop.create_task(self._finish())

    def end(self) -> Future[None] | None:
        """Cancels what runs; ``None`` where the loop has ended already."""
        ended: Future[None] = Future()

        def tell(_: object) -> None:
            if not ended.done():
                ended.set_result(None)

        def begin() -> None:
            self.loop.create_task(self._finish()).add_done_callback(tell)

        return ended if self.call(begin) else None

    async def _finish(self) -> None:
        others = asyncio.all_tasks() - {asyncio.current_task()}
        for task in others:
            task.cancel()
        left: set[Any] = set()
        if others:
            _, left = await asyncio.wait(others, timeout=_ENDING_S)
        await self.loop.shutdown_asyncgens()
        if not left:
            # One turn later, so that whoever waits for this hears of it. With tasks left, the loop stays theirs.
            self.loop.call_soon(self.loop.stop)


class _DaemonThreads(ThreadPoolExecutor):
    """A thread for each piece of work (``asyncio.to_thread``), for which the process does not wait at its end."""

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        future: Future[Any] = Future()

        def run() -> None:
            if not future.set_running_or_notify_cancel():
                return
            try:
                result = fn(*args, **kwargs)
            except BaseException as error:
                future.set_exception(error)
            else:
                future.set_result(result)

        threading.Thread(target=run, name="own-application-work", daemon=True).start()
        return future
