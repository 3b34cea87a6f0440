"""A model server without a model, behind the real child's leash: run with the way it should behave as its argument."""

from __future__ import annotations

import importlib.util
import json
import os
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

SERVER = Path(__file__).resolve().parents[2] / "runner" / "calls" / "embedded" / "server.py"
spec = importlib.util.spec_from_file_location("embedded_server", SERVER)
assert spec is not None
assert spec.loader is not None
embedded = sys.modules[spec.name] = importlib.util.module_from_spec(spec)
spec.loader.exec_module(embedded)
BEHAVIOUR = sys.argv[1]


def start(order: Any) -> tuple[str, Any]:
    if BEHAVIOUR == "dies":
        print("cannot load the weights: bad magic", file=sys.stderr, flush=True)
        os._exit(7)
    if BEHAVIOUR == "hangs":
        print("still loading", file=sys.stderr, flush=True)
        time.sleep(60)
    print("words of the runtime that are no address")
    if BEHAVIOUR == "counts":
        with Path(order.weights).open("a", encoding="utf-8") as file:
            file.write(f"{order.model}\n")

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            if self.path == "/crash":
                print("segmentation fault, as it were", file=sys.stderr, flush=True)
                os._exit(11)
            if order.api_key and self.headers.get("Authorization") != f"Bearer {order.api_key}":
                self.send_error(401)
                return
            name = "another-model" if BEHAVIOUR == "another" else order.model
            environment = {key: os.environ.get(key) for key in ("OMP_WAIT_POLICY", "GOMP_SPINCOUNT")}
            body = {"data": [{"id": name}], "pid": os.getpid(), "environment": environment, "threads": order.threads}
            data = json.dumps(body).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return f"http://127.0.0.1:{server.server_port}", server


embedded.serve(start)
