"""Which file a value of the composed configuration comes from; looked up only when something is wrong with it."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

from runner.config.paths import shipped_conf
from runner.config.search_path import ConfigSource, config_loader
from runner.errors import Problem


def located(
    problems: Sequence[Problem], overrides: Sequence[str], source: ConfigSource, *, leave: Collection[str] = ()
) -> list[Problem]:
    """The problems, each with the file that says the value where it is neither on the command line nor a default.

    ``leave``: keys whose origin is said already.
    """
    if not problems:
        return []
    try:
        layers = _layers(overrides, source)
    except Exception:  # the composition has problems of its own, which are said elsewhere
        return list(problems)
    given = set(leave) | {override.partition("=")[0].lstrip("+") for override in overrides}
    return [
        problem if problem.where in given else dataclasses.replace(problem, where=_with_file(problem.where, layers))
        for problem in problems
    ]


def find_file(name: str, source: ConfigSource) -> Path | None:
    """The file of a configuration such as ``retriever/dense``: the first of the folders that has it."""
    candidates = (folder / f"{name}.yaml" for folder in source.all_folders())
    return next((file for file in candidates if file.is_file()), None)


def shown(path: Path) -> str:
    """The path as the user would write it: relative where it lies below the working directory."""
    try:
        return str(path.relative_to(Path.cwd()))
    except ValueError:
        return str(path)


def _layers(overrides: Sequence[str], source: ConfigSource) -> list[tuple[Path, str, Any]]:
    """(file, package, content) of everything that was merged, in the order of merging."""
    import yaml
    from hydra.types import RunMode

    with config_loader(source) as loader:
        defaults = loader.compute_defaults_list(source.primary, list(overrides), RunMode.RUN).defaults
    found = []
    for default in defaults:
        file = find_file(default.config_path, source) if default.config_path else None
        if file is not None and _may_be_edited(file) and not default.config_path.startswith("hydra/"):
            package = "" if default.package in (None, "_global_") else str(default.package)
            found.append((file, package, yaml.safe_load(file.read_text(encoding="utf-8"))))
    return found


def _may_be_edited(file: Path) -> bool:
    """The user's own files, and the shipped ones in a checkout; not those in the depths of an environment."""
    return file.is_relative_to(Path.cwd()) or not file.is_relative_to(shipped_conf())


def _with_file(key: str, layers: Sequence[tuple[Path, str, Any]]) -> str:
    path = re.sub(r"\[\d+\]", "", key).split(".")
    for file, package, content in reversed(layers):
        inside = package.split(".") if package else []
        if path[: len(inside)] == inside and _has(content, path[len(inside) :]):
            return f"{shown(file)}: {key}"
    return key


def _has(content: Any, path: Sequence[str]) -> bool:
    for part in path:
        if not isinstance(content, Mapping):
            return False
        keys = {str(key): key for key in content}
        if part not in keys:
            return False
        content = content[keys[part]]
    return True
