"""What an HTTP error answer means: which errors no waiting cures, which parameter is refused, what to tell people.

Everything that providers disagree about is here: error codes, shapes of the error object, sentences.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from runner.calls.outcomes import LONGEST_WAIT_S, Kind, Outcome, header, retry_after
from runner.records import Reason, http_reason

__all__ = ["Asked", "of_error", "parsed", "plain", "status_inside"]

_NO_QUOTA = frozenset(
    {"insufficient_quota", "billing_hard_limit_reached", "billing_not_active", "insufficient_balance"}
)
_NO_MODEL = frozenset({"model_not_found", "invalid_model", "deployment_not_found", "DeploymentNotFound"})
_FILTERED = frozenset({"content_filter", "content_policy_violation", "moderation_blocked"})
_REFUSES = frozenset({"unsupported_value", "unsupported_parameter", "unknown_parameter", "unrecognized_parameter"})
_REFUSES_TEXT = re.compile(
    r"not supported|unsupported|does not support|unrecognized|unknown (?:parameter|field|argument)|not permitted|"
    r"unavailable|not available|not allowed",
    re.IGNORECASE,
)
_TOO_LONG_TEXT = re.compile(r"context (?:length|size|window)", re.IGNORECASE)
_DROPPABLE = (
    "max_completion_tokens", "max_tokens", "top_logprobs", "logprobs", "temperature", "top_p", "response_format",
    "reasoning_effort", "encoding_format", "metadata", "store", "service_tier", "seed",
)  # fmt: skip
"""What a request can do without: the answer means the same, only less sure or less well shaped."""
_DROPPABLE_TEXT = re.compile(rf"\b({'|'.join(_DROPPABLE)})\b")
_SECRET = re.compile(r"\b(?:sk|pk|key|gsk|xai|hf)[-_][A-Za-z0-9_\-*]{6,}|Bearer\s+\S+", re.IGNORECASE)
_LONGEST_DETAIL = 300
_WORTH_A_RETRY = frozenset({408, 409, 425, 429})
_NOT_IMPLEMENTED = 501


@dataclass(frozen=True, slots=True)
class Asked:
    """Who was asked, for the sentences."""

    model: str = ""
    base_url: str = ""
    api_key_env: str | None = None

    @property
    def server(self) -> str:
        return self.base_url or "the provider"

    @property
    def named(self) -> str:
        return self.model or "the model"


@dataclass(frozen=True, slots=True)
class _Error:
    """The error object in one shape."""

    status: int
    code: str = ""
    kind: str = ""
    parameter: str = ""
    message: str = ""

    @property
    def reason(self) -> str:
        return http_reason(self.status)

    @property
    def codes(self) -> set[str]:
        return {self.code, self.kind}

    @property
    def said(self) -> str:
        """What the provider said, as the end of a sentence."""
        text = plain(self.message)
        return f": {text}" if text else ""


def parsed(body: bytes) -> Any:
    """The JSON of a body; ``None`` for anything else."""
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        return None


def plain(text: str) -> str:
    """Somebody else's text on one line, without keys, not too long."""
    text = _SECRET.sub("***", " ".join(text.split()))
    return text if len(text) <= _LONGEST_DETAIL else text[:_LONGEST_DETAIL] + "…"


def status_inside(told: Mapping[str, Any]) -> int | None:
    """The status of an error that came as a 200 (some gateways, and a failed ``response``); ``None``: a real reply."""
    failure = told.get("error")
    if not failure or told.get("choices") or told.get("data"):
        return None
    code = failure.get("code") if isinstance(failure, Mapping) else None
    if isinstance(code, int) and not isinstance(code, bool) and 400 <= code < 600:
        return code
    return {"server_error": 500, "rate_limit_exceeded": 429}.get(_text(code), 400)


def of_error(status: int, headers: Mapping[str, str], told: Any, body: bytes, asked: Asked) -> Outcome:
    """What to do after this error; ``told`` is the parsed body."""
    error = _error_of(status, told, body)
    return _incurable(error, asked) or _bad_request(error, asked) or _by_status(error, headers, asked)


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _error_of(status: int, told: Any, body: bytes) -> _Error:
    """The error object in any of the shapes that servers send."""
    inner = told.get("error", told) if isinstance(told, Mapping) else None
    if isinstance(inner, str):
        return _Error(status, message=inner)
    if not isinstance(inner, Mapping):
        page = body.lstrip()[:1] == b"<"
        return _Error(status, message="" if page else body[:_LONGEST_DETAIL].decode("utf-8", "replace"))
    message = _text(inner.get("message")) or _text(inner.get("detail"))
    return _Error(status, _text(inner.get("code")), _text(inner.get("type")), _text(inner.get("param")), message)


