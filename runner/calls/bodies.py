"""From a chat request to the request body: as it was meant (for the key), and as it goes out on the wire."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from runner.calls.requests import ChatRequest

CHAT_PATH = "/chat/completions"
RESPONSES_PATH = "/responses"
EMBEDDINGS_PATH = "/embeddings"

APIS: Mapping[str, str] = {CHAT_PATH: "chat", RESPONSES_PATH: "responses", EMBEDDINGS_PATH: "embeddings"}
"""Path → API."""

LIMIT_NAMES = ("max_completion_tokens", "max_tokens", "max_output_tokens")

_LOGPROBS_OF_RESPONSES = "message.output_text.logprobs"


def path_of(request: ChatRequest) -> str:
    """The path under the base URL."""
    return RESPONSES_PATH if request.endpoint.api == "responses" else CHAT_PATH


def body_as_meant(request: ChatRequest) -> dict[str, Any]:
    """The body in neutral form: the limit is ``max_tokens`` and nothing is left out for the model's sake."""
    body: dict[str, Any] = {"model": request.model}
    responses = request.endpoint.api == "responses"
    body["input" if responses else "messages"] = [dict(message) for message in request.messages]
    body["max_tokens"] = request.max_tokens
    if request.temperature is not None:
        body["temperature"] = request.temperature
    if request.seed is not None:
        body["seed"] = request.seed
    if request.schema is not None:
        strict = {"name": request.schema_name or "reply", "strict": True, "schema": request.schema}
        if responses:
            body["text"] = {"format": {"type": "json_schema", **strict}}
        else:
            body["response_format"] = {"type": "json_schema", "json_schema": strict}
    if request.top_logprobs is not None:
        body["top_logprobs"] = request.top_logprobs
        if responses:
            body["include"] = [_LOGPROBS_OF_RESPONSES]
        else:
            body["logprobs"] = True
    return body


def body_for_wire(meant: Mapping[str, Any], *, limit: int, metadata: Mapping[str, str], path: str) -> dict[str, Any]:
    """The body for this API: with the limit of this attempt and the provider's tags. What the model refuses is
    left out after this, by ``Capabilities``."""
    body = dict(meant)
    if path == RESPONSES_PATH:
        body.pop("max_tokens", None)
        body.pop("seed", None)  # the Responses API has none
        body["max_output_tokens"] = limit
    else:
        body["max_tokens"] = limit
    if metadata:
        body["metadata"] = dict(metadata)
        body["store"] = True  # OpenAI shows the tags of stored replies only
    return body


def output_limit(body: Mapping[str, Any]) -> int | None:
    """The output limit that a body names, over all its ``n`` choices; ``None`` where it names none."""
    for name in LIMIT_NAMES:
        limit = body.get(name)
        if isinstance(limit, int) and not isinstance(limit, bool) and limit > 0:
            choices = body.get("n")
            return limit * choices if isinstance(choices, int) and choices > 1 else limit
    return None
