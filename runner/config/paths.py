"""Where things are: the home, the shipped configuration and examples, and how a relative path is looked for."""

from __future__ import annotations

import os
from pathlib import Path

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


def user_conf() -> Path | None:
    """The user's own ``conf`` folder: ``$RUNNER_CONF``, else ``./conf`` if there is one that is not the shipped one."""
    named = os.environ.get("RUNNER_CONF")
    folder = Path(named) if named else Path.cwd() / "conf"
    if not folder.is_dir() or folder.resolve() == shipped_conf().resolve():
        return None
    return folder.resolve()


def home() -> Path:
    """The home: ``$RUNNER_HOME``, else ``.runner`` in the working directory. Not created here."""
    return Path(os.environ.get("RUNNER_HOME") or ".runner").absolute()


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
    return tuple(folders)


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
