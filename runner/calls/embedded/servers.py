"""The model servers of this process: one child for each model, started when it is first asked for."""

from __future__ import annotations

import asyncio
import atexit
import importlib.metadata
import os
import sys
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from pathlib import Path

from runner.calls.embedded import server
from runner.calls.embedded.child import Child
from runner.calls.embedded.listing import find
from runner.calls.embedded.server import Order
from runner.calls.embedded.weights import pull
from runner.errors import ConfigurationError, JobStopped

CONTEXT_TOKENS = 8192
"""Prompt and reply together; a longer request gets HTTP 400. Takes 0.2 GB with the 1.5B model."""
_READY_SECONDS = 120.0
_CRASHES = 3
"""How often a server that died is started again before its model is given up."""
_COMMAND = (sys.executable, "-P", str(Path(server.__file__)))
"""The file by itself (-P: nothing beside it can be imported): the child needs nothing else of this package."""
_RUNTIME = "xllamacpp"


class EmbeddedServers:
    """Starts, finds and ends the servers; safe to share between threads and event loops.

    A server that died is started again at the next ``base_url``, on another port: ask for the address before each
    attempt instead of keeping it. llama.cpp answers under any model name, so send each model's requests only to
    the address that was given for it.

    Parameters
    ----------
    api_key
        What the servers ask for as a bearer token; empty: they ask for none. Other users of the machine can reach
        loopback, so a random one is the better choice.
    context_tokens, threads, ready_within_s
        Prompt and reply together; threads a server (by default the cores this process may use); seconds to start.
    command, locate
        For tests: what is run instead of the real server, and what gives the weights instead of ``pull``.
    """

    concurrency = 1
    """Requests that one server takes at a time: two made nothing faster on two cores, and each waits longer."""

    def __init__(
        self,
        *,
        api_key: str = "",
        context_tokens: int = CONTEXT_TOKENS,
        threads: int | None = None,
        ready_within_s: float = _READY_SECONDS,
        command: Sequence[str] = _COMMAND,
        locate: Callable[[str], Path] = pull,
    ) -> None:
        self.api_key = api_key
        self._context_tokens = context_tokens
        self._threads = threads or _usable_cores()
        self._ready_within_s = ready_within_s
        self._command = tuple(command)
        self._locate = locate
        self._lock = threading.Lock()
        self._started: dict[str, Future[str]] = {}
        self._children: dict[str, Child] = {}
        self._starts: dict[str, int] = {}
        self._closed = False
        atexit.register(self.close)

    def identity(self, model: str) -> str:
        """What stands for the server in keys: the weights and the runtime, whatever the port; fetches nothing.

        Raises
        ------
        ConfigurationError
            Unknown model, or the runtime is not installed.
        """
        return f"embedded:{find(model).sha256}:{_RUNTIME}-{_runtime_version()}"

    async def base_url(self, model: str) -> str:
        """Where the model answers, ``http://127.0.0.1:PORT/v1``; starts its server, and fetches weights, if need be.

        Raises
        ------
        ConfigurationError
            Unknown model, no runtime, or no source has the weights.
        JobStopped
            The server does not start, or died too often.
        """
        starting = self._start(model)
        if starting.done():
            return starting.result()
        return await asyncio.shield(asyncio.wrap_future(starting))

    def close(self) -> None:
        """End all servers; may be called twice."""
        with self._lock:
            self._closed = True
            children = list(self._children.values())
            self._children.clear()
            self._started.clear()
        atexit.unregister(self.close)
        for child in children:
            child.stop()

    def _start(self, model: str) -> Future[str]:
        with self._lock:
            if self._closed:
                raise JobStopped(f"The embedded server of {model} has been closed.")
            started = self._started.get(model)
            if started is not None and not self._needs_a_start(model, started):
                return started
            _runtime_version()
            find(model)
            self._starts[model] = self._starts.get(model, 0) + 1
            if self._starts[model] > 1 + _CRASHES:
                raise JobStopped(self._gave_up(model))
            started = self._started[model] = Future()
            # A thread of its own: fetching and loading may take minutes and must not hold up the end of the process.
            threading.Thread(target=self._run, args=(model, started), daemon=True).start()
            return started

    def _gave_up(self, model: str) -> str:
        child = self._children.get(model)
        words = child.last_words() if child is not None else ""
        said = f" Its last words:\n{words}" if words else ""
        return f"The embedded server of {model} died {_CRASHES + 1} times; choose another stack.{said}"

    def _needs_a_start(self, model: str, started: Future[str]) -> bool:
        if not started.done():
            return False
        child = self._children.get(model)
        return started.exception() is not None or child is None or not child.alive

    def _run(self, model: str, started: Future[str]) -> None:
        try:
            weights = self._locate(model)
            order = Order(
                model=model,
                weights=str(weights),
                api_key=self.api_key,
                context_tokens=self._context_tokens,
                threads=self._threads,
                parent=os.getpid(),
            )
            with self._lock:
                if self._closed:
                    raise JobStopped(f"The embedded server of {model} was closed while it started.")
                previous = self._children.pop(model, None)
                child = self._children[model] = Child(self._command, order)
            if previous is not None:
                previous.stop()
            address = child.wait_until_ready(self._ready_within_s)
        except BaseException as error:
            started.set_exception(error)
        else:
            started.set_result(f"{address}/v1")


def _usable_cores() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _runtime_version() -> str:
    try:
        return importlib.metadata.version(_RUNTIME)
    except importlib.metadata.PackageNotFoundError as error:
        raise ConfigurationError(
            f"Embedded models need the package {_RUNTIME}: pip install 'rag-judge-runner[local]', "
            "or choose stack=extractive, openai or openai_compatible."
        ) from error
