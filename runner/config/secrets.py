"""Keeps keys and passwords out of configurations: finds what looks like one, and never prints it."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from runner.config.environment import strings
from runner.errors import Problem

_SHAPES = re.compile(
    r"(?<![A-Za-z0-9])(?:"
    r"sk-[A-Za-z0-9_\-]{8,}"  # OpenAI, Anthropic, OpenRouter, ...
    r"|gsk_[A-Za-z0-9]{16,}|xai-[A-Za-z0-9]{16,}|r8_[A-Za-z0-9]{16,}|pplx-[A-Za-z0-9]{16,}|nvapi-[A-Za-z0-9_\-]{16,}"
    r"|hf_[A-Za-z0-9]{16,}|gh[pousr]_[A-Za-z0-9]{16,}|github_pat_[A-Za-z0-9_]{16,}|xox[abprs]-[A-Za-z0-9\-]{10,}"
    r"|AKIA[A-Z0-9]{12,}|AIza[A-Za-z0-9_\-]{20,}|eyJ[A-Za-z0-9_\-]{8,}\.[A-Za-z0-9_\-]{8,}"
    r"|[Bb]earer\s+[A-Za-z0-9._\-]{12,}"
    r")"
)
_SECRET_KEY = re.compile(r"(^|[._])(api_?key|secret|password|passwd|access_token|auth_token)$", re.IGNORECASE)
_USER_INFO = re.compile(r"(?P<scheme>[A-Za-z][A-Za-z0-9+.\-]*://)(?P<user>[^/@:\s]*):(?P<password>[^/@\s]+)@")
_VARIABLE_NAME = re.compile(r"^[A-Za-z_][A-Za-z0-9_]*$")
_KEY_VARIABLE = re.compile(r"(API_?KEY|SECRET|PASSWORD|TOKEN)", re.IGNORECASE)
_MAY_HOLD_PASSWORD = ("calls.ledger", "tracking.uri")
_REMEDY = "set an environment variable (or a line in .env) and write its name as api_key_env"


def looks_secret(text: str) -> bool:
    """Whether the text holds something in the shape of an API key, a token or a password in a URL."""
    return bool(_SHAPES.search(text) or _USER_INFO.search(text))


def in_overrides(overrides: Sequence[str]) -> list[Problem]:
    """Overrides that hold a secret: Hydra would write them into its folders, and the shell into its history."""
    found = []
    for override in overrides:
        key, _, value = override.partition("=")
        key = key.lstrip("+~-")
        named = bool(_SECRET_KEY.search(key)) and value not in ("", "null") and "${oc.env:" not in value
        if named or _is_key_value(key, value) or looks_secret(override):
            where = key if not looks_secret(key) else "command line"
            found.append(Problem(where, "the value looks like a secret and is not taken from here", _REMEDY))
    return found


def in_values(values: Mapping[str, Any], decided_by_environment: Iterable[str] = ()) -> list[Problem]:
    """Resolved values (nested) that hold a secret. ``decided_by_environment``: keys that come from a variable."""
    known = {value for name, value in os.environ.items() if _KEY_VARIABLE.search(name) and _could_be_key(value)}
    from_environment = set(decided_by_environment)
    found = []
    for key, text in strings(values):
        if key.endswith("api_key_env"):
            if text and not _VARIABLE_NAME.match(text):
                found.append(Problem(key, "must be the name of an environment variable, not a key", _REMEDY))
        elif key in _MAY_HOLD_PASSWORD:
            if _SHAPES.search(text) or (_USER_INFO.search(text) and key not in from_environment):
                found.append(Problem(key, "holds a password", "write ${oc.env:NAME} and set that variable"))
        elif looks_secret(text) or any(value in text for value in known):
            found.append(Problem(key, "the value looks like a secret", _REMEDY))
    return found


def masked(text: str) -> str:
    """The text with every password of a URL and everything key-shaped replaced by ``***``."""
    text = _USER_INFO.sub(lambda match: f"{match['scheme']}{match['user']}:***@", text)
    return _SHAPES.sub("***", text)


def masked_yaml(container: Mapping[Any, Any]) -> str:
    """The resolved configuration as YAML, without secrets."""
    import yaml

    dumper: Any = getattr(yaml, "CSafeDumper", yaml.SafeDumper)
    return masked(yaml.dump(dict(container), Dumper=dumper, sort_keys=False, allow_unicode=True, width=120))


def _could_be_key(value: str) -> bool:
    """Long enough, and neither a path nor several words: ``HF_TOKEN_PATH`` holds no secret."""
    return len(value) >= 10 and not re.search(r"[/\\\s]", value)


def _is_key_value(key: str, value: str) -> bool:
    """``api_key_env`` wants a name; anything else there is most likely the key itself."""
    plain = value.strip("'\"")
    is_name = bool(_VARIABLE_NAME.match(plain)) or plain.startswith("${")
    return key.endswith("api_key_env") and plain not in ("", "null") and not is_name
