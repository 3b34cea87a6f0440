"""What can go wrong at the fake model server, and the rules that say when.

Copy a line of ``KINDS`` to see what a fault does; make one with ``fault("rate_limited", retry_after="1")``.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any

KINDS: Mapping[str, str] = {
    "ok": "the normal reply (fills a place in a queue)",
    "latency": "the normal reply, after `seconds` more",
    "text": "a normal reply with `text` as its content (a text, or a function of the request body that gives it)",
    "rate_limited": "429; headers: retry_after='1.5', retry_after_ms='20', retry_date_s=2 (an HTTP date that far off)",
    "insufficient_quota": "429 that no waiting cures",
    "server_error": "`status` (500), `body`",
    "hang": "never answers; ends after `seconds` (3600) or when the client leaves",
    "cut": "200, then the connection ends in the middle of the body",
    "refuse_connection": "the connection ends before any byte of the answer",
    "malformed": "a reply whose JSON stops half-way, finish_reason stop",
    "prose": "JSON with prose around it",
    "fenced": "JSON inside a Markdown fence",
    "off_scale": "a verdict of 99 (every number and enum)",
    "wrong_type": "a verdict whose values are lists",
    "truncated": "finish_reason length, half the text; a responses reply is incomplete",
    "refusal": "message.refusal is set, no content",
    "content_filter": "finish_reason content_filter",
    "content_filter_400": "400 content_filter, as Azure does",
    "empty": "no text, finish_reason stop",
    "no_usage": "the normal reply without a usage",
    "not_json": "200 with an HTML page",
    "unauthorized": "401",
    "forbidden": "403",
    "model_not_found": "404",
    "refused_parameter": "400 that names `parameter`; `code` unsupported_value or unsupported_parameter",
    "context_length": "400 context_length_exceeded",
    "bad_request": "400 without anything to drop",
}


@dataclass(frozen=True, slots=True)
class Fault:
    """One thing that goes wrong; ``values`` are what ``KINDS`` names in backquotes."""

    kind: str
    values: Mapping[str, Any] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)


def fault(kind: str, *, headers: Mapping[str, str] | None = None, **values: Any) -> Fault:
    """A fault by its name in ``KINDS``."""
    if kind not in KINDS:
        raise ValueError(f"unknown fault {kind!r}; there are: {', '.join(KINDS)}")
    return Fault(kind, values, headers or {})


@dataclass(slots=True)
class Rule:
    """When a fault happens. All conditions must hold; ``times`` counts down and then the rule is silent."""

    fault: Fault
    probability: float = 1.0
    """Drawn from seed, rule, body and attempt number, so it does not depend on the order of the requests."""
    model: str | None = None
    contains: str | None = None
    """A part of the prompt."""
    path: str | None = None
    times: int | None = None
    first_attempts: int | None = None
    """Only the first N requests with the same body."""

    def meets(self, path: str, model: str, prompt: str, draw: float, attempt: int) -> bool:
        if self.times == 0 or (self.model is not None and self.model != model):
            return False
        if (self.contains is not None and self.contains not in prompt) or draw >= self.probability:
            return False
        if self.first_attempts is not None and attempt >= self.first_attempts:
            return False
        return self.path is None or path.endswith(self.path)


def draw(seed: int, rule: int, body_hash: str, attempt: int) -> float:
    """A number in [0, 1) that depends on nothing but these."""
    digest = hashlib.sha256(f"{seed}/{rule}/{body_hash}/{attempt}".encode()).digest()
    return int.from_bytes(digest[:7]) / (1 << 56)


def error(status: int, message: str, code: str | None, parameter: str | None = None) -> tuple[int, dict[str, Any]]:
    kind = {401: "invalid_request_error", 429: "requests", 500: "server_error"}.get(status, "invalid_request_error")
    return status, {"error": {"message": message, "type": kind, "param": parameter, "code": code}}


def http_answer(fault: Fault, model: str) -> tuple[int, dict[str, Any], dict[str, str]] | None:
    """(status, body, headers) of a fault that is an HTTP error; ``None`` for the other kinds."""
    values, headers = fault.values, dict(fault.headers)
    match fault.kind:
        case "rate_limited":
            if "retry_after" in values:
                headers["Retry-After"] = str(values["retry_after"])
            if "retry_after_ms" in values:
                headers["Retry-After-Ms"] = str(values["retry_after_ms"])
            if "retry_date_s" in values:
                moment = datetime.now(UTC) + timedelta(seconds=values["retry_date_s"])
                headers["Retry-After"] = format_datetime(moment, usegmt=True)
            status, body = error(429, f"Rate limit reached for {model}.", "rate_limit_exceeded")
        case "insufficient_quota":
            status, body = error(429, "You exceeded your current quota, please check your plan.", "insufficient_quota")
            body["error"]["type"] = "insufficient_quota"
        case "server_error":
            status, body = error(values.get("status", 500), "The server had an error.", None)
        case "content_filter_400":
            status, body = error(400, "The response was filtered by our content policy.", "content_filter", "prompt")
        case "unauthorized":
            status, body = error(401, "Incorrect API key provided: sk-fa***.", "invalid_api_key")
        case "forbidden":
            status, body = error(403, f"Project does not have access to model `{model}`.", None)
        case "model_not_found":
            message = f"The model `{model}` does not exist or you do not have access to it."
            status, body = error(404, message, "model_not_found")
        case "refused_parameter":
            name, code = values["parameter"], values.get("code", "unsupported_value")
            message = f"Unsupported {code.removeprefix('unsupported_')}: '{name}' is not supported with this model."
            if name == "max_tokens":
                message += " Use 'max_completion_tokens' instead."
            status, body = error(400, message, code, name)
        case "context_length":
            message = "This model's maximum context length is 128000 tokens."
            status, body = error(400, message, "context_length_exceeded", "messages")
        case "bad_request":
            status, body = error(400, values.get("message", "Invalid request."), None)
        case _:
            return None
    return status, body, headers
