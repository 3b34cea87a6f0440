"""The fake model server as a process of its own: ``python -m tests.fakes.model_server --port-file F``."""

from __future__ import annotations

import argparse
import os
import signal
import threading
from pathlib import Path

from tests.fakes.model_server import ModelServer


def main() -> None:
    """Serve until SIGTERM, SIGINT or the end of the parent; the port is in the file once it listens."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--port-file", type=Path)
    parser.add_argument("--latency-s", type=float, default=0.0)
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args()
    ended = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: ended.set())
    parent = os.getppid()
    with ModelServer(latency_s=asked.latency_s, seed=asked.seed, port=asked.port) as server:
        if asked.port_file:
            draft = asked.port_file.with_suffix(".part")
            draft.write_text(server.base_url.rpartition(":")[2].removesuffix("/v1"))
            draft.replace(asked.port_file)
        print(server.base_url, flush=True)
        while not ended.wait(0.5) and os.getppid() == parent:
            pass


if __name__ == "__main__":
    main()
