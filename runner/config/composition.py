"""From overrides to jobs: composes every job of a sweep, and gathers everything that is wrong with any of them."""

from __future__ import annotations

import dataclasses
import itertools
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from runner.config import schema
from runner.config.environment import origins
from runner.config.hydra_errors import explain, with_origin
from runner.config.jobs import Job
from runner.config.keys import FileHashes, job_key
from runner.config.loading import Loaded, load
from runner.config.names import job_names
from runner.config.override_rules import not_a_choice, sweep_without_flag, without_key
from runner.config.problems import merged
from runner.config.provenance import located
from runner.config.search_path import ConfigSource, active_source, config_loader
from runner.config.secrets import in_overrides, masked_yaml
from runner.config.texts import halved
from runner.config.validation import check, missing_values, unknown_keys, unresolvable_values
from runner.errors import ConfigurationError, Problem

if TYPE_CHECKING:
    from hydra.core.config_loader import ConfigLoader
    from hydra.core.override_parser.types import Override
    from hydra.types import RunMode
    from omegaconf import DictConfig


@dataclass(frozen=True)
class Composed:
    """All jobs that could be composed, and what is wrong with these and with the others."""

    jobs: tuple[Job, ...]
    problems: tuple[Problem, ...]


def compose_jobs(overrides: Sequence[str], *, multirun: bool, source: ConfigSource | None = None) -> tuple[Job, ...]:
    """The jobs that these overrides mean, in the order of the sweep.

    With ``multirun`` comma lists are swept over, and so are the ``hydra.sweeper.params`` of an experiment, where the
    command line does not say otherwise. Raises ConfigurationError with everything that cannot be composed; ranges and
    the like are for ``check``.
    """
    composed = compose(overrides, multirun=multirun, source=source)
    if composed.problems:
        raise ConfigurationError(composed.problems)
    return composed.jobs


def compose_one(overrides: Sequence[str] = (), *, source: ConfigSource | None = None) -> Job:
    """The one job that these overrides mean. Raises ConfigurationError."""
    return compose_jobs(overrides, multirun=False, source=source)[0]


def prepare(
    overrides: Sequence[str], *, multirun: bool, source: ConfigSource | None = None, needs_keys: bool = True
) -> tuple[Job, ...]:
    """Composes and checks. Raises one ConfigurationError with all problems of all jobs of both kinds.

    Without ``needs_keys`` keys of APIs may be missing."""
    composed = compose(overrides, multirun=multirun, source=source)
    problems = merged([*composed.problems, *check(composed.jobs, needs_keys=needs_keys)])
    if problems:
        raise ConfigurationError(problems)
    return composed.jobs


def compose(overrides: Sequence[str], *, multirun: bool, source: ConfigSource | None = None) -> Composed:
    """Like ``compose_jobs``, but hands back the problems beside the jobs."""
    if secrets := in_overrides(overrides):
        raise ConfigurationError(secrets)
    with config_loader(source) as loader:
        composer = _Composer(loader, source or active_source())
        parsed, unreadable = composer.parse(overrides)
        batch, unsplittable = composer.split(parsed) if multirun else composer.single(parsed)
        composed = composer.compose_batch(batch)
    return Composed(composed.jobs, merged([*unreadable, *unsplittable, *composed.problems]))


MOST_JOBS = 5_000
"""A sweep of more jobs is a slip of the hand: checking it alone would take minutes."""
SAID_FROM = 50
"""A sweep of so many jobs takes seconds to check; that is said."""

_remembered: dict[tuple[str, ...], Job] = {}


def remember(jobs: Sequence[Job]) -> None:
    """Keeps jobs that are checked already, so that ``compose_batch`` need not compose them again."""
    _remembered.clear()
    # Of equal jobs the first stands for the others, under its own name.
    _remembered.update({job.overrides: job for job in reversed(jobs)})


