"""Decides from a name alone whether what it holds is a key, a password or a token, whatever its shape."""

from __future__ import annotations

import re

_WORDS = frozenset(
    {
        "password", "passwd", "passphrase", "passcode", "pwd", "secret", "authorization", "authorisation", "auth",
        "bearer", "cookie", "credential", "jwt",
    }
)  # fmt: skip
_KEY_OF = frozenset(
    {
        "api", "access", "secret", "private", "signing", "encryption", "subscription", "auth", "account", "functions",
        "service", "master", "ssh", "client", "license", "shared", "app",
    }
)  # fmt: skip
"""What may stand before ``key`` where it opens something; a sort key or a job key opens nothing."""
_TOKEN_OF = frozenset(
    {
        "max", "min", "stop", "eos", "bos", "pad", "unk", "sep", "cls", "mask", "first", "last", "next", "previous",
        "start", "end", "special", "per", "page", "continuation", "sync",
    }
)  # fmt: skip
"""What may stand before ``token`` where it is one of a text, or a place in a list."""
_JOINED = re.compile(
    r"(apikey|accesskey|secretkey|privatekey|subscriptionkey|password|passwd|secret|authorization|cookie"
    r"|(access|auth|session|refresh|bearer|id|api|csrf|xsrf)token)$"
)
"""Written as one word, as headers and JavaScript do."""
_AFTER = frozenset({"header", "value", "string", "text"})
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")


def names_secret(name: str) -> bool:
    """Whether a key, an option or a header of this name holds a secret: ``token``, ``X-Api-Key``, ``Authorization``.

    ``name`` is the last part of a dotted key. Names that say where a secret is (``api_key_env``, ``token_path``) and
    counts of tokens hold none.
    """
    words = [word for word in re.split(r"[^a-z0-9]+", _CAMEL.sub("_", name).lower()) if word]
    words = [word.rstrip("0123456789") for word in words]
    words = [word for word in words if word]
    while len(words) > 1 and words[-1] in _AFTER:
        words.pop()
    if not words:
        return False
    last, before = words[-1], words[-2] if len(words) > 1 else ""
    if last == "token":
        return before not in _TOKEN_OF
    # Plural of what opens something; tokens in the plural are those of a text.
    one = last.removesuffix("s")
    if one == "key":
        return before in _KEY_OF
    return last in _WORDS or one in _WORDS or bool(_JOINED.search(one)) or bool(_JOINED.search("".join(words)))
