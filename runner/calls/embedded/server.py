"""The child process that holds one model: reads its order from standard input, serves, and ends with its parent.

Run by its path, so it imports nothing of this package. A process of its own, so that a crash in the C++ of the runtime
is an error of one call and not the end of a run. It must not outlive the runner, whatever ends that: the parent keeps
the other end of standard input open, and the child leaves when it closes or when its parent is another one.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any, TextIO

PASSIVE_THREADS = {"OMP_WAIT_POLICY": "passive", "GOMP_SPINCOUNT": "0"}
"""Set before the runtime is imported: threads that spin while they wait made it 10 to 40 times slower on two cores."""
_LOOK_EVERY_SECONDS = 0.5
_PROMPT_MEMORY_MIB = 1024
"""For the states of earlier prompts: one that begins like any of them is read from there on only."""


@dataclass(frozen=True, slots=True)
class Order:
    """What the child is asked to serve; travels as one line of JSON, since arguments can be read by other users."""

    model: str
    """The name that requests use."""
    weights: str
    """Path of the GGUF file."""
    api_key: str
    """Random, of this one server; empty: anyone on this machine may ask."""
    context_tokens: int
    threads: int
    parent: int
    """Process id of the runner."""

    def line(self) -> bytes:
        return json.dumps(asdict(self)).encode() + b"\n"


Start = Callable[[Order], tuple[str, Any]]
"""Starts the server; returns its address and something to hold on to while it serves."""


def start_llama(order: Order) -> tuple[str, Any]:
    """llama.cpp on a free port of loopback, one request at a time.

    A reply must not depend on what was asked before. With the defaults it does: how much of a prompt is in the cache
    decides which kernels see the rest, and their rounding moved P(yes) by up to 0.03. Without repacked weights and
    flash attention the same prompt gave the same bits whatever part of it was cached (18 of 18); it costs 15 % of the
    time for prompts, nothing for replies, and saves 0.6 GB with the 1.5B model.
    """
    os.environ.update(PASSIVE_THREADS)
    import xllamacpp

    parameters = xllamacpp.CommonParams()
    parameters.model.path = order.weights
    parameters.model_alias = {order.model}
    parameters.n_ctx = order.context_tokens
    parameters.n_parallel = 1
    parameters.cpuparams.n_threads = order.threads
    parameters.cpuparams_batch.n_threads = order.threads
    parameters.hostnames = ["127.0.0.1"]
    parameters.port = 0
    parameters.no_extra_bufts = True
    parameters.flash_attn_type = xllamacpp.llama_flash_attn_type.LLAMA_FLASH_ATTN_TYPE_DISABLED
    parameters.cache_ram_mib = _PROMPT_MEMORY_MIB
    parameters.ui = False
    parameters.endpoint_slots = False  # it shows the prompts of others
    parameters.verbosity = 0
    if order.api_key:
        parameters.api_keys = [order.api_key]
    server = xllamacpp.Server(parameters)
    return str(server.listening_address), server


def serve(start: Start) -> None:
    """Read the order, start, say the address in one line of JSON, and stay until the parent is gone."""
    # Ctrl-C reaches every process of the terminal: the runner decides what it means, and closes the pipe.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    order = Order(**json.loads(sys.stdin.buffer.readline()))
    # Two guards. The other end of the pipe may live on in a process that the parent forked, and on Windows the
    # number of the parent stays the same. PR_SET_PDEATHSIG is no third one: it follows the thread that started us.
    pipe = threading.Thread(target=_leave_when_the_pipe_closes, daemon=True)
    pipe.start()
    threading.Thread(target=_leave_with_parent, args=(order.parent,), daemon=True).start()
    answer = _private_stdout()
    address, held = start(order)
    answer.write(json.dumps({"address": address}) + "\n")
    answer.flush()
    pipe.join()
    del held


def _private_stdout() -> TextIO:
    """The pipe to the parent, for the address only: what the runtime prints goes to standard error."""
    answer = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    return answer


def _leave_when_the_pipe_closes() -> None:
    sys.stdin.buffer.read()
    os._exit(0)


def _leave_with_parent(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(_LOOK_EVERY_SECONDS)
    os._exit(0)


if __name__ == "__main__":
    serve(start_llama)
