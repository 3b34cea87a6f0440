"""Where the files of a user's own application are: the module of a callable, the scripts of a command."""

from __future__ import annotations

import re
from pathlib import Path

from runner.config.paths import find, search_folders

TARGET = re.compile(r"^(?P<module>[A-Za-z_]\w*(\.[A-Za-z_]\w*)*):(?P<attribute>[A-Za-z_]\w*(\.[A-Za-z_]\w*)*)$")
"""``module:function``, both may have dots."""


def module_file(target: str) -> tuple[Path, Path] | None:
    """(folder to import from, file) of the module of ``module:function``, where it is one of the user's own files.

    Looked for where all relative paths are: the working directory, beside the user's conf, the shipped experiments.
    ``None`` for an installed module and where there is none. Nothing is imported.
    """
    matched = TARGET.match(target)
    if matched is None:
        return None
    inside = Path(*matched["module"].split("."))
    for folder in search_folders():
        for file in (folder / inside.with_suffix(".py"), folder / inside / "__init__.py"):
            if file.is_file():
                return folder, file
    return None


def command_files(command: list[str]) -> dict[int, Path]:
    """Place in the command → the user's own file that stands there, such as the script after ``python``.

    The program itself counts only where it is named by a relative path: another machine has its interpreter elsewhere.
    """
    found: dict[int, Path] = {}
    for place, part in enumerate(command):
        if not part or part.startswith("-") or (place == 0 and ("/" not in part or Path(part).is_absolute())):
            continue
        try:
            file = find(part)
        except (OSError, ValueError):
            # Arguments may be any text, also one that no file system takes for a name.
            continue
        if file is not None and file.is_file():
            found[place] = file
    return found
