"""Turns what Hydra and OmegaConf raise into problems: which file or override, which key, what to write instead."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from runner.config import schema
from runner.config.paths import GROUPS
from runner.config.provenance import find_file, shown
from runner.config.references import is_unreadable, unreadable, unreadable_in_files
from runner.config.secrets import masked
from runner.config.spelling import did_you_mean
from runner.config.structure import field_types, group_type, plain_message, unfit
from runner.errors import Problem

if TYPE_CHECKING:
    from hydra.core.config_loader import ConfigLoader

    from runner.config.search_path import ConfigSource

_QUOTES_REMEDY = "put the value in quotes twice, such as 'key=\"a, b\"'"


@dataclass(frozen=True, slots=True)
class Explanation:
    """What one error of a composition means."""

    problems: tuple[Problem, ...]
    culprit: str | None = None
    """The override without which the composition may go on."""


@dataclass(frozen=True, slots=True)
class _Failure:
    """A composition that did not succeed."""

    error: Exception
    overrides: Sequence[str]
    loader: ConfigLoader
    source: ConfigSource

    @property
    def cause(self) -> BaseException | None:
        return self.error.__cause__ or self.error.__context__

    def override_of(self, key: str) -> str | None:
        """The override whose key this is."""
        return next((line for line in self.overrides if line.partition("=")[0] == key), None)

    def override_choosing(self, group: str, option: str) -> str | None:
        """The override that chooses this option of the group."""
        for line in self.overrides:
            words = re.split(r"[=,\[\]\s'\"]+", line)
            if _group_of(line) == group and option in words[1:]:
                return line
        return None


def explain(error: Exception, overrides: Sequence[str], loader: ConfigLoader, source: ConfigSource) -> Explanation:
    """The problems behind an error of composing these overrides, each with the file or override and the key."""
    found = _explain(_Failure(error, overrides, loader, source))
    problems = (Problem(masked(said.where), masked(said.what), masked(said.remedy)) for said in found.problems)
    return Explanation(tuple(problems), found.culprit)


def with_origin(problem: Problem, decided: Mapping[str, str]) -> Problem:
    """The problem, with the environment variable that its key got the value from."""
    name = decided.get(problem.where)
    if name is None:
        return problem
    return dataclasses.replace(problem, what=f"{problem.what} (from the environment variable {name})")


def _explain(failure: _Failure) -> Explanation:
    if type(failure.error).__name__ == "OverrideParseException":
        return _unreadable(failure)
    for pattern, explain_match in _MESSAGES:
        if match := pattern.match(str(failure.error)):
            return explain_match(failure, match)
    if getattr(failure.error, "problem_mark", None):
        return _broken_yaml(failure)
    if isinstance(failure.error, UnicodeDecodeError):
        return Explanation(tuple(Problem(shown(file), "is not UTF-8 text") for file in _not_utf8(failure.source)))
    if is_unreadable(failure.cause or failure.error) and (found := _unreadable_references(failure)):
        return found
    key = str(getattr(failure.error, "full_key", None) or "configuration")
    return Explanation((Problem(key, plain_message(failure.error)),))


def _unreadable(failure: _Failure) -> Explanation:
    line = next((line for line in failure.overrides if _cannot_be_parsed(line)), "command line")
    if "=" not in line and not line.startswith("~"):
        return Explanation((Problem(line, "this is neither a verb nor key=value"),), line)
    reason = str(failure.error).partition("\nSee ")[0].splitlines()[-1]
    return Explanation((Problem(line, f"cannot be read ({reason})", _QUOTES_REMEDY),), line)


def _unreadable_references(failure: _Failure) -> Explanation | None:
    """In the files that the overrides choose; where those hold none, in any file."""
    found = [
        (failure.override_choosing(file.parent.name, file.stem), problem)
        for file, problem in unreadable_in_files(failure.source)
    ]
    chosen = [(culprit, problem) for culprit, problem in found if culprit is not None] or found
    if not chosen:
        return None
    culprit = chosen[0][0]
    return Explanation(tuple(problem for override, problem in chosen if override == culprit), culprit)


def _cannot_be_parsed(line: str) -> bool:
    from hydra.core.override_parser.overrides_parser import OverridesParser
    from hydra.errors import HydraException

    try:
        OverridesParser.create().parse_overrides([line])
    except HydraException:
        return True
    return False


def _missing_option(failure: _Failure, match: re.Match[str]) -> Explanation:
    group, _, option = match["path"].rpartition("/")
    known = failure.loader.get_group_options(group) if group else []
    culprit = failure.override_choosing(group, option)
    where = culprit or _choosing_file(failure, option, match["file"] or match["path"])
    what = f"there is no {option} in {group}" if group else f"there is no configuration {option}"
    return Explanation((Problem(where, what, did_you_mean(option, known)),), culprit)


def _choosing_file(failure: _Failure, option: str, reported: str) -> str:
    """The file that chooses the option: Hydra names the primary one also where an experiment has overridden it."""
    chosen = [line.lstrip("+").replace("=", "/", 1) for line in failure.overrides if "." not in line.partition("=")[0]]
    for name in (*chosen, reported):
        file = find_file(name, failure.source)
        if file is not None and re.search(rf"\b{re.escape(option)}\b", file.read_text(encoding="utf-8")):
            return shown(file)
    return f"{reported}.yaml"


def _not_overridden(failure: _Failure, match: re.Match[str]) -> Explanation:
    key, file = match["key"], match["file"]
    culprit = None if file else failure.override_of(key)
    where = culprit or (f"{file}.yaml: {key}" if file else key)
    meant = re.search(r"Did you mean to override (?:one of )?(?P<keys>[^\n]+)\?", str(failure.error))
    if meant:
        return Explanation((Problem(where, f"{key} alone names nothing", f"write one of {meant['keys']}"),), culprit)
    return Explanation((_unknown_key(failure, where, key),), culprit)


def _unknown_key(failure: _Failure, where: str, key: str) -> Problem:
    """Walks the key down the schema to the first part that is not there."""
    owner: Any = schema.Config
    reached: list[str] = []
    for part in key.split("."):
        inside = getattr(owner, "__args__", ())
        if inside:
            if inside[-1] in (str, Any):
                # A mapping that holds whatever the user puts there, such as generator.settings.
                return Problem(where, f"there is no {part} in {'.'.join(reached)} yet", f"to add it write +{key}=...")
            options = failure.loader.get_group_options("judge") if reached == ["judges"] else []
            return Problem(where, f"there is no {part} among the {reached[-1]}", did_you_mean(part, options))
        if not hasattr(owner, "__dataclass_fields__"):
            return Problem(where, f"{'.'.join(reached)} has no keys")
        types = field_types(owner)
        if part not in types:
            what = f"there is no key {part} in {'.'.join(reached)}" if reached else f"there is no key or group {part}"
            return Problem(where, what, did_you_mean(part, types if reached else [*types, *GROUPS]))
        owner = types[part]
        reached.append(part)
    return Problem(where, "it has keys that are not there", f"write +{where}" if where != key else "")


def _not_merged(failure: _Failure, match: re.Match[str]) -> Explanation:
    line = match["line"]
    what, remedy = plain_message(failure.cause or failure.error), ""
    if is_unreadable(failure.cause):
        key, _, value = line.partition("=")
        return Explanation((unreadable(key.lstrip("+"), value),), line)
    if "is not a subclass of" in what:
        parent, _, name = line.partition("=")[0].lstrip("+").rpartition(".")
        what, remedy = "an entry cannot be added like this", f"write '+{parent}={{{name}: {{...}}}}'"
    return Explanation((Problem(line, what, remedy),), line)


def _not_deleted(failure: _Failure, match: re.Match[str]) -> Explanation:
    culprit = next((line for line in failure.overrides if line.startswith("~")), None)
    remedy = "write the list that you want, such as judge=[grounding]" if "judge" in match["key"] else ""
    return Explanation((Problem(f"~{match['key']}", "there is nothing of that name to leave out", remedy),), culprit)


def _chosen_twice(failure: _Failure, match: re.Match[str]) -> Explanation:
    key = match["key"]
    culprit = failure.override_of(f"+{key}")
    problem = Problem(culprit or key, f"{key} is chosen already", f"write {key}=... without +")
    return Explanation((problem,), culprit)


def _bad_file(failure: _Failure, match: re.Match[str]) -> Explanation:
    name = match["file"]
    group, _, option = name.rpartition("/")
    culprit = failure.override_choosing(group, option)
    path = find_file(name, failure.source)
    where = shown(path) if path else f"{name}.yaml"
    problems = tuple(_all_in_file(path, group)) if path is not None else ()
    if problems:
        located = (dataclasses.replace(problem, where=f"{where}: {problem.where}") for problem in problems)
        return Explanation(tuple(located), culprit)
    key = getattr(failure.cause, "full_key", None)
    text = plain_message(failure.cause) if failure.cause else str(failure.error).partition(": ")[2]
    return Explanation((Problem(f"{where}: {key}" if key else where, text.replace("\n", " ")),), culprit)


def _all_in_file(path: Path, group: str) -> Iterator[Problem]:
    """Everything in one configuration file that does not fit the schema."""
    import yaml

    text = path.read_text(encoding="utf-8")
    content = yaml.safe_load(text)
    if not isinstance(content, Mapping):
        yield Problem("the whole file", "must be a mapping of keys to values")
        return
    header = re.search(r"^#\s*@package\s+(\S+)", text, re.MULTILINE)
    values: Mapping[Any, Any] = {key: value for key, value in content.items() if key not in ("defaults", "hydra")}
    owner = group_type(group)
    if owner is not None and not header:
        yield from unfit(values, owner, group)
        return
    package = header[1] if header else group.replace("/", ".")
    for part in reversed([] if package == "_global_" else package.split(".")):
        values = {part: values}
    yield from unfit(values, schema.Config)


def _not_utf8(source: ConfigSource) -> Iterator[Path]:
    for folder in source.all_folders():
        for file in sorted(folder.rglob("*.yaml")):
            try:
                file.read_text(encoding="utf-8")
            except UnicodeDecodeError:
                yield file


def _broken_yaml(failure: _Failure) -> Explanation:
    error: Any = failure.error
    path = Path(error.problem_mark.name)
    culprit = failure.override_choosing(path.parent.name, path.stem)
    where = f"{shown(path)} line {error.problem_mark.line + 1}"
    return Explanation((Problem(where, f"is not YAML: {error.problem or 'cannot be read'}"),), culprit)


def _group_of(line: str) -> str:
    return line.partition("=")[0].lstrip("+~").partition("@")[0]


_MESSAGES: tuple[tuple[re.Pattern[str], Callable[[_Failure, re.Match[str]], Explanation]], ...] = (
    (re.compile(r"(?:In '(?P<file>[^']+)': )?Could not (?:find|load) '(?P<path>[^']+)'"), _missing_option),
    (re.compile(r"(?:In '(?P<file>[^']+)': )?Could not override '(?P<key>[^']+)'"), _not_overridden),
    (re.compile(r"Error merging override (?P<line>.+)", re.DOTALL), _not_merged),
    (re.compile(r"Could not delete '(?P<key>[^']+)'"), _not_deleted),
    (re.compile(r"Multiple values for (?P<key>[^ ]+)\. "), _chosen_twice),
    (re.compile(r"In '(?P<file>[^']+)': "), _bad_file),
)
"""How each message of Hydra 1.3 and 1.4 begins, and what is made of it; the first that fits counts."""
