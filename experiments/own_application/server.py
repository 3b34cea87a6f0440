"""The application as a service on loopback: ``python experiments/own_application/server.py 8765``.

POST /answer with {"question", "settings"} is answered with {"data": {"text"}, "sources": [{"text"}, ...]}.
"""

import json
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from app import answer


class Handler(BaseHTTPRequestHandler):
    """Answers questions, and nothing else."""

    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        """One question."""
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        given = answer(asked["question"], asked.get("settings") or {})
        told = {"data": {"text": given["answer"]}, "sources": [{"text": text} for text in given["contexts"]]}
        body = json.dumps(told).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *arguments: object) -> None:
        """Says nothing."""


def serve(port: int = 0) -> ThreadingHTTPServer:
    """A server on this port (0: any), not yet serving."""
    return ThreadingHTTPServer(("127.0.0.1", port), Handler)


if __name__ == "__main__":
    server = serve(int(sys.argv[1]) if len(sys.argv) > 1 else 8765)
    print(f"serving on http://127.0.0.1:{server.server_port}/answer", flush=True)
    server.serve_forever()
