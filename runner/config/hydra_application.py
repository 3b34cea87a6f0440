"""Runs something as a Hydra application: a job, a sweep, or one of the flags that only show something."""

from __future__ import annotations

import contextlib
import io
import os
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from runner.config.arguments import Arguments
from runner.config.compat import version_arguments, without_second_check
from runner.config.completion import matching_verbs, suggestions, without_verb
from runner.config.composition import compose
from runner.config.paths import shipped_conf
from runner.config.search_path import activate, config_loader
from runner.config.secrets import masked
from runner.errors import ConfigurationError


@dataclass(frozen=True, slots=True)
class Launched:
    """What came of a run or a sweep."""

    codes: list[Any]
    """What the task returned, for each job."""
    folder: Path | None
    """Of a sweep whose jobs were launched one by one: the folder that holds those of the jobs."""


def run(arguments: Arguments, task: Callable[[Any], Any]) -> Launched:
    """Runs the task as Hydra runs it: in an output folder of its own, with Hydra's launcher and sweeper for ``-m``.

    The jobs have been checked before (``composition.prepare``).

    ``hydra.main`` does the same, but drops the return values and with them the exit codes
    (hydra-ecosystem/hydra#332).
    """
    from hydra.core.global_hydra import GlobalHydra

    with config_loader(arguments.source), without_second_check():
        application = GlobalHydra.instance().hydra
        assert application is not None
        start = application.multirun if arguments.multirun else application.run
        mode = "MULTIRUN" if arguments.multirun else "RUN"
        returned = start(
            config_name=arguments.source.primary,
            task_function=task,
            overrides=[*arguments.overrides, f"hydra.mode={mode}"],
        )
    jobs = _flat(returned)
    return Launched([job.return_value for job in jobs], _folder(jobs) if arguments.multirun else None)


def _folder(jobs: Sequence[Any]) -> Path | None:
    if not jobs or jobs[0].hydra_cfg is None:
        return None
    hydra = jobs[0].hydra_cfg.hydra
    return Path(str(hydra.runtime.output_dir)).parents[len(Path(str(hydra.sweep.subdir)).parts) - 1]


def _flat(returned: Any) -> list[Any]:
    """One list of job returns: a run gives one, a sweep gives a list of batches."""
    if isinstance(returned, list | tuple):
        return [job for batch in returned for job in _flat(batch)]
    return [] if returned is None else [returned]


def complete(arguments: Arguments, verbs: Iterable[str]) -> int:
    """``--shell-completion``: Hydra's suggestions, or its script for the shell, with our verbs among the words."""
    line = os.environ.get("COMP_LINE", "")
    os.environ["COMP_LINE"] = without_verb(line, verbs)
    output = io.StringIO()
    with contextlib.redirect_stdout(output):
        code = _hydra_main(arguments)
    is_query = any(argument.startswith("query=") for argument in arguments.overrides)
    text = output.getvalue()
    print(suggestions(text, matching_verbs(line, verbs)) if is_query else text)
    return code


def show(arguments: Arguments) -> int:
    """``--cfg``, ``--info`` and ``--hydra-help``, as Hydra prints them, but never with a secret.

    Raises ConfigurationError where the configuration cannot be composed.
    """
    output, errors = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(output), contextlib.redirect_stderr(errors):
        code = _hydra_main(arguments)
    if code and arguments.overrides:
        problems = compose(arguments.overrides, multirun=False, source=arguments.source).problems
        if problems:
            raise ConfigurationError(problems)
    sys.stdout.write(masked(output.getvalue()))
    sys.stderr.write(masked(errors.getvalue()))
    return code


def _hydra_main(arguments: Arguments) -> int:
    import hydra

    activate(arguments.source)
    folder = str((arguments.source.main or shipped_conf()).resolve())

    def never(_: Any) -> None:
        raise AssertionError("a flag that only shows something ran the task")

    main = hydra.main(config_path=folder, config_name=arguments.source.primary, **version_arguments())(never)
    with _program_arguments(arguments.information):
        try:
            main()
        except SystemExit as ended:
            return ended.code if isinstance(ended.code, int) else int(ended.code is not None)
        except Exception as error:
            sys.stderr.write(f"{error}\n")
            return 1
    return 0


@contextlib.contextmanager
def _program_arguments(arguments: Sequence[str]) -> Any:
    before = sys.argv
    sys.argv = ["runner", *arguments]
    try:
        yield
    finally:
        sys.argv = before
