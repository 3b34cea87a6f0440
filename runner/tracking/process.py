"""The writer's process as the launching process holds it: one thread that sends to it, one that listens."""

from __future__ import annotations

import json
import os
import queue
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from runner.tracking import frames

Message = tuple[Any, ...]
_BOOT = (
    "import json, sys; sys.path[:] = json.loads(sys.argv[1]); from runner.tracking.worker import main; sys.exit(main())"
)


class WriterProcess:
    """One writer process with its two threads: one sends, one listens."""

    def __init__(
        self, log: Path, on_message: Callable[[Message], None], on_end: Callable[[WriterProcess, int], None]
    ) -> None:
        log.parent.mkdir(parents=True, exist_ok=True)
        with log.open("ab") as errors:
            self._process = subprocess.Popen(
                [sys.executable, "-c", _BOOT, json.dumps([path or os.getcwd() for path in sys.path])],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                start_new_session=True,  # Ctrl-C goes to the whole group of the terminal; the writer has to finish
            )
        self._outbox: queue.SimpleQueue[Message | None] = queue.SimpleQueue()
        self._on_message = on_message
        self._on_end = on_end
        for target in (self._send, self._listen):
            threading.Thread(target=target, name="tracking", daemon=True).start()

    def put(self, message: Message) -> None:
        self._outbox.put(message)

    def _send(self) -> None:
        assert self._process.stdin is not None
        while (message := self._outbox.get()) is not None:
            try:
                frames.write(self._process.stdin, message)  # type: ignore[arg-type]
            except (OSError, ValueError):
                return

    def _listen(self) -> None:
        assert self._process.stdout is not None
        while True:
            try:
                message = frames.read(self._process.stdout)  # type: ignore[arg-type]
            except (EOFError, OSError, ValueError):
                self._outbox.put(None)
                self._on_end(self, self._process.wait())
                return
            self._on_message(message)
