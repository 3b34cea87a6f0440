"""The parent's side of one model server: starts the child process, waits until it answers, ends it."""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import subprocess
import tempfile
import threading
import time
import urllib.parse
from collections.abc import Sequence

from runner.calls.embedded.server import PASSIVE_THREADS, Order
from runner.errors import JobStopped

_LOOK_EVERY_SECONDS = 0.05
_STOP_SECONDS = 2.0
_TAIL_BYTES = 2000
_TAIL_LINES = 5
_KILLED = -9
_ILLEGAL_INSTRUCTION = -4


class Child:
    """One running server. Its pipe is the leash: when this process ends in whatever way, the child does too."""

    def __init__(self, command: Sequence[str], order: Order) -> None:
        self._order = order
        # Not a pipe: nobody reads it while all is well, and a full pipe would stop the child.
        self._log = tempfile.TemporaryFile()  # noqa: SIM115 - lives as long as the child
        self._words = ""
        self._process = subprocess.Popen(
            list(command),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            env={**os.environ, **PASSIVE_THREADS},
        )

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def alive(self) -> bool:
        return self._process.poll() is None

    def wait_until_ready(self, within_s: float) -> str:
        """The address without a path, once the server answers to its own model's name.

        Raises
        ------
        JobStopped
            It ended, or did not answer in time; with its last words.
        """
        ends = time.monotonic() + within_s
        overdue = threading.Event()

        def too_late() -> None:
            overdue.set()
            self._process.kill()

        timer = threading.Timer(within_s, too_late)
        timer.daemon = True
        timer.start()
        try:
            address = self._address()
            while address and self.alive and time.monotonic() < ends:
                name = self._answers_as(address)
                if name == self._order.model:
                    return address
                if name is not None:
                    raise JobStopped(f"{address} answers as '{name}', not as {self._order.model}: another server.")
                time.sleep(_LOOK_EVERY_SECONDS)
            late = overdue.is_set() or time.monotonic() >= ends
        except JobStopped:
            self.stop()
            raise
        finally:
            timer.cancel()
        self.stop()
        raise JobStopped(self._why(within_s if late else None))

    def stop(self) -> None:
        """End the child: at once where it listens to its pipe, by force where it does not."""
        if self._process.stdin is not None:
            with contextlib.suppress(OSError):  # it was dead already and something was left in the buffer
                self._process.stdin.close()
        try:
            self._process.wait(_STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        if self._process.stdout is not None:
            self._process.stdout.close()
        self._words = self.last_words()
        self._log.close()

    def last_words(self) -> str:
        """The end of what the child wrote to standard error."""
        if self._log.closed:
            return self._words
        self._log.seek(0, os.SEEK_END)
        self._log.seek(max(0, self._log.tell() - _TAIL_BYTES))
        lines = self._log.read().decode("utf-8", errors="replace").strip().splitlines()
        return "\n".join(lines[-_TAIL_LINES:])

    def _address(self) -> str:
        if self._process.stdin is None or self._process.stdout is None:
            return ""
        try:
            self._process.stdin.write(self._order.line())
            self._process.stdin.flush()
            return str(json.loads(self._process.stdout.readline())["address"])
        except (OSError, ValueError, KeyError):
            return ""

    def _answers_as(self, address: str) -> str | None:
        """The name of the model that is served there; ``None`` while it does not answer."""
        server = urllib.parse.urlsplit(address)
        # Not urllib.request: it would ask the user's proxy for loopback.
        connection = http.client.HTTPConnection(server.hostname or "", server.port, timeout=5)
        headers = {"Authorization": f"Bearer {self._order.api_key}"} if self._order.api_key else {}
        try:
            connection.request("GET", "/v1/models", headers=headers)
            return str(json.load(connection.getresponse())["data"][0]["id"])
        except (OSError, http.client.HTTPException, ValueError, LookupError, TypeError):
            return None
        finally:
            connection.close()

    def _why(self, waited_s: float | None) -> str:
        head = f"The embedded server of {self._order.model}"
        words = self.last_words()
        said = f" Its last words:\n{words}" if words else ""
        if waited_s is not None:
            return f"{head} did not answer within {waited_s:g} s; free memory or cores, or choose another stack.{said}"
        code = self._process.returncode
        if code == _KILLED:
            return (
                f"{head} was killed, most likely for want of memory; try stack=local_small or stack=extractive.{said}"
            )
        if code == _ILLEGAL_INSTRUCTION:
            return f"{head} needs a processor with AVX2, FMA and F16C; choose stack=extractive or a hosted one.{said}"
        return f"{head} ended with code {code} before it answered; choose another stack, or report this.{said}"
