"""The command line: verbs, flags and exit codes. Imports nothing heavy before it knows what is wanted."""

from __future__ import annotations

import errno
import importlib
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from runner.errors import ConfigurationError, ExitCode, RunnerError


@dataclass(frozen=True, slots=True)
class Verb:
    """What stands first on the line. The function takes the rest of the line and returns an exit code."""

    target: str
    """``module:function``; imported when the verb is used, and listed only where the module exists."""
    help: str
    takes_overrides: bool = False
    """Its line is read like that of an evaluation; the others read theirs themselves."""


VERBS: dict[str, Verb] = {
    "plan": Verb(
        "runner.sweeps.planning:main",
        "calls, tokens and dollars of a run or sweep, without a paid call",
        takes_overrides=True,
    ),
    "ask": Verb("runner.sweeps.asking:main", "type questions: answer, verdicts, chunks, cost", takes_overrides=True),
    "compare": Verb("runner.sweeps.comparing:main", "two or more stored runs, question by question; costs nothing"),
    "report": Verb("runner.sweeps.reporting:main", "stored sweeps and runs again; costs nothing"),
    "label": Verb("runner.sweeps.labelling:main", "give human labels to stored answers"),
    "calibrate": Verb("runner.sweeps.calibrating:main", "how well the judges agree with human labels"),
    "questions": Verb(
        "runner.sweeps.drafting:main",
        "draft a question set from a knowledge base (--per-document N, --unanswerable N, accept FILE, traces)",
        takes_overrides=True,
    ),
    "controls": Verb("runner.sweeps.controls:main", "do the judges notice what they should?", takes_overrides=True),
    "ledger": Verb("runner.calls.ledger_verb:main", "what the ledger holds: size, spend, prune"),
    "models": Verb("runner.calls.embedded.models_verb:main", "weights of local models: list, pull"),
    "init": Verb("runner.config.init:main", "copy an example to start from into a folder"),
    "ui": Verb("runner.tracking.ui:main", "open the MLflow UI on the local store"),
    "doctor": Verb(
        "runner.sweeps.doctor:main",
        "what is installed, writable, reachable and priced (--probe: one paid call a model, what it takes)",
        takes_overrides=True,
    ),
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command line and returns its exit code (see ``ExitCode``); prints errors as sentences."""
    line = list(sys.argv[1:] if arguments is None else arguments)
    try:
        return int(_main(line))
    except RunnerError as error:
        print(error, file=sys.stderr)
        return int(error.exit_code)
    except KeyboardInterrupt:
        print("interrupted: what is finished is kept, the same command goes on from here", file=sys.stderr)
        return int(ExitCode.INTERRUPTED)
    except BrokenPipeError:
        # Somebody closed the pipe (`runner --help | head`); Python would complain once more when it flushes at exit.
        sys.stdout = None
        return int(ExitCode.DONE)
    except OSError as error:
        if error.errno not in _CANNOT_WRITE:
            raise
        print(f"{error.filename or 'the disk'}: cannot be written ({error.strerror})", file=sys.stderr)
        return int(ExitCode.BAD_CONFIGURATION)
    except SystemExit as ended:
        return _exit_code(ended.code)


_CANNOT_WRITE = (
    errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOSPC, errno.EDQUOT, errno.ENOTDIR, errno.EEXIST, errno.EISDIR,
)  # fmt: skip
"""What the user mends, not we."""


def _main(line: list[str]) -> int:
    from runner.config.environment import load_dotenv_file
    from runner.config.secrets import in_overrides

    load_dotenv_file()
    secrets = in_overrides(line)
    if secrets:
        raise ConfigurationError(secrets)
    wants_help = any(flag in line for flag in ("--help", "-h"))
    if line and line[0] in available_verbs():
        verb = VERBS[line[0]]
        if wants_help and verb.takes_overrides:
            from runner.config.help_text import verb_help

            print(verb_help(line[0], verb.help))
            return ExitCode.DONE
        return call_verb(line[0], line[1:])
    if wants_help:
        from runner.config.help_text import help_text

        print(help_text({name: VERBS[name].help for name in available_verbs()}))
        return ExitCode.DONE
    if "--version" in line:
        print(_versions())
        return ExitCode.DONE
    if line and _is_word(line[0]):
        raise ConfigurationError(_unknown_verb(line[0]))
    return evaluate(line)


def available_verbs() -> tuple[str, ...]:
    """The verbs whose module exists."""
    return tuple(name for name, verb in VERBS.items() if _exists(verb.target.partition(":")[0]))


def _exists(module: str) -> bool:
    """Looked up as a file: importing the module's package would cost time that ``--help`` does not have."""
    path = Path(__file__).resolve().parent.joinpath(*module.split(".")[1:])
    return path.with_suffix(".py").is_file() or (path / "__init__.py").is_file()


def call_verb(name: str, arguments: Sequence[str]) -> int:
    """Imports the verb's function and hands it the rest of the line."""
    module, _, function = VERBS[name].target.partition(":")
    code: Any = getattr(importlib.import_module(module), function)(list(arguments))
    return int(code or ExitCode.DONE)


def evaluate(line: Sequence[str]) -> int:
    """Without a verb: checks every job before anything is written or paid, then runs one job or launches a sweep."""
    from runner.config import quiet

    with quiet.kept_to(line):
        return _evaluate(quiet.without_flag(line), quiet.wanted())


def _evaluate(line: Sequence[str], is_quiet: bool) -> int:
    from runner.config import hydra_application
    from runner.config.arguments import parse_arguments
    from runner.config.composition import prepare, remember

    arguments = parse_arguments(line)
    if arguments.completes:
        return hydra_application.complete(arguments, available_verbs())
    if arguments.information:
        return hydra_application.show(arguments)
    if not arguments.multirun:
        _refuse_launcher(arguments.overrides)
    jobs = prepare(arguments.overrides, multirun=arguments.multirun, source=arguments.source)
    remember(jobs)
    origins = {key: name for job in jobs for key, name in job.origins.items()}
    for key, variable in origins.items() if not is_quiet else ():
        print(f"{key} comes from the environment variable {variable}", file=sys.stderr)
    if arguments.multirun and not _together(arguments.overrides, jobs[0].group_choices):
        from runner.sweeps.parents import parent_of

        with parent_of(jobs) as parent:
            launched = hydra_application.run(arguments, run_job)
            parent.folder = launched.folder
        codes = [*launched.codes, *parent.codes]
    else:
        codes = hydra_application.run(arguments, run_job).codes
    return int(_weightiest(codes))


def run_job(_: Any) -> int:
    """What Hydra calls for one job, in this process or in that of a launcher: the exit code is the return value."""
    from hydra.core.hydra_config import HydraConfig

    from runner.config.composition import compose_batch
    from runner.config.environment import load_dotenv_file
    from runner.sweeps.launch import launch
    from runner.sweeps.parents import inherited

    load_dotenv_file()
    hydra = HydraConfig.get()
    composed = compose_batch([list(hydra.overrides.task)], hydra_overrides=list(hydra.overrides.hydra))
    if composed.problems:
        raise ConfigurationError(composed.problems)
    code = launch(composed.jobs, output_dir=Path(hydra.runtime.output_dir))
    if code is ExitCode.INTERRUPTED and inherited() is not None:
        # Hydra's own launchers would go on with the next job, which pays.
        raise KeyboardInterrupt
    return int(code)


def _together(overrides: Sequence[str], group_choices: Mapping[str, str]) -> bool:
    """Whether the jobs of a sweep run in this process together, which makes the parent run by itself."""
    other = any(override.startswith("hydra/launcher=") for override in overrides)
    return group_choices.get("launch") == "shared" and not other


def _refuse_launcher(overrides: Sequence[str]) -> None:
    for override in overrides:
        if override.startswith(("launch=", "hydra/launcher=", "hydra.launcher.")):
            raise ConfigurationError(f"{override}: a launcher only acts on a sweep; add -m")


_PRECEDENCE = (
    ExitCode.INTERRUPTED,
    ExitCode.BAD_CONFIGURATION,
    ExitCode.BUDGET_REACHED,
    ExitCode.INCOMPLETE,
    ExitCode.GATE_FAILED,
    ExitCode.DONE,
)


def _weightiest(codes: Sequence[Any]) -> int:
    found = {int(code) for code in codes if code is not None}
    return next((int(code) for code in _PRECEDENCE if code in found), max(found, default=0))


def _exit_code(code: Any) -> int:
    """Hydra's argument parser says 2 where we say 1."""
    if code is None:
        return int(ExitCode.DONE)
    if code == 2 or not isinstance(code, int):
        return int(ExitCode.BAD_CONFIGURATION)
    return code


def _is_word(argument: str) -> bool:
    return not argument.startswith(("-", "+", "~")) and "=" not in argument


def _unknown_verb(word: str) -> str:
    from runner.config.spelling import did_you_mean

    return f"{word}: there is no such verb; {did_you_mean(word, available_verbs())}"


def _versions() -> str:
    from importlib.metadata import PackageNotFoundError, version

    try:
        ours = version("rag-judge-runner")
    except PackageNotFoundError:
        ours = "(not installed)"
    return f"runner {ours}, hydra-core {version('hydra-core')}, omegaconf {version('omegaconf')}"
