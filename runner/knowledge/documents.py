"""Configuration of a knowledge base → its documents, or one error that lists everything that is wrong with them."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator
from pathlib import Path, PurePosixPath
from typing import Any

from runner.config import paths
from runner.config.schema import DocumentFields, KnowledgeBase
from runner.errors import ConfigurationError, Problem
from runner.knowledge.formats import SUFFIXES, read_prose
from runner.knowledge.reading import Row, Unreadable, as_text, read_rows, whole_rows, whole_text
from runner.records import Document

_log = logging.getLogger(__name__)
_TABLES = ("csv", "json", "jsonl")


def load_documents(cfg: KnowledgeBase) -> tuple[Document, ...]:
    """All documents of a knowledge base, in the order of their files and rows; none for ``format: none``.

    Ids come from the id column; a file of prose is named by its path without the ending (``policies/housing``).
    Raises ``ConfigurationError`` with every problem found: files that are missing or unreadable, rows without
    text, ids that occur twice, and a knowledge base without any document.
    """
    if cfg.format == "none":
        return ()
    problems: list[Problem] = []
    if cfg.format == "inline":
        rows = [Row(f"knowledge_base.documents[{n}]", n + 1, dict(item)) for n, item in enumerate(cfg.documents)]
        documents = list(_from_rows(whole_rows(rows, "knowledge_base.documents"), cfg.fields, cfg.name, problems))
    else:
        documents = list(_from_files(cfg, problems))
    problems.extend(_repeated_ids(documents))
    if not documents and not problems:
        problems.append(_empty(cfg))
    if problems:
        raise ConfigurationError(problems)
    return tuple(documents)


def _empty(cfg: KnowledgeBase) -> Problem:
    if cfg.format == "inline":
        return Problem("knowledge_base.documents", "is empty", "list at least one document with id and text")
    endings = " ".join(sorted(SUFFIXES))
    return Problem("knowledge_base.path", f"no document in {cfg.path}", f"files with these endings are read: {endings}")


def _from_files(cfg: KnowledgeBase, problems: list[Problem]) -> Iterator[Document]:
    if not cfg.path:
        problems.append(Problem("knowledge_base.path", "is not set", "name a file, a folder or a glob"))
        return
    found = paths.find(cfg.path)
    if found is None:
        looked = ", ".join(str(folder) for folder in paths.search_folders())
        problems.append(Problem("knowledge_base.path", f"{cfg.path} does not exist", f"looked in {looked}"))
        return
    root, files = _files(found)
    for path in files:
        kind = (
            SUFFIXES.get(path.suffix.lower(), "text" if found.is_file() else "") if cfg.format == "auto" else cfg.format
        )
        if not kind:
            _log.warning("%s is not read: unknown file type", path)
            continue
        inside = whole_text(path.relative_to(root).as_posix(), str(path))
        name = PurePosixPath(inside).with_suffix("").as_posix()
        try:
            if kind in _TABLES:
                rows = read_rows(path, kind, cfg.fields.text, problems)
                yield from _from_rows(rows, cfg.fields, name, problems)
                continue
            prose = read_prose(path, kind)
        except Unreadable as error:
            problems.append(error.problem)
            continue
        if prose.text.strip():
            yield Document(name, prose.text.strip(), prose.title, inside)
        else:
            problems.append(Problem(str(path), "holds no text", "fill it or remove it"))


def _files(found: Path) -> tuple[Path, list[Path]]:
    """The folder that ids are relative to, and the files in a fixed order; hidden files are left out."""
    if found.is_file():
        return found.parent, [found]
    if found.is_dir():
        root, candidates = found, found.rglob("*")
    else:
        parts = found.parts
        fixed = next(place for place, part in enumerate(parts) if any(sign in part for sign in "*?["))
        root = Path(*parts[:fixed])
        candidates = root.glob(str(Path(*parts[fixed:])))
    visible = (
        path
        for path in candidates
        if path.is_file() and not any(part.startswith((".", "~$")) for part in path.relative_to(root).parts)
    )
    return root, sorted(visible, key=lambda path: path.relative_to(root).as_posix())


def _from_rows(rows: Iterable[Row], fields: DocumentFields, name: str, problems: list[Problem]) -> Iterator[Document]:
    """Documents of table rows; a row without an id is called ``FILE:ROW``."""
    default = DocumentFields()
    for row in rows:
        text = _joined(row, fields.text)
        if text is None:
            columns = ", ".join(str(key) for key in row.values)
            what = f"has no text in {fields.text} (there are: {columns})"
            problems.append(Problem(row.where, what, "set knowledge_base.fields.text to the column with the text"))
            continue
        identity = as_text(row.values.get(fields.id)) if fields.id else None
        if identity is None and fields.id and (fields.id in row.values or fields.id != default.id):
            problems.append(Problem(row.where, f"has no id in {fields.id}"))
            continue
        yield Document(
            id=identity.strip() if identity else f"{name}:{row.number}",
            text=text.strip(),
            title=(as_text(row.values.get(fields.title)) or "").strip() if fields.title else "",
            source=row.where,
            metadata=_metadata(row, fields.metadata),
        )


def _joined(row: Row, column: str) -> str | None:
    """The text of a column; several columns, separated by commas, are joined by blank lines."""
    if column in row.values:
        return as_text(row.values[column])
    parts = [as_text(row.values.get(part.strip())) for part in column.split(",")]
    given = [part for part in parts if part]
    return "\n\n".join(given) if given else None


def _metadata(row: Row, columns: Iterable[str]) -> dict[str, Any]:
    return {column: row.values[column] for column in columns if row.values.get(column) is not None}


def _repeated_ids(documents: Iterable[Document]) -> Iterator[Problem]:
    """Two documents with one id would count as one hit and as two chunks: refused, never merged."""
    first: dict[str, str] = {}
    for document in documents:
        if document.id in first:
            what = f"has the document id {document.id}, as {first[document.id]} has"
            yield Problem(document.source, what, "give every document an id of its own")
        else:
            first[document.id] = document.source