def compose_batch(
    batch: Sequence[Sequence[str]], *, hydra_overrides: Sequence[str] = (), source: ConfigSource | None = None
) -> Composed:
    """The jobs of a sweep that is already split into the overrides of each job (what a Hydra launcher gets).

    ``hydra_overrides``: those of the command line that begin with ``hydra.``; ``hydra.searchpath`` is one of them.
    """
    known = [_remembered.get(tuple(overrides)) for overrides in batch]
    if all(known):
        return Composed(tuple(job for job in known if job is not None), ())
    with config_loader(source) as loader:
        return _Composer(loader, source or active_source(), hydra_overrides).compose_batch(batch)


@dataclass
class _Draft:
    overrides: tuple[str, ...]
    config: schema.Config | None
    problems: list[Problem]
    resolved_yaml: str = ""
    origins: Mapping[str, str] = field(default_factory=dict)
    choices: Mapping[str, str] = field(default_factory=dict)


class _Composer:
    def __init__(self, loader: ConfigLoader, source: ConfigSource, hydra_overrides: Sequence[str] = ()) -> None:
        self._loader = loader
        self._source = source
        self._hydra_overrides = list(hydra_overrides)
        self._hashes = FileHashes()
        self._explained: set[str] = set()
        """Overrides that cannot be composed and that somebody has been told about."""

    def parse(self, overrides: Sequence[str]) -> tuple[list[Override], list[Problem]]:
        """The overrides of the application that can be read, and what is wrong with the others.

        Those of Hydra itself are kept for the compositions.
        """
        from hydra.core.override_parser.overrides_parser import OverridesParser
        from hydra.errors import HydraException

        parser = OverridesParser.create(config_loader=self._loader)
        parsed: list[Override] = []
        problems: list[Problem] = []
        for line in overrides:
            if problem := without_key(line):
                problems.append(problem)
                continue
            try:
                (override,) = parser.parse_overrides([line])
            except HydraException as error:
                problems.extend(explain(error, [line], self._loader, self._source).problems)
                continue
            if override.is_hydra_override():
                self._hydra_overrides.append(line)
            elif problem := not_a_choice(override, self._loader):
                problems.append(problem)
            else:
                parsed.append(override)
        return parsed, problems

    def single(self, parsed: Sequence[Override]) -> tuple[list[tuple[str, ...]], list[Problem]]:
        """The overrides of the one job, and those that mean a sweep as problems."""
        lines = tuple(str(override.input_line) for override in parsed if not override.is_sweep_override())
        return [lines], sweep_without_flag(parsed)

    def split(self, parsed: Sequence[Override]) -> tuple[list[tuple[str, ...]], list[Problem]]:
        """The overrides of each job of the sweep, the sweep of an experiment included."""
        from hydra._internal.core_plugins.basic_sweeper import BasicSweeper
        from hydra.types import RunMode

        endless = [override for override in parsed if override.is_sweep_override() and not override.is_discrete_sweep()]
        problems = [
            Problem(str(override.input_line), "only lists and ranges can be swept", "write key=1,2,3")
            for override in endless
        ]
        usable = [override for override in parsed if override not in endless]
        lines = [str(override.input_line) for override in usable]
        master, unloadable = self._load(lines, RunMode.MULTIRUN)
        problems.extend(unloadable)
        if master is None:
            return [], problems
        of_experiment, unreadable = self.parse([f"{key}={value}" for key, value in master.swept.items()])
        swept = [*of_experiment, *usable]
        if _more_jobs_than(MOST_JOBS, swept):
            what = f"it means more than {MOST_JOBS:,} jobs"
            return [], [*problems, *unreadable, Problem("command line", what, "sweep over fewer values")]
        batches = BasicSweeper.split_arguments(swept, None)
        return [tuple(job) for job in batches[0]], [*problems, *unreadable]

    def compose_batch(self, batch: Sequence[Sequence[str]]) -> Composed:
        if len(batch) >= SAID_FROM:
            print(f"checking {len(batch)} jobs", file=sys.stderr, flush=True)
        drafts = [self._compose(tuple(overrides), in_sweep=len(batch) > 1) for overrides in batch]
        return Composed(self._jobs(drafts), merged([problem for draft in drafts for problem in draft.problems]))

    def _jobs(self, drafts: Sequence[_Draft]) -> tuple[Job, ...]:
        fallback = next((draft.config.name for draft in drafts if draft.config), "default")
        names = job_names([draft.overrides for draft in drafts], fallback)
        jobs = []
        for number, (draft, name) in enumerate(zip(drafts, names, strict=True)):
            if draft.config is None:
                continue
            sources = self._hashes.sources(draft.config)
            jobs.append(
                Job(
                    key=job_key(draft.config, sources),
                    name=name,
                    config=draft.config,
                    overrides=draft.overrides,
                    number=number,
                    sources=sources,
                    resolved_yaml=draft.resolved_yaml,
                    origins=draft.origins,
                    source=self._source,
                    group_choices=draft.choices,
                )
            )
        return tuple(jobs)

    def _compose(self, overrides: tuple[str, ...], *, in_sweep: bool) -> _Draft:
        from hydra.types import RunMode

        loaded, problems = self._load(overrides, RunMode.RUN)
        if loaded is None:
            return _Draft(overrides, None, problems)
        problems.extend(_misplaced_sweep(overrides, loaded.swept, loaded.choices, in_sweep=in_sweep))
        return _resolve(loaded.node, overrides, problems, loaded.choices, self._source)

    def _load(self, overrides: Sequence[str], mode: RunMode) -> tuple[Loaded | None, list[Problem]]:
        """The composed configuration, and what is wrong with it.

        Hydra stops at the first problem. Where an override is the cause, the composition goes on without it, so that
        everything is said at once.
        """
        remaining = [line for line in overrides if line not in self._explained]
        problems: list[Problem] = []
        while True:
            try:
                return load(self._loader, self._source, remaining, self._hydra_overrides, mode), problems
            except Exception as error:  # Hydra raises its own, OmegaConf's, YAML's and built-in errors
                explanation = explain(error, remaining, self._loader, self._source)
                problems.extend(explanation.problems)
                if explanation.culprit is None or explanation.culprit not in remaining:
                    return None, problems
                remaining.remove(explanation.culprit)
                self._explained.add(explanation.culprit)


