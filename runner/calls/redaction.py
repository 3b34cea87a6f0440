"""Keeps keys out of everything that is written or shown."""

from __future__ import annotations

import re
import threading

_KEY_LIKE = re.compile(r"\b(?:sk|pk|gsk|xai|hf)[-_][A-Za-z0-9_\-*]{6,}|Bearer\s+[^\s\"']+", re.IGNORECASE)
_HIDDEN = "***"
_SHORTEST = 6
"""A shorter "key" (such as ``none``) is a placeholder, and hiding it would spoil ordinary words."""


class Redactor:
    """Knows the keys in use and hides them. Safe from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._known: frozenset[str] = frozenset()
        self._known_bytes: frozenset[bytes] = frozenset()

    def learn(self, key: str) -> None:
        """A key that must never be seen."""
        if len(key) < _SHORTEST:
            return
        with self._lock:
            self._known |= {key}
            self._known_bytes |= {key.encode()}

    def text(self, text: str) -> str:
        """The text without known keys and without anything that looks like one."""
        for key in self._known:
            text = text.replace(key, _HIDDEN)
        return _KEY_LIKE.sub(_HIDDEN, text)

    def body(self, body: bytes) -> bytes:
        """The bytes without known keys; otherwise as they came, because they are replayed."""
        for key in self._known_bytes:
            if key in body:
                body = body.replace(key, _HIDDEN.encode())
        return body
