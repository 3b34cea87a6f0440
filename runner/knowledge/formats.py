"""One file of prose (Markdown, text, HTML, PDF, DOCX) → its text and title. Says which optional library is missing."""

from __future__ import annotations

import io
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from runner.errors import Problem
from runner.knowledge.reading import Unreadable, read_bytes, read_text, whole_text

SUFFIXES = {
    ".md": "markdown",
    ".markdown": "markdown",
    ".txt": "text",
    ".text": "text",
    ".html": "html",
    ".htm": "html",
    ".pdf": "pdf",
    ".docx": "docx",
    ".csv": "csv",
    ".json": "json",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
}
"""File name ending → format, for ``format: auto``."""


@dataclass(frozen=True, slots=True)
class Prose:
    """The text of one file and the title it gives itself (empty where it gives none)."""

    text: str
    title: str = ""


def read_prose(path: Path, kind: str) -> Prose:
    """Read a file of the format ``kind``; raises ``Unreadable`` with the file's name where that cannot be done."""
    prose = _READERS[kind](path)
    return Prose(whole_text(prose.text, str(path)), whole_text(prose.title, str(path)))


def _markdown(path: Path) -> Prose:
    text = read_text(path)
    heading = re.search(r"^#{1,6}[ \t]+(.+?)[ \t#]*$", text, flags=re.MULTILINE)
    return Prose(text, heading.group(1) if heading else "")


def _text(path: Path) -> Prose:
    return Prose(read_text(path))


def _html(path: Path) -> Prose:
    try:
        from bs4 import BeautifulSoup
    except ImportError as error:
        raise _missing(path, "beautifulsoup4", "html") from error
    page = BeautifulSoup(read_bytes(path), "html.parser")
    title = page.title.get_text(" ", strip=True) if page.title else ""
    for tag in page(["script", "style", "noscript", "template", "head"]):
        tag.decompose()
    heading = page.find(["h1", "h2"])
    lines = (re.sub(r"[ \t\xa0]+", " ", line).strip() for line in _blocks(page).split("\n"))
    text = re.sub(r"\n{3,}", "\n\n", "\n".join(lines))
    return Prose(text, title or (heading.get_text(" ", strip=True) if heading else ""))


_BLOCK_TAGS = (
    "p",
    "div",
    "li",
    "tr",
    "br",
    "h1",
    "h2",
    "h3",
    "h4",
    "h5",
    "h6",
    "pre",
    "blockquote",
    "section",
    "article",
)


def _blocks(page: object) -> str:
    """Text with line breaks at block elements only: a bold word must not stand on a line of its own."""
    for tag in page(list(_BLOCK_TAGS)):  # type: ignore[operator]
        tag.insert_after("\n")
        tag.insert_before("\n")
    return str(page.get_text())  # type: ignore[attr-defined]


def _pdf(path: Path) -> Prose:
    try:
        from pypdf import PdfReader
        from pypdf.errors import PyPdfError
    except ImportError as error:
        raise _missing(path, "pypdf", "pdf") from error
    try:
        reader = PdfReader(io.BytesIO(read_bytes(path)))
        pages = [page.extract_text() for page in reader.pages]
        title = str((reader.metadata.title if reader.metadata else None) or "")
    except (PyPdfError, ValueError, KeyError, NotImplementedError) as error:
        raise Unreadable(Problem(str(path), f"cannot be read as PDF ({error})")) from error
    text = "\n\n".join(pages)
    if not text.strip():
        what = "holds no text; it may be a scan"
        raise Unreadable(Problem(str(path), what, "run text recognition (OCR) over it first"))
    return Prose(text, title)


def _docx(path: Path) -> Prose:
    try:
        import docx
    except ImportError as error:
        raise _missing(path, "python-docx", "docx") from error
    try:
        document = docx.Document(io.BytesIO(read_bytes(path)))
    except Unreadable:
        raise
    except Exception as error:  # python-docx lets errors of zipfile, lxml and its own through
        raise Unreadable(Problem(str(path), f"cannot be read as DOCX ({error})")) from error
    parts: list[str] = []
    for block in document.iter_inner_content():
        if hasattr(block, "rows"):
            parts.append("\n".join(" | ".join(cell.text for cell in row.cells) for row in block.rows))
        else:
            parts.append(block.text)
    headings = (block.text for block in document.paragraphs if str(block.style.name).startswith(("Title", "Heading")))
    return Prose("\n\n".join(part for part in parts if part.strip()), next(headings, ""))


def _missing(path: Path, library: str, extra: str) -> Unreadable:
    what = f"needs the library {library}, which is not installed"
    return Unreadable(Problem(str(path), what, f"install it with: pip install 'rag-judge-runner[{extra}]'"))


_READERS: dict[str, Callable[[Path], Prose]] = {
    "markdown": _markdown,
    "text": _text,
    "html": _html,
    "pdf": _pdf,
    "docx": _docx,
}
