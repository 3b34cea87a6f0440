"""Checks composed jobs before anything is paid: ranges, rules between keys, files, keys of APIs, secrets."""

from __future__ import annotations

import dataclasses
import functools
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from runner.config import rules
from runner.config.environment import strings
from runner.config.hydra_errors import with_origin
from runner.config.jobs import Job
from runner.config.numbers import not_finite
from runner.config.problems import merged
from runner.config.provenance import located
from runner.config.references import REMEDY
from runner.config.schema import Config
from runner.config.secrets import in_values
from runner.config.structure import plain_message, unfit
from runner.errors import Problem

if TYPE_CHECKING:
    from omegaconf import DictConfig
    from pydantic import TypeAdapter


def check(jobs: Sequence[Job], *, needs_keys: bool = True) -> list[Problem]:
    """Everything that is wrong with any of the jobs, each thing once; empty where all can start.

    A problem that only some jobs have is said with the job's name. Without ``needs_keys`` keys of APIs may be missing.
    """
    found = [_check_one(job) for job in jobs]
    shared = set.intersection(*(set(problems) for problems in found)) if found else set()
    named = [
        problem if problem in shared else dataclasses.replace(problem, where=f"{problem.where} (job {job.name})")
        for job, problems in zip(jobs, found, strict=True)
        for problem in problems
    ]
    keys = rules.missing_api_keys([job.config for job in jobs]) if needs_keys else ()
    return list(merged([*named, *keys]))


def _check_one(job: Job) -> list[Problem]:
    values = dataclasses.asdict(job.config)
    problems = list(wrong_values(values))
    wrong = {problem.where for problem in problems}
    problems.extend(p for p in rules.between_keys(job.config) if p.where not in wrong)
    problems.extend(rules.missing_files(job.config))
    problems.extend(in_values(values, job.origins))
    explained = [with_origin(problem, job.origins) for problem in _once(problems)]
    return located(explained, job.overrides, job.source, leave=job.origins)


def wrong_values(values: dict[str, Any]) -> Iterator[Problem]:
    """Values of a whole configuration that are not in their range, each by itself; nothing infinite is in any."""
    infinite = list(not_finite(values))
    yield from infinite
    said = {problem.where for problem in infinite}
    yield from (problem for problem in _out_of_range(values) if problem.where not in said)


def _once(problems: Sequence[Problem]) -> list[Problem]:
    """Leaves out what is said already where the value really stands: judges take theirs from ``judge_defaults``."""
    said = {(problem.where, problem.what) for problem in problems}

    def stands_elsewhere(problem: Problem) -> bool:
        first, _, rest = problem.where.partition(".")
        origins = [f"stack_defaults.{rest}"]
        if first == "judges":
            rest = rest.partition(".")[2]
            origins.append(f"judge_defaults.{rest}")
        if ".endpoint." in f".{rest}":
            origins.append(f"endpoint.{rest.rpartition('.')[2]}")
        return any(origin != problem.where and (origin, problem.what) in said for origin in origins)

    return [problem for problem in problems if not stands_elsewhere(problem)]


@functools.cache
def _adapter() -> TypeAdapter[Config]:
    from pydantic import TypeAdapter

    return TypeAdapter(Config)


def _out_of_range(values: dict[str, Any]) -> Iterator[Problem]:
    from pydantic import ValidationError

    try:
        _adapter().validate_python(values)
    except ValidationError as error:
        for detail in error.errors(include_url=False):
            yield _in_words(detail)


def _in_words(detail: Any) -> Problem:
    where = ""
    for part in detail["loc"]:
        if isinstance(part, int):
            where += f"[{part}]"
        elif part.startswith(("constrained-", "function-", "nullable", "int", "float", "str")) and "." not in part:
            continue
        else:
            where = f"{where}.{part}" if where else part
    kind, context, value = detail["type"], detail.get("ctx", {}), detail.get("input")
    if kind == "string_pattern_mismatch":
        pattern = context["pattern"]
        if pattern.startswith("^(") and pattern.endswith(")$"):
            return Problem(where, f"{value!r} is not one of {', '.join(pattern[2:-2].split('|'))}")
        return Problem(where, f"{value!r} may hold only letters, digits, dots, hyphens and underscores")
    words = {
        "greater_than_equal": "must be at least {ge}",
        "greater_than": "must be greater than {gt}",
        "less_than_equal": "must be at most {le}",
        "less_than": "must be less than {lt}",
    }
    if kind in words:
        return Problem(where, f"{words[kind].format(**context)}, not {value}")
    return Problem(where, f"{detail['msg'].lower()}, not {value!r}")


def missing_values(node: DictConfig, written: Mapping[Any, Any]) -> list[Problem]:
    """Keys that must be set and are not; each gets a placeholder, so that the rest can be checked too.

    ``written``: the node's content with interpolations as they are written.
    """
    from omegaconf import OmegaConf

    found = []
    for key in sorted(key for key, text in strings(written) if text == "???"):
        found.append(Problem(key, "is not set", _EXAMPLES.get(key, f"write {key}=...")))
        OmegaConf.update(node, key, _placeholder(node, key), force_add=True)
    return found


_REFERENCE = re.compile(r"\$\{[^{}]*\}")
"""A value that is one reference and nothing else, and so was meant as one."""


def unresolvable_values(node: DictConfig, written: Mapping[Any, Any]) -> list[Problem]:
    """Every value whose interpolation leads nowhere, or to something of the wrong type; each gets a placeholder."""
    from omegaconf import OmegaConf
    from omegaconf.errors import InterpolationKeyError, UnsupportedInterpolationType

    found = []
    for key, text in strings(written):
        if "${" not in text:
            continue
        try:
            OmegaConf.select(node, key, throw_on_resolution_failure=True)
        except Exception as error:  # a resolver may raise anything
            where = str(getattr(error, "full_key", None) or key)
            leads_nowhere = isinstance(
                error, InterpolationKeyError | UnsupportedInterpolationType
            ) and not _REFERENCE.fullmatch(text)
            remedy = REMEDY if leads_nowhere else ""
            found.append(Problem(where, plain_message(error), remedy))
            OmegaConf.update(node, where, _placeholder(node, where), force_add=True)
    return list(merged(found))


_EXAMPLES = {
    "generator.model": "write the name that the server gives the model, such as generator.model=llama3.2",
    "judge_defaults.model": "write the name that the server gives the model, such as judge_defaults.model=qwen3:8b",
    "questions.path": "write questions.path=FILE, or choose a question set with questions=NAME",
}


def _placeholder(node: DictConfig, key: str) -> Any:
    from omegaconf import OmegaConf
    from omegaconf.errors import OmegaConfBaseException

    candidates: tuple[Any, ...] = ("unset", 1, 1.0, [], {})
    for value in candidates:
        try:
            OmegaConf.update(node.copy(), key, value)
        except OmegaConfBaseException:
            continue
        return value
    return "unset"


def unknown_keys(container: Mapping[Any, Any]) -> list[Problem]:
    """Keys that ``+key=value`` added and that nothing reads."""
    return list(unfit(container, Config, types_too=False))
