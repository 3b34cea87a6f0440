"""Where things are: the home, the shipped configuration and examples, and how a relative path is looked for."""

from __future__ import annotations

import os
from pathlib import Path

from runner.errors import ConfigurationError, Problem

_PACKAGE = Path(__file__).resolve().parent.parent


def _shipped(name: str) -> Path:
    """A folder that lies beside the package in a checkout and inside it in a wheel."""
    inside = _PACKAGE / name
    return inside if inside.is_dir() else _PACKAGE.parent / name


def shipped_conf() -> Path:
    """The configuration that ships with the package."""
    return _shipped("conf")


def shipped_experiments() -> Path:
    """The worked examples that ship with the package."""
    return _shipped("experiments")


GROUPS: tuple[str, ...] = (
    "stack", "knowledge_base", "questions", "embedder", "retriever", "generator", "prompt", "judge", "rubric",
    "prices", "budget", "tracking", "launch", "gate", "experiment", "debug", "machine",
)  # fmt: skip
"""The groups of the configuration: one folder each in ``conf``."""


def user_conf() -> Path | None:
    """The user's own ``conf`` folder: ``$RUNNER_CONF``, else ``./conf`` where it is meant for us.

    ./conf may belong to another Hydra application: it counts where it holds at least one of our groups and no primary
    configuration of somebody else (ours has ``schema`` in its defaults).
    ``None`` where there is none or where it is the shipped one. Raises ConfigurationError where ``$RUNNER_CONF`` names
    no folder.
    """
    named = os.environ.get("RUNNER_CONF")
    folder = Path(named).expanduser() if named else Path.cwd() / "conf"
    if named and not folder.is_dir():
        raise ConfigurationError(f"RUNNER_CONF: there is no folder {named}; correct the variable or unset it")
    if not folder.is_dir() or folder.resolve() == shipped_conf().resolve():
        return None
    if not named and not _meant_for_us(folder):
        return None
    return folder.resolve()


def _meant_for_us(folder: Path) -> bool:
    primary = folder / "config.yaml"
    if primary.is_file() and "schema" not in primary.read_text(encoding="utf-8", errors="replace"):
        return False
    return any((folder / group).is_dir() for group in GROUPS)


def home() -> Path:
    """The home: ``$RUNNER_HOME``, else ``.runner`` in the working directory. Not created here.

    Raises ConfigurationError for a path that no database address can hold.
    """
    path = Path(os.environ.get("RUNNER_HOME") or ".runner").absolute()
    if any(sign in str(path) for sign in "?%"):
        what = f"{path} holds a ? or a %, which the address of a database cannot hold"
        raise ConfigurationError([Problem("RUNNER_HOME", what, "set it to a folder without them")])
    return path


def models_folder() -> Path:
    """Where weights are kept, shared by all homes: ``$RUNNER_MODELS``, else the user's cache folder."""
    named = os.environ.get("RUNNER_MODELS")
    if named:
        return Path(named).absolute()
    import platformdirs

    return Path(platformdirs.user_cache_dir("rag-judge-runner", appauthor=False)) / "models"


def search_folders() -> tuple[Path, ...]:
    """Where a relative path of a configuration is looked for, in this order."""
    folders = [Path.cwd()]
    conf = user_conf()
    if conf is not None:
        folders.append(conf.parent)
    folders.append(shipped_experiments())
    return tuple(dict.fromkeys(folder.absolute() for folder in folders))


def find(path: str) -> Path | None:
    """The first existing file, folder or non-empty glob of that name; ``None`` where there is none."""
    candidate = Path(path).expanduser()
    if candidate.is_absolute():
        folders: tuple[Path, ...] = (Path(candidate.anchor),)
        candidate = candidate.relative_to(candidate.anchor)
    else:
        folders = search_folders()
    for folder in folders:
        if (folder / candidate).exists():
            return folder / candidate
        if any(sign in str(candidate) for sign in "*?[") and next(folder.glob(str(candidate)), None) is not None:
            return folder / candidate
    return None


def find_instructions(name: str) -> Path | None:
    """A rubric's ``instructions_file``: beside the rubric files (yours first), else as any other relative path."""
    if not Path(name).is_absolute():
        for conf in (user_conf(), shipped_conf()):
            if conf is not None and (conf / "rubric" / name).is_file():
                return conf / "rubric" / name
    return find(name)