def _incurable(error: _Error, asked: Asked) -> Outcome | None:
    """Errors that the next call would meet as well: they end the job or the sweep."""
    status, sweep, job = error.status, Kind.STOP_SWEEP, Kind.STOP_JOB
    detail = ""
    kind = sweep
    if status == 402 or error.codes & _NO_QUOTA:
        code = f" {error.code}" if error.code else ""
        detail = (
            f"{asked.server} says that the quota or credit of this key is used up ({status}{code}): add credit or use "
            "another key, then give the same command again; what is paid is kept"
        )
    elif (status in (403, 404) and error.codes & _NO_MODEL) or (status == 404 and "model" in error.message.lower()):
        kind = job
        detail = f"{asked.server} does not have {asked.named} for this key ({status}): check the model's name"
    elif status == 404:
        kind = job
        detail = f"{asked.server} has nothing at this address (404): check endpoint.base_url (it usually ends in /v1)"
    elif status == 401:
        # The provider's own text repeats parts of the key, so it is not shown.
        where = f"the key in the environment variable {asked.api_key_env}" if asked.api_key_env else "calls without key"
        detail = f"{asked.server} refuses {where} (401): put a valid key there; what is paid is kept"
    elif status == 403:
        detail = f"{asked.server} forbids calls to {asked.named} (403){error.said}"
    return Outcome(kind, error.reason, detail) if detail else None


def _bad_request(error: _Error, asked: Asked) -> Outcome | None:
    """A 400 that says what is wrong with the request; ``None`` for one that does not."""
    if error.status not in (400, 422):
        return None
    if error.codes & _FILTERED:
        detail = f"the provider's content filter refused the prompt{error.said}"
        return Outcome(Kind.FAIL, Reason.CONTENT_FILTER, detail)
    parameter = _refused_parameter(error)
    if parameter:
        detail = f"{asked.named} refuses the parameter {parameter} ({error.status}){error.said}"
        return Outcome(Kind.DROP_PARAMETER, error.reason, detail, parameter=parameter)
    if error.code == "context_length_exceeded" or _TOO_LONG_TEXT.search(error.message):
        detail = f"the prompt is longer than {asked.named} takes ({error.status}){error.said}"
        return Outcome(Kind.FAIL, error.reason, detail)
    return None


def _refused_parameter(error: _Error) -> str:
    """The parameter that the server does not take, where we could do without it; else empty."""
    if error.code not in _REFUSES and not _REFUSES_TEXT.search(error.message):
        return ""
    if error.parameter.startswith("text.format"):
        return "text"
    if error.parameter:
        root = re.split(r"[.\[]", error.parameter)[0]
        return root if root in _DROPPABLE else ""
    # The first name in the sentence is the refused one; a later one is the advice ("use 'max_completion_tokens'").
    found = _DROPPABLE_TEXT.search(error.message)
    return found[1] if found else ""


def _by_status(error: _Error, headers: Mapping[str, str], asked: Asked) -> Outcome:
    """By the status and the server's own word on retrying."""
    status, wait, jam = error.status, retry_after(headers), error.status == 429
    word = (header(headers, "x-should-retry") or "").lower()
    worth = status in _WORTH_A_RETRY or (status >= 500 and status != _NOT_IMPLEMENTED)
    if word in ("true", "false"):
        worth = word == "true"
    what = f"the server answered {status}{error.said}"
    if jam:
        what = f"{asked.named} takes no more calls for now (429){error.said}"
    if worth and wait is not None and wait > LONGEST_WAIT_S:
        too_long = f"{what}; it asks to wait {wait:.0f} s, which is too long"
        return Outcome(Kind.FAIL, error.reason, too_long, slow_down=jam)
    kind = Kind.RETRY if worth else Kind.FAIL
    return Outcome(kind, error.reason, what, wait if worth else None, slow_down=jam)
