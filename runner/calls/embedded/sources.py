"""The places that weights are fetched from; whether the file is the right one is not decided here."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from runner.calls.embedded.listing import ModelFile
from runner.calls.embedded.partial import PartialFile, Span
from runner.calls.embedded.progress import PullStep, Report

if TYPE_CHECKING:
    import httpx

BLOCK = 1 << 20
_NOTE_EVERY = 16 << 20
"""Bytes between two notes of how far a download is: what a kill can lose."""
_CONNECT_SECONDS = 5.0
_SILENCE_SECONDS = 30.0
_RESUMES = 5
"""How often a cut download goes on where it was before the source is given up."""


class SourceUnavailable(Exception):
    """This source cannot give the file; the message is a sentence without a final full stop."""


def from_path(model: ModelFile, partial: PartialFile, report: Report, path: Path) -> None:
    """Copy the file that the user has already (the file itself, or the folder it is in)."""
    file = path / model.file if path.is_dir() else path
    try:
        size = file.stat().st_size
        if size != model.size:
            raise SourceUnavailable(f"{file}: holds {size:,} bytes, not {model.size:,}")
        partial.discard()
        with file.open("rb") as source:
            offset = 0
            while block := source.read(BLOCK):
                partial.write(offset, block)
                offset += len(block)
                report(PullStep(model, offset))
    except OSError as error:
        raise SourceUnavailable(f"{file}: {error.strerror}") from error
    partial.mark(0, model.size)


def hub_url(model: ModelFile) -> str:
    """Where the makers publish the file; ``$HF_ENDPOINT`` names a mirror, as in their own tools."""
    endpoint = os.environ.get("HF_ENDPOINT") or "https://huggingface.co"
    return f"{endpoint.rstrip('/')}/{model.upstream}/resolve/{model.revision}/{model.file}"


def from_hub(model: ModelFile, partial: PartialFile, report: Report) -> None:
    """Download what is missing from the official repository, going on after a cut connection."""
    import httpx

    url = hub_url(model)
    timeout = httpx.Timeout(_SILENCE_SECONDS, connect=_CONNECT_SECONDS)
    cuts = 0
    with httpx.Client(timeout=timeout, follow_redirects=True) as client:
        while gaps := partial.gaps():
            before = partial.done
            try:
                _download(client, gaps[0], model, partial, report)
            except httpx.HTTPError as error:
                # A server that never gave a byte is given up at once: another source is waiting.
                cuts = cuts + 1 if partial.done == before else 1
                if partial.done == before == 0 or cuts > _RESUMES:
                    raise SourceUnavailable(f"{url}: {str(error) or type(error).__name__}") from error


def _download(client: httpx.Client, gap: Span, model: ModelFile, partial: PartialFile, report: Report) -> None:
    url = hub_url(model)
    start, end = gap
    with client.stream("GET", url, headers={"Range": f"bytes={start}-{end - 1}"}) as response:
        if response.status_code == 200:
            # The server does not know ranges: it sends everything from the first byte.
            start, end = 0, model.size
        elif response.status_code != 206:
            raise SourceUnavailable(f"{url}: HTTP {response.status_code}")
        offset = noted = start
        try:
            for block in response.iter_raw():
                if offset + len(block) > end:
                    raise SourceUnavailable(f"{url}: sends more than the {model.size:,} bytes of the official file")
                partial.write(offset, block)
                offset += len(block)
                report(PullStep(model, min(partial.done + offset - noted, model.size)))
                if offset - noted >= _NOTE_EVERY:
                    partial.mark(start, offset)
                    noted = offset
        finally:
            if offset > noted:
                partial.mark(start, offset)
        if offset < end:
            raise SourceUnavailable(f"{url}: ended after {offset:,} of {model.size:,} bytes")
