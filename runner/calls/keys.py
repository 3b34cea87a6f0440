"""The ledger key: equal requests have equal keys, whoever asks; nothing but the order of dict entries is ignored."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

from runner.calls.bodies import body_as_meant, path_of
from runner.calls.requests import ChatRequest

_TAGS = "metadata"
"""The provider's tags: the one field of a body that says nothing to the model."""


def canonical_json(value: Any) -> bytes:
    """JSON with sorted keys and nothing that depends on the writer. Raises ``ValueError`` on NaN and infinity."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False).encode()


def call_key(
    identity: str, path: str, body: Mapping[str, Any], *, repeat: int = 0, reask: int = 0, occurrence: int = 0
) -> str:
    """The key of a request body as meant; ``identity`` is the base URL or what stands for it."""
    if _TAGS in body:
        body = {name: value for name, value in body.items() if name != _TAGS}
    meant: dict[str, Any] = {"server": identity, "path": path, "body": body, "repeat": repeat, "reask": reask}
    if occurrence:
        meant["occurrence"] = occurrence
    return hashlib.sha256(canonical_json(meant)).hexdigest()


def request_key(request: ChatRequest) -> str:
    """The ledger key of a chat request, 64 hexadecimal digits. Pure."""
    return call_key(
        request.endpoint.identity,
        path_of(request),
        body_as_meant(request),
        repeat=request.repeat,
        reask=request.reask,
    )
