"""The verb ``init``: copies an example to start from into a folder, and never overwrites anything."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from runner.config.json_schema import FOLDER, json_schemas
from runner.errors import ConfigurationError, ExitCode, Problem

_STARTER = Path(__file__).resolve().parent / "starter"
_RENAMED = {"env.example": ".env.example", "gitignore": ".gitignore"}
"""Files whose names begin with a dot would not survive every way of packaging."""

_NEXT = """\
Next{where}:
  python -m runner -m experiment=first stack=extractive    no model at all, seconds
  python -m runner -m experiment=first                     small local models, no key
  python -m runner ui                                      question by question, side by side
Then put your own texts into documents/ and questions.csv, and say in conf/rubric what a good answer is."""


def main(arguments: Sequence[str]) -> int:
    """``runner init [FOLDER]``."""
    parser = argparse.ArgumentParser(prog="runner init", description="copy an example to start from")
    parser.add_argument("folder", nargs="?", default=".", help="where to; made if it is not there (default: here)")
    folder = Path(parser.parse_args(list(arguments)).folder)
    written = copy_example(folder)
    for file in written:
        print(f"  {folder / file}")
    print(f"{len(written)} files written" if written else "all files were there already")
    print(_NEXT.format(where="" if folder == Path() else f", in {folder}"))
    return ExitCode.DONE


def copy_example(folder: Path) -> tuple[Path, ...]:
    """Copies the example and returns the files written, relative to the folder.

    A file that is there with the same content is left alone. Raises ConfigurationError, before anything is written,
    where one is there with another content.
    """
    content = example_files()
    wanted = {file: text for file, text in content.items() if not _same(folder / file, text)}
    in_the_way = [
        Problem(str(folder / file), "is there already, with other content", "nothing was copied; choose another folder")
        for file in wanted
        if (folder / file).exists()
    ]
    if in_the_way:
        raise ConfigurationError(in_the_way)
    for file, text in wanted.items():
        (folder / file).parent.mkdir(parents=True, exist_ok=True)
        (folder / file).write_bytes(text)
    return tuple(wanted)


def example_files() -> dict[Path, bytes]:
    """Relative path → content of everything that is copied: the example, and the schemas that editors read."""
    found = {}
    for file in sorted(_STARTER.rglob("*")):
        if file.is_file() and "__pycache__" not in file.parts:
            inside = file.relative_to(_STARTER)
            found[inside.with_name(_RENAMED.get(inside.name, inside.name))] = file.read_bytes()
    for name, text in json_schemas().items():
        found[Path("conf") / FOLDER / name] = text.encode()
    return found


def _same(file: Path, content: bytes) -> bool:
    return file.is_file() and file.read_bytes() == content
