"""Names and values in the form that every MLflow store takes: cleaned, shortened, never changed in meaning."""

from __future__ import annotations

import hashlib
import json
import re
from datetime import UTC, datetime
from typing import Any

PARAM_VALUE_LIMIT = 500
"""Longer choices become artifacts: MLflow cuts at 6000 without a word, and the page is unreadable long before."""
PREVIEW_LIMIT = 1000
"""Width of the preview columns in MLflow's tables; PostgreSQL refuses longer ones."""
TAG_LIMIT = 4000
CLIENT_ID_LIMIT = 50
DIGEST_LIMIT = 36

_CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff]")
_NAME = re.compile(r"[^A-Za-z0-9_.:/ \-]")
_PROMPT_NAME = re.compile(r"[^A-Za-z0-9._\-]")


def clean(text: str) -> str:
    """Without control characters (escape codes, NUL) and lone surrogates, which stores refuse or terminals obey."""
    return _CONTROL.sub("\ufffd", text)


def shorten(text: str, limit: int) -> str:
    """At most ``limit`` characters, with an ellipsis where something was cut."""
    text = clean(text)
    return text if len(text) <= limit else text[: limit - 1] + "…"


def param_name(key: str) -> str:
    """A key as MLflow takes it: ``judge@judges.second`` becomes ``judge_judges.second``."""
    return re.sub(r"/{2,}|\.{2,}", "_", _NAME.sub("_", key)).strip("/")[:250]


def prompt_name(kind: str, identifier: str) -> str:
    """The name of a rubric or a prompt in the prompt registry, such as ``rubric.grounding``."""
    return f"{kind}.{_PROMPT_NAME.sub('_', identifier)}"


def value_text(value: Any) -> str:
    """A choice as it is shown: text as it is, everything else as JSON (``true``, ``null``, ``3``)."""
    if isinstance(value, str):
        return clean(value)
    return dumps(value)


def dumps(value: Any) -> str:
    """Compact JSON with readable non-ASCII text; what JSON does not know becomes its text."""
    return clean(json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=str))


def hex_id(length: int, *parts: str) -> str:
    """A hexadecimal id that is the same whenever the same thing is written, so that writing twice changes nothing."""
    return hashlib.sha256("\0".join(parts).encode("utf-8", "surrogatepass")).hexdigest()[:length]


def parse_time(text: str) -> float | None:
    """Seconds since 1970 of an ISO 8601 time; ``None`` where there is none."""
    if not text:
        return None
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
