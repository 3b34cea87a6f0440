"""What comes from the environment: the ``.env`` file, and which configured values a variable decided."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from omegaconf import DictConfig

_VARIABLE = re.compile(r"\$\{oc\.env:\s*([A-Za-z_][A-Za-z0-9_]*)")


def load_dotenv_file() -> None:
    """Reads ``.env`` of the working directory, and no other; the environment wins over it."""
    path = Path.cwd() / ".env"
    if path.is_file():
        from dotenv import load_dotenv

        load_dotenv(path, override=False, encoding="utf-8-sig")


def origins(unresolved: DictConfig) -> Mapping[str, str]:
    """Dotted key → environment variable, for each value that a variable which is set has decided.

    A value that the command line or a file says differently is no interpolation any more and is left out.
    """
    found: dict[str, str] = {}
    for key, text in strings(unresolved):
        for name in _VARIABLE.findall(text):
            if name in os.environ:
                found[key] = name
    return found


def strings(node: object, prefix: str = "") -> Iterator[tuple[str, str]]:
    """(dotted key, text) of every text in a configuration node or a container, interpolations as they are written."""
    from omegaconf import OmegaConf

    container = OmegaConf.to_container(node, resolve=False) if OmegaConf.is_config(node) else node
    if isinstance(container, Mapping):
        for key, value in container.items():
            yield from strings(value, f"{prefix}.{key}" if prefix else str(key))
    elif isinstance(container, list | tuple):
        for position, value in enumerate(container):
            yield from strings(value, f"{prefix}[{position}]")
    elif isinstance(container, str):
        yield prefix, container
