"""Keeps keys and passwords out of configurations: finds what looks like one, and never prints it."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from runner.config.environment import strings
from runner.config.secret_names import names_secret
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
_USER_INFO = re.compile(r"(?P<scheme>[A-Za-z][A-Za-z0-9+.\-]*://)(?P<user>[^/@:\s]*):(?P<password>[^/@\s]+)@")
_VARIABLE_NAME = re.compile(r"^[A-Za-z_][A-Za-z0-9_]*$")
_KEY_VARIABLE = re.compile(r"(API_?KEY|SECRET|PASSWORD|TOKEN)", re.IGNORECASE)
_MAY_HOLD_PASSWORD = ("calls.ledger", "tracking.uri")
_REMEDY = "set an environment variable (or a line in .env) and write its name as api_key_env"
_REMEDY_BY_NAME = (
    "set an environment variable (or a line in .env): api_key_env and generator.headers_env take its name, and an "
    "application of yours reads it itself"
)
_OWN_FIELDS = ("knowledge_base.documents", "retriever.filter", "generator.headers_env")
"""Below these the names are those of the user's documents, or of headers whose values are names of variables."""
_INSIDE = re.compile(r"[{,]\s*['\"]?(?P<name>[^\s'\"{}\[\],:]+)['\"]?\s*:\s*(?P<value>'[^']*'|\"[^\"]*\"|[^,{}\[\]]*)")
"""A pair of a mapping that stands on the command line."""
_IN_ADDRESS = re.compile(r"(?P<before>[?&](?P<name>[^=&#\s?]+)=)(?P<value>[^&#\s]+)")
_OPTION = re.compile(r"^--?(?P<name>[A-Za-z][A-Za-z0-9_.\-]*)(?:[=:](?P<value>.*))?$", re.DOTALL)
_NO_SECRET = frozenset({"", "null", "none", "true", "false", "yes", "no", "on", "off", "***", "???"})


def looks_secret(text: str) -> bool:
    """Whether the text holds something in the shape of an API key, a token or a password in a URL."""
    return bool(_SHAPES.search(text) or _USER_INFO.search(text))


def in_overrides(overrides: Sequence[str]) -> list[Problem]:
    """Overrides that hold a secret: Hydra would write them into its folders, and the shell into its history."""
    found = []
    for override in overrides:
        key, _, value = override.partition("=")
        key = key.lstrip("+~-")
        named = _named(key, value) or _named_inside(key, value)
        if named or _is_key_value(key, value) or _in_address(value) or looks_secret(override):
            where = key if not looks_secret(key) else "command line"
            remedy = _REMEDY_BY_NAME if named and not key.endswith("api_key") else _REMEDY
            found.append(Problem(where, "the value looks like a secret and is not taken from here", remedy))
    return found


def in_values(values: Mapping[str, Any], decided_by_environment: Iterable[str] = ()) -> list[Problem]:
    """Resolved values (nested) that hold a secret. ``decided_by_environment``: keys that come from a variable."""
    known = {value for name, value in os.environ.items() if _KEY_VARIABLE.search(name) and _could_be_key(value)}
    from_environment = set(decided_by_environment)
    found = []
    for key, text in _leaves(values):
        if key.endswith("api_key_env"):
            if text and not _VARIABLE_NAME.match(text):
                found.append(Problem(key, "must be the name of an environment variable, not a key", _REMEDY))
        elif key.startswith("generator.headers_env."):
            if not _is_variable(text):
                found.append(Problem(key, "must be the name of an environment variable, not what it holds"))
        elif key in _MAY_HOLD_PASSWORD:
            holds_password = _USER_INFO.search(text) or _in_address(text)
            if _SHAPES.search(text) or (holds_password and key not in from_environment):
                found.append(Problem(key, "holds a password", "write ${oc.env:NAME} and set that variable"))
        elif _named(key, text) or _in_address(text):
            found.append(Problem(key, "the value looks like a secret", _REMEDY_BY_NAME))
        elif looks_secret(text) or any(value in text for value in known):
            found.append(Problem(key, "the value looks like a secret", _REMEDY))
    found.extend(_in_command(values))
    return found


def _leaves(values: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Every text, and every whole number: a password may be one."""
    yield from strings(values)
    for key, number in _whole_numbers(values, ""):
        yield key, str(number)


def _whole_numbers(node: Any, prefix: str) -> Iterator[tuple[str, int]]:
    if isinstance(node, Mapping):
        for key, value in node.items():
            yield from _whole_numbers(value, f"{prefix}.{key}" if prefix else str(key))
    elif isinstance(node, list | tuple):
        for place, value in enumerate(node):
            yield from _whole_numbers(value, f"{prefix}[{place}]")
    elif isinstance(node, int) and not isinstance(node, bool):
        yield prefix, node


def _named(key: str, value: str) -> bool:
    """Whether the key's last part says that its value is a secret, and there is one.

    What is an interpolation yet is judged when it is resolved.
    """
    if key.startswith(_OWN_FIELDS) or value.strip("'\" ").lower() in _NO_SECRET or "${" in value:
        return False
    name = re.sub(r"\[\d+\]$", "", key).rpartition(".")[2]
    if value.strip().isdecimal() and name.lower().endswith("token"):
        return False  # which one, or how many
    return names_secret(name)


def _named_inside(key: str, value: str) -> bool:
    """The same for the pairs of a mapping, also in a list."""
    if not value.lstrip().startswith(("{", "[")):
        return False
    return any(_named(f"{key}.{pair['name']}", pair["value"]) for pair in _INSIDE.finditer(value))


def _masked_pair(match: re.Match[str]) -> str:
    return f"{match['before']}***" if names_secret(match["name"]) else match[0]


def _in_address(text: str) -> bool:
    """``http://host/path?api_key=...``."""
    if "://" not in text:
        return False
    return any(names_secret(pair["name"]) and "${" not in pair["value"] for pair in _IN_ADDRESS.finditer(text))


def _in_command(values: Mapping[str, Any]) -> Iterator[Problem]:
    """``[my_program, --token, hunter2]``: other users of the machine see it too."""
    words = (values.get("generator") or {}).get("command") or []
    for place, word in enumerate(words):
        option = _OPTION.match(word)
        if option is None or not names_secret(option["name"]):
            continue
        value = option["value"] if option["value"] is not None else next(iter(words[place + 1 :]), "")
        if value.lower() not in _NO_SECRET and not value.startswith("-"):
            yield Problem(f"generator.command[{place}]", "the value looks like a secret", _REMEDY_BY_NAME)


def _is_variable(name: str) -> bool:
    """A variable that is set, or that is called as variables are."""
    return bool(_VARIABLE_NAME.match(name)) and (name in os.environ or name == name.upper())


def masked(text: str) -> str:
    """The text with every password of a URL and everything key-shaped replaced by ``***``."""
    text = _USER_INFO.sub(lambda match: f"{match['scheme']}{match['user']}:***@", text)
    text = _IN_ADDRESS.sub(_masked_pair, text)
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
