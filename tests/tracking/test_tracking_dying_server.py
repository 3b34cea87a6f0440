"""A tracking server that dies while a launch opens it: after its health was asked, before the first run is begun."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from runner.config import schema
from runner.errors import TrackingUnavailable
from runner.tracking import open_tracking


class Dying(BaseHTTPRequestHandler):
    """Answers its health and what begins with ``answered``; with anything else it is gone for good."""

    answered: tuple[str, ...] = ()

    def do_GET(self) -> None:
        if self.path == "/health":
            self._send(b"OK")
        elif self.path.startswith(self.answered):
            found = {"experiment": {"experiment_id": "1", "name": "faq", "lifecycle_stage": "active", "tags": []}}
            self._send(json.dumps(found).encode())
        else:
            self.do_POST()

    def do_POST(self) -> None:
        # Not closed by the main loop: that would wait for this very answer.
        self.server.socket.close()
        threading.Thread(target=self.server.shutdown, daemon=True).start()
        self.close_connection = True

    def _send(self, body: bytes) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Quiet."""


@pytest.fixture(params=[(), ("/api/2.0/mlflow/experiments/get-by-name",)], ids=["at once", "half-way"])
def dying(request: pytest.FixtureRequest) -> Iterator[str]:
    handler = type("Handler", (Dying,), {"answered": request.param or ("nothing",)})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_address[1]}"
    server.shutdown()
    server.server_close()


def test_a_server_that_dies_while_it_is_opened_does_not_answer(
    dying: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "0")
    with pytest.raises(TrackingUnavailable) as raised:
        open_tracking(schema.Tracking(kind="mlflow", experiment="faq", uri=dying), tmp_path)
    assert f"the tracking server {dying} does not answer" in str(raised.value)
    assert "nothing was paid" in str(raised.value)
