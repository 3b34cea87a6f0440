"""What the fake model server has seen: every request with what became of it, counted in many ways."""

from __future__ import annotations

import json
import threading
import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(slots=True)
class Request:
    """One request as it came, and what became of it."""

    number: int
    path: str
    headers: Mapping[str, str]
    body: Mapping[str, Any]
    at: float
    """``time.monotonic`` of its arrival."""
    attempt: int
    """0-based among the requests with the same path and body."""
    fault: str = ""
    status: int = 0
    """HTTP status sent; 0 where none was (hang, client gone, connection refused)."""
    input_tokens: int = 0
    """Billed; 0 for an HTTP error."""
    output_tokens: int = 0
    delivered: bool = False
    """False where the client cannot have read the whole answer."""

    @property
    def model(self) -> str:
        return str(self.body.get("model", ""))


@dataclass(frozen=True, slots=True)
class Tokens:
    input: int
    output: int


class Seen:
    """The log of requests and its sums; safe from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._forget()

    def _forget(self) -> None:
        self.requests: list[Request] = []
        self.in_flight = 0
        self.in_flight_max = 0
        self._attempts: Counter[str] = Counter()

    def _enter(self, path: str, headers: Mapping[str, str], body: Mapping[str, Any]) -> Request:
        with self._lock:
            key = f"{path} {canonical(body)}"
            attempt = self._attempts[key]
            self._attempts[key] += 1
            number = len(self.requests)
            entry = Request(number, path, dict(headers), body, time.monotonic(), attempt)
            self.requests.append(entry)
            self.in_flight += 1
            self.in_flight_max = max(self.in_flight_max, self.in_flight)
            return entry

    def count(self, *, path: str | None = None, model: str | None = None, fault: str | None = None) -> int:
        """How many requests came, of this path's end, model and fault kind (``""``: without a fault)."""
        return len(self.select(path=path, model=model, fault=fault))

    def select(self, *, path: str | None = None, model: str | None = None, fault: str | None = None) -> list[Request]:
        with self._lock:
            return [
                request
                for request in self.requests
                if (path is None or request.path.endswith(path))
                and (model is None or request.model == model)
                and (fault is None or request.fault == fault)
            ]

    def by_model(self) -> dict[str, int]:
        with self._lock:
            return dict(Counter(request.model for request in self.requests))

    def tokens(self, model: str | None = None, *, delivered: bool | None = True) -> Tokens:
        """Billed tokens, of one model or all; ``delivered=False``: of answers that the client could not read to the end
        (cut connections, clients that left), ``None``: both."""
        chosen = self.select(model=model)
        if delivered is not None:
            chosen = [request for request in chosen if request.delivered is delivered]
        return Tokens(sum(r.input_tokens for r in chosen), sum(r.output_tokens for r in chosen))

    def unique(self, path: str | None = None) -> int:
        """How many different (path, body) pairs came."""
        return len({(r.path, canonical(r.body)) for r in self.select(path=path)})


def canonical(body: Mapping[str, Any]) -> str:
    return json.dumps(body, sort_keys=True)
