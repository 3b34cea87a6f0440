"""The earlier versions of a rubric or a prompt, from the configuration files: what a list of versions begins with."""

from __future__ import annotations

from pathlib import Path
from typing import Any, TypeVar

from runner.config.search_path import active_source

Versioned = TypeVar("Versioned")


def earlier_versions(group: str, kind: type[Versioned], identifier: str, version: int) -> list[Versioned]:
    """The versions below ``version`` that the files of a group have, lowest first; the user's before what ships.

    ``kind`` is the group's dataclass, with ``id`` and ``version``. Files that cannot be read by themselves are left
    out: nothing here is needed for a run.
    """
    found: dict[int, Versioned] = {}
    for folder in active_source().all_folders():
        for file in sorted((folder / group).glob("*.yaml")):
            read: Any = _read(file, kind, identifier, version)
            if read is not None:
                found.setdefault(read.version, read)
    return [found[number] for number in sorted(found)]


def _read(file: Path, kind: type[Versioned], identifier: str, below: int) -> Versioned | None:
    import yaml
    from omegaconf import OmegaConf
    from omegaconf.errors import OmegaConfBaseException

    try:
        content = yaml.safe_load(file.read_text(encoding="utf-8"))
        if not isinstance(content, dict) or content.get("id") != identifier:
            return None
        version = content.get("version")
        if not isinstance(version, int) or not 1 <= version < below:
            return None
        read = OmegaConf.to_object(OmegaConf.merge(OmegaConf.structured(kind), content))
    except (OSError, ValueError, yaml.YAMLError, OmegaConfBaseException):
        return None
    return read if isinstance(read, kind) else None
