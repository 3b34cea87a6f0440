"""The bytes that an application sends as a text, and that text as JSON: what is neither is refused with a sentence."""

from __future__ import annotations

import json
from typing import Any

from runner.generation.returned import Unusable
from runner.records import Reason

_SHOWN = 300
"""Characters of a reply that a message shows."""
_UTF_8 = "utf-8-sig"
"""UTF-8 with or without the mark that some programs put before it."""


def decoded(body: bytes, charset: str | None = None) -> str:
    """The text of a reply, as UTF-8 where it names no other charset. Raises Unusable (malformed) where it is not."""
    encoding = _UTF_8 if charset is None or charset.strip().lower().replace("_", "-") in ("utf-8", "utf8") else charset
    try:
        return _as(body, encoding)
    except ValueError as error:
        place = getattr(error, "start", 0)
        found = f"byte 0x{body[place]:02x} at place {place}" if place < len(body) else "it ends too early"
        said = f"answered with something that is not {'UTF-8' if encoding == _UTF_8 else encoding} text ({found})"
        raise Unusable(Reason.MALFORMED, said) from None


def _as(body: bytes, encoding: str) -> str:
    try:
        return body.decode(encoding)
    except LookupError:
        # Nobody knows this charset.
        return body.decode(_UTF_8)


def parsed(text: str) -> Any:
    """The JSON of a reply. Raises Unusable (malformed) where it is none, or deeper than any answer is."""
    try:
        return json.loads(text)
    except RecursionError:
        raise Unusable(Reason.MALFORMED, f"answered with JSON that is nested too deeply: {text[:40]}...") from None
    except ValueError:
        raise Unusable(Reason.MALFORMED, f"answered with something that is not JSON: {text[:_SHOWN]}") from None
