"""What is wrong with an override by itself, before anything is composed; Hydra's own words do not say it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from runner.errors import Problem

if TYPE_CHECKING:
    from hydra.core.config_loader import ConfigLoader

_SWEEP_REMEDY = "add -m to sweep over the values, or write [a,b] for a list"


def sweep_without_flag(parsed: Sequence[Any]) -> list[Problem]:
    """Overrides that mean a sweep, where ``-m`` was not given."""
    return [
        Problem(str(override.input_line), "several values for one run", _SWEEP_REMEDY)
        for override in parsed
        if override.is_sweep_override()
    ]


def without_key(line: str) -> Problem | None:
    """What is wrong with an override that names nothing: ``=``, ``+=3``, ``retriever.=3``."""
    key, mark, _ = line.partition("=")
    name = key.lstrip("+~")
    if not name:
        shown_as = line if line.strip() else repr(line)
        return Problem(shown_as, f"there is no key{' before the =' if mark else ''}", "write key=value without blanks")
    if mark and re.fullmatch(r"[\w.]+", name) and "" in name.split("."):
        return Problem(line, f"{name} is no key: a part of it is empty", "write it as group.key=value")
    return None


def not_a_choice(override: Any, loader: ConfigLoader) -> Problem | None:
    """What is wrong with an override of a group whose value can be no option; Hydra's own words do not say it."""
    group = override.key_or_group
    if override.is_sweep_override() or override.is_delete() or group not in loader.list_groups(""):
        return None
    value, line = override.value(), str(override.input_line)
    if value is None:
        return Problem(line, f"null cannot be chosen on the command line; leave {group}= out")
    if isinstance(value, list) and any(not isinstance(option, str) for option in value):
        remedy = f"write a file conf/{group}/NAME.yaml and choose {group}=NAME"
        return Problem(line, f"{group} is a group: its value is the name of an option", remedy)
    return None
