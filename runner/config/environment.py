"""What comes from the environment: the ``.env`` file, and which configured values a variable decided."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from runner.errors import ConfigurationError, Problem

_VARIABLE = re.compile(r"\$\{oc\.env:\s*([A-Za-z_][A-Za-z0-9_]*)")


def load_dotenv_file() -> None:
    """Reads ``.env`` of the working directory, and no other; the environment wins over it."""
    path = Path.cwd() / ".env"
    if path.is_file():
        from dotenv import load_dotenv

        try:
            load_dotenv(path, override=False, encoding="utf-8-sig")
        except UnicodeDecodeError as error:
            raise ConfigurationError([Problem(str(path), "is not UTF-8 text", "save it as UTF-8")]) from error


def origins(unresolved: Mapping[Any, Any]) -> Mapping[str, str]:
    """Dotted key → environment variable, for each value that a variable which is set has decided.

    A value that the command line or a file says differently is no interpolation any more and is left out.
    """
    found: dict[str, str] = {}
    for key, text in strings(unresolved):
        for name in _VARIABLE.findall(text):
            if name in os.environ:
                found[key] = name
    return found


def strings(container: Any, prefix: str = "") -> Iterator[tuple[str, str]]:
    """(dotted key, text) of every text in nested mappings and lists."""
    if isinstance(container, Mapping):
        for key, value in container.items():
            yield from strings(value, f"{prefix}.{key}" if prefix else str(key))
    elif isinstance(container, list | tuple):
        for position, value in enumerate(container):
            yield from strings(value, f"{prefix}[{position}]")
    elif isinstance(container, str):
        yield prefix, container