def _more_jobs_than(most: int, parsed: Sequence[Override]) -> bool:
    count = 1
    for override in parsed:
        if override.is_sweep_override():
            count *= sum(1 for _ in itertools.islice(override.sweep_string_iterator(), most + 1))
    return count > most


def _misplaced_sweep(
    overrides: Sequence[str], swept: Mapping[str, str], choices: Mapping[str, str], *, in_sweep: bool
) -> list[Problem]:
    """An experiment that holds a sweep: without ``-m`` it would be one job, and swept over it would lose its sweep."""
    given = {override.partition("=")[0].lstrip("+") for override in overrides}
    if not swept or set(swept) <= given:
        return []
    name = choices.get("experiment", "")
    what = f"it sweeps over {', '.join(swept)}"
    if in_sweep:
        return [Problem(f"experiment={name}", f"{what}, which is lost when experiments are swept over themselves",
                        "start the experiments one by one")]  # fmt: skip
    return [Problem(f"experiment={name}", what, "add -m to launch its jobs")]


def _resolve(
    node: DictConfig,
    overrides: tuple[str, ...],
    problems: list[Problem],
    choices: Mapping[str, str],
    source: ConfigSource,
) -> _Draft:
    from omegaconf import OmegaConf
    from omegaconf.errors import OmegaConfBaseException

    written = OmegaConf.to_container(node, resolve=False)
    assert isinstance(written, dict)
    decided = origins(written)
    problems = [*problems, *unknown_keys(written), *missing_values(node, written)]
    try:
        config = OmegaConf.to_object(node)
    except OmegaConfBaseException:
        unresolvable = [with_origin(problem, decided) for problem in unresolvable_values(node, written)]
        problems.extend(located(unresolvable, overrides, source, leave=decided))
        try:
            config = OmegaConf.to_object(node)
        except OmegaConfBaseException:
            return _Draft(overrides, None, problems)
    assert isinstance(config, schema.Config)
    values = dataclasses.asdict(config)
    if halves := list(halved(values)):  # neither a key nor a file can be made of them
        return _Draft(overrides, None, [*problems, *located(halves, overrides, source, leave=decided)])
    return _Draft(overrides, config, problems, masked_yaml(values), decided, choices)
