"""Reads a command line: Hydra's flags and the overrides, in any order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from runner.config.search_path import ConfigSource
from runner.errors import ConfigurationError

if TYPE_CHECKING:
    from argparse import Namespace

_INFORMATION = ("cfg", "info", "hydra_help", "shell_completion")


@dataclass(frozen=True)
class Arguments:
    """A command line of any verb, without the verb."""

    overrides: tuple[str, ...]
    multirun: bool = False
    source: ConfigSource = field(default_factory=ConfigSource)
    information: tuple[str, ...] = ()
    """Hydra's own arguments where only something shall be shown (``--cfg``, ``--info``, ...), else empty."""
    completes: bool = False
    """``--shell-completion`` is among them."""


def parse_arguments(arguments: Sequence[str]) -> Arguments:
    """Reads overrides and Hydra's flags. Raises ConfigurationError where they cannot be read."""
    from hydra._internal.utils import get_args_parser

    parser = get_args_parser()

    def refuse(message: str) -> NoReturn:
        raise ConfigurationError(f"command line: {message}; see python -m runner --help")

    parser.error = refuse
    found = parser.parse_intermixed_args(list(arguments))
    shows = [name for name in _INFORMATION if getattr(found, name)]
    if found.multirun and (shows or found.run):
        refuse("-m cannot stand beside --run, --cfg, --info or --shell-completion")
    if found.experimental_rerun is not None:
        refuse("--experimental-rerun would execute a pickled file; start the same command again instead")
    if any(line.startswith("hydra.mode=") for line in found.overrides):
        refuse("hydra.mode is set by -m")
    return Arguments(
        overrides=tuple(found.overrides),
        multirun=bool(found.multirun),
        source=_source(found),
        information=tuple(_as_arguments(found)) if shows else (),
        completes=bool(found.shell_completion),
    )


def _source(found: Namespace) -> ConfigSource:
    extra = Path(found.config_dir).expanduser().absolute() if found.config_dir else None
    main = Path(found.config_path).expanduser().absolute() if found.config_path else None
    for flag, folder in (("--config-dir", extra), ("--config-path", main)):
        if folder is not None and not folder.is_dir():
            raise ConfigurationError(f"{flag}: there is no folder {folder}")
    primary = (found.config_name or "config").removesuffix(".yaml")
    return ConfigSource(primary=primary, main=main, extra=extra)


def _as_arguments(found: Namespace) -> list[str]:
    """The arguments again, in an order that Hydra's parser reads; folders are left to our own search path."""
    arguments = []
    for flag in ("cfg", "package", "info"):
        if getattr(found, flag):
            arguments.append(f"--{flag}={getattr(found, flag)}")
    for flag in ("resolve", "hydra_help", "shell_completion"):
        if getattr(found, flag):
            arguments.append(f"--{flag.replace('_', '-')}")
    return [*arguments, *found.overrides]
