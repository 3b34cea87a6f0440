"""One run of a program: a text in, what it wrote until it ended out, whoever else holds its pipes open."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

_LEFT_S = 0.5
"""What stands in the pipes when the program has ended is read at once; a child that left its group holds them open."""
_ENDING_S = 2.0


@dataclass(frozen=True, slots=True)
class Ended:
    """What a program wrote, and the exit code."""

    code: int
    output: bytes
    complaints: bytes


async def run(command: Sequence[str], line: bytes) -> Ended:
    """Starts the program without a shell, in a process group of its own, and waits for its end, not for its children.

    Whatever of its group still runs is ended with it, also when the caller is cancelled. Raises OSError and ValueError
    where it cannot be started.
    """
    loop = asyncio.get_running_loop()
    # Not communicate(): that waits until the last child of the program has closed the pipes, too.
    transport, program = await loop.subprocess_exec(_Program, *command, start_new_session=True)
    try:
        stdin = cast("asyncio.WriteTransport", transport.get_pipe_transport(0))
        stdin.write(line)
        stdin.write_eof()
        await program.exited.wait()
        _kill_group(transport.get_pid())
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(program.closed.wait(), _LEFT_S)
        return Ended(transport.get_returncode() or 0, bytes(program.written[1]), bytes(program.written[2]))
    finally:
        if not program.exited.is_set():
            _kill_group(transport.get_pid())
            with contextlib.suppress(ProcessLookupError):
                transport.kill()
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(program.exited.wait(), _ENDING_S)
        transport.close()
        # The pipes are closed in the loop's next turns, which it must still have.
        await asyncio.sleep(0)


class _Program(asyncio.SubprocessProtocol):
    def __init__(self) -> None:
        self.written = {1: bytearray(), 2: bytearray()}
        self.exited, self.closed = asyncio.Event(), asyncio.Event()
        self._open = {1, 2}

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        self.written[fd] += data

    def pipe_connection_lost(self, fd: int, exc: Exception | None) -> None:
        self._open.discard(fd)
        if not self._open:
            self.closed.set()

    def process_exited(self) -> None:
        self.exited.set()


def _kill_group(leader: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(leader, signal.SIGKILL)
