"""Turns what Hydra and OmegaConf raise into problems: which file or override, which key, what to write instead."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from runner.config import schema
from runner.config.paths import GROUPS
from runner.config.secrets import masked
from runner.config.spelling import did_you_mean
from runner.config.structure import field_types, group_type, plain_message, unfit
from runner.errors import Problem

if TYPE_CHECKING:
    from hydra.core.config_loader import ConfigLoader

    from runner.config.search_path import ConfigSource

_MISSING_OPTION = re.compile(r"(?:In '(?P<file>[^']+)': )?Could not (?:find|load) '(?P<path>[^']+)'")
_NOT_OVERRIDDEN = re.compile(r"(?:In '(?P<file>[^']+)': )?Could not override '(?P<key>[^']+)'")
_NOT_MERGED = re.compile(r"Error merging override (?P<line>.+)", re.DOTALL)
_IN_FILE = re.compile(r"In '(?P<file>[^']+)': ")
_NOT_DELETED = re.compile(r"Could not delete '(?P<key>[^']+)'")
_TWICE = re.compile(r"Multiple values for (?P<key>[^ ]+)\. ")
_SWEEP_REMEDY = "add -m to sweep over the values, or write [a,b] for a list"


@dataclass(frozen=True, slots=True)
class Explanation:
    """What one error of a composition means."""

    problems: tuple[Problem, ...]
    culprit: str | None = None
    """The override without which the composition may go on."""


def sweep_without_flag(parsed: Sequence[Any]) -> list[Problem]:
    """Overrides that mean a sweep, where ``-m`` was not given."""
    return [
        Problem(str(override.input_line), "several values for one run", _SWEEP_REMEDY)
        for override in parsed
        if override.is_sweep_override()
    ]


def explain(
    error: Exception, overrides: Sequence[str], loader: ConfigLoader | None, source: ConfigSource | None
) -> Explanation:
    """The problems behind an error of composing these overrides, each with the file or override and the key."""
    found = _explain(error, overrides, loader, source)
    problems = tuple(
        Problem(masked(problem.where), masked(problem.what), masked(problem.remedy)) for problem in found.problems
    )
    return Explanation(problems, found.culprit)


def _explain(
    error: Exception, overrides: Sequence[str], loader: ConfigLoader | None, source: ConfigSource | None
) -> Explanation:
    text = str(error)
    if type(error).__name__ == "OverrideParseException":
        return _unreadable(error, overrides)
    if match := _MISSING_OPTION.match(text):
        return _missing_option(match["path"], match["file"], overrides, loader)
    if match := _NOT_OVERRIDDEN.match(text):
        return _unknown_key(match["key"], match["file"], text, overrides, loader)
    if match := _NOT_MERGED.match(text):
        line = match["line"]
        cause = error.__cause__ or error.__context__
        what = plain_message(cause) if cause else "cannot be set"
        return Explanation((Problem(line, what),), line)
    if match := _NOT_DELETED.match(text):
        culprit = next((line for line in overrides if line.startswith("~")), None)
        remedy = "write the list that you want, such as judge=[grounding]" if "judge" in match["key"] else ""
        return Explanation((Problem(f"~{match['key']}", "there is nothing of that name to leave out", remedy),), culprit)
    if match := _TWICE.match(text):
        key = match["key"]
        culprit = _override_of(f"+{key}", overrides)
        return Explanation((Problem(culprit or key, f"{key} is chosen already", f"write {key}=... without +"),), culprit)
    if match := _IN_FILE.match(text):
        return _bad_file(match["file"], error, overrides, source)
    if marked := getattr(error, "problem_mark", None):
        return _broken_yaml(error, marked, overrides)
    return Explanation((_of_omegaconf(error),), None)


def _unreadable(error: Exception, overrides: Sequence[str]) -> Explanation:
    line = next((line for line in overrides if _cannot_be_parsed(line)), "command line")
    if "=" not in line and not line.startswith("~"):
        return Explanation((Problem(line, "this is neither a verb nor key=value"),), line)
    reason = str(error).partition("\nSee ")[0].splitlines()[-1]
    remedy = "put the value in quotes twice, such as 'key=\"a, b\"'"
    return Explanation((Problem(line, f"cannot be read ({reason})", remedy),), line)


def _cannot_be_parsed(line: str) -> bool:
    from hydra.core.override_parser.overrides_parser import OverridesParser
    from hydra.errors import HydraException

    try:
        OverridesParser.create().parse_overrides([line])
    except HydraException:
        return True
    return False


def _missing_option(
    path: str, file: str | None, overrides: Sequence[str], loader: ConfigLoader | None
) -> Explanation:
    group, _, option = path.rpartition("/")
    known = loader.get_group_options(group) if loader is not None and group else []
    culprit = next(
        (line for line in overrides if _group_of(line) == group and option in re.split(r"[=,\[\]\s'\"]+", line)), None
    )
    where = culprit or (f"{file}.yaml" if file else path)
    what = f"there is no {option} in {group}" if group else f"there is no configuration {option}"
    return Explanation((Problem(where, what, did_you_mean(option, known)),), culprit)


def _group_of(line: str) -> str:
    return line.partition("=")[0].lstrip("+~").partition("@")[0]


def _override_of(key: str, overrides: Sequence[str]) -> str | None:
    return next((line for line in overrides if line.partition("=")[0] == key), None)


def _unknown_key(
    key: str, file: str | None, text: str, overrides: Sequence[str], loader: ConfigLoader | None
) -> Explanation:
    culprit = None if file else _override_of(key, overrides)
    where = culprit or (f"{file}.yaml: {key}" if file else key)
    meant = re.search(r"Did you mean to override (?:one of )?(?P<keys>[^\n]+)\?", text)
    if meant:
        return Explanation((Problem(where, f"{key} alone names nothing", f"write one of {meant['keys']}"),), culprit)
    known: Sequence[str] = [*field_types(schema.Config), *GROUPS]
    owner: Any = schema.Config
    *parents, last = key.split(".")
    reached: list[str] = []
    for part in parents:
        types = field_types(owner)
        if part not in types:
            last = part
            break
        owner = types[part]
        reached.append(part)
        inside = getattr(owner, "__args__", ())
        if reached[-1] in ("judges", "panels") and inside:
            entry = parents[len(reached)] if len(parents) > len(reached) else last
            options = loader.get_group_options("judge") if loader is not None and part == "judges" else []
            what = f"there is no {entry} among the {part}"
            return Explanation((Problem(where, what, did_you_mean(entry, options)),), culprit)
        if not hasattr(owner, "__dataclass_fields__"):
            return Explanation((Problem(where, f"{'.'.join(reached)} has no keys"),), culprit)
    if reached:
        known = list(field_types(owner))
    what = f"there is no key {last} in {'.'.join(reached)}" if reached else f"there is no key or group {last}"
    return Explanation((Problem(where, what, did_you_mean(last, known)),), culprit)


def _bad_file(
    name: str, error: Exception, overrides: Sequence[str], source: ConfigSource | None
) -> Explanation:
    group, _, option = name.rpartition("/")
    culprit = next(
        (line for line in overrides if _group_of(line) == group and option in re.split(r"[=,\[\]\s'\"]+", line)), None
    )
    path = _file(name, source)
    shown = _shown(path) if path else f"{name}.yaml"
    if path is not None:
        problems = tuple(Problem(f"{shown}: {p.where}", p.what, p.remedy) for p in _all_in_file(path, group))
        if problems:
            return Explanation(problems, culprit)
    cause = error.__cause__ or error.__context__
    text = str(error).partition(": ")[2] if cause is None else plain_message(cause)
    key = getattr(cause, "full_key", "") or ""
    return Explanation((Problem(f"{shown}: {key}" if key else shown, text.replace("\n", " ")),), culprit)


def _file(name: str, source: ConfigSource | None) -> Path | None:
    folders = source.all_folders() if source is not None else ()
    return next((folder / f"{name}.yaml" for folder in folders if (folder / f"{name}.yaml").is_file()), None)


def _shown(path: Path) -> str:
    try:
        return str(path.relative_to(Path.cwd()))
    except ValueError:
        return str(path)


def _all_in_file(path: Path, group: str) -> Iterator[Problem]:
    """Everything in one configuration file that does not fit the schema."""
    import yaml

    text = path.read_text(encoding="utf-8")
    content = yaml.safe_load(text)
    if not isinstance(content, Mapping):
        return
    header = re.search(r"^#\s*@package\s+(\S+)", text, re.MULTILINE)
    package = header[1] if header else group.replace("/", ".")
    owner: Any = group_type(group) if not header else None
    values = {key: value for key, value in content.items() if key not in ("defaults", "hydra")}
    if owner is None:
        owner = schema.Config
        for part in reversed([] if package == "_global_" else package.split(".")):
            values = {part: values}
        yield from unfit(values, owner)
    else:
        yield from unfit(values, owner, group)


def _broken_yaml(error: Exception, mark: Any, overrides: Sequence[str]) -> Explanation:
    path = Path(mark.name)
    culprit = next(
        (line for line in overrides if _group_of(line) == path.parent.name and path.stem in line.partition("=")[2]), None
    )
    what = f"is not YAML: {getattr(error, 'problem', '') or 'cannot be read'}"
    return Explanation((Problem(f"{_shown(path)} line {mark.line + 1}", what),), culprit)


def _of_omegaconf(error: Exception) -> Problem:
    key = getattr(error, "full_key", None) or ""
    return Problem(str(key) or "configuration", plain_message(error))


def with_origin(problem: Problem, decided: Mapping[str, str]) -> Problem:
    """The problem, with the environment variable that its key got the value from."""
    name = decided.get(problem.where)
    if name is None:
        return problem
    return Problem(problem.where, f"{problem.what} (from the environment variable {name})", problem.remedy)
