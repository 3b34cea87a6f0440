"""The store of vectors: each text is embedded once per embedder, whoever asks, and its share of the price is kept."""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

from runner.errors import StorageError
from runner.knowledge.sampling import apportion
from runner.records import Call, Usage

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_AT_ONCE = 500
"""Hashes in one SELECT: fewer than SQLite's limit of host parameters in any build."""
_WAIT_S = 60.0
"""How long a writer waits for another one; a write takes milliseconds."""


@dataclass(frozen=True, slots=True)
class Stored:
    """A text's vector and its share of the calls that made it (none for an embedder without calls)."""

    vector: NDArray[np.float32]
    calls: tuple[Call, ...]


def text_hash(text: str) -> str:
    """What stands for a text in the store."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def shares(call: Call, texts: Sequence[str]) -> list[Call]:
    """One call for many texts → a share for each text, by its length; tokens and money add up to the last digit.

    All shares keep the key of the call, so that they count as one call.
    """
    weights = [len(text.encode("utf-8", "surrogatepass")) for text in texts]
    usage = call.usage or Usage()
    tokens = [apportion(amount, weights) for amount in asdict(usage).values()]
    money = [_divided(cost, weights) for cost in (call.input_cost, call.output_cost, call.total_cost, call.new_cost)]
    return [
        replace(
            call,
            usage=None if call.usage is None else Usage(*(part[place] for part in tokens)),
            input_cost=money[0][place],
            output_cost=money[1][place],
            total_cost=money[2][place],
            new_cost=money[3][place],
        )
        for place in range(len(texts))
    ]


def _divided(amount: Decimal | None, weights: Sequence[int]) -> Sequence[Decimal | None]:
    """Money in parts whose sum is exactly the whole: divided in units of its own last digit, six digits finer."""
    if amount is None:
        return [None] * len(weights)
    exponent = amount.as_tuple().exponent
    unit = Decimal(1).scaleb((exponent if isinstance(exponent, int) else 0) - 6)
    return [part * unit for part in apportion(int(amount / unit), weights)]


def merged(calls: Iterable[Call]) -> tuple[Call, ...]:
    """The shares of each call put together again: one entry a key, in the order of first appearance."""
    kept: dict[str, Call] = {}
    for call in calls:
        before = kept.get(call.key)
        kept[call.key] = call if before is None else _sum(before, call)
    return tuple(kept.values())


def _sum(one: Call, other: Call) -> Call:
    usages = [call.usage for call in (one, other) if call.usage is not None]
    return replace(
        one,
        from_ledger=one.from_ledger and other.from_ledger,
        usage=sum(usages, Usage()) if usages else None,
        input_cost=_plus(one.input_cost, other.input_cost),
        output_cost=_plus(one.output_cost, other.output_cost),
        total_cost=_plus(one.total_cost, other.total_cost),
        new_cost=_plus(one.new_cost, other.new_cost),
    )


def _plus(one: Decimal | None, other: Decimal | None) -> Decimal | None:
    return None if one is None or other is None else one + other


def replay(calls: Iterable[Call]) -> tuple[Call, ...]:
    """The same calls, as they look to somebody for whom nothing was paid now."""
    return tuple(
        replace(call, from_ledger=True, new_cost=None if call.total_cost is None else Decimal(0)) for call in calls
    )


def call_to_json(call: Call) -> dict[str, Any]:
    """A call as plain JSON values; money as text."""
    plain = asdict(call)
    for name in ("input_cost", "output_cost", "total_cost", "new_cost"):
        plain[name] = None if plain[name] is None else str(plain[name])
    return plain


def call_from_json(plain: Mapping[str, Any]) -> Call:
    """The inverse of ``call_to_json``."""
    values = dict(plain)
    for name in ("input_cost", "output_cost", "total_cost", "new_cost"):
        values[name] = None if values[name] is None else Decimal(values[name])
    values["usage"] = None if values["usage"] is None else Usage(**values["usage"])
    return Call(**values)


class VectorStore:
    """Vectors of one embedder in one SQLite file. Short connections: safe for many threads and processes."""

    def __init__(self, folder: Path, identity: str) -> None:
        self.path = self.path_of(folder, identity)
        try:
            folder.mkdir(parents=True, exist_ok=True)
            with self._open() as database:
                database.execute("PRAGMA journal_mode=WAL")
                database.executescript(
                    "CREATE TABLE IF NOT EXISTS embedder (identity TEXT PRIMARY KEY);"
                    "CREATE TABLE IF NOT EXISTS vectors (text_hash TEXT PRIMARY KEY, vector BLOB NOT NULL,"
                    " calls TEXT NOT NULL) WITHOUT ROWID;"
                )
                database.execute("INSERT OR IGNORE INTO embedder VALUES (?)", (identity,))
        except (OSError, sqlite3.Error) as error:
            raise self._failed(error) from error

    @staticmethod
    def path_of(folder: Path, identity: str) -> Path:
        """The file of an embedder's vectors, whether it is there or not."""
        return folder / f"{hashlib.sha256(identity.encode()).hexdigest()[:16]}.db"

    def known(self, texts: Iterable[str]) -> dict[str, tuple[str, ...]]:
        """Those of the texts that are stored, with the keys of the calls that made them; reads no vector."""
        by_hash = {text_hash(text): text for text in texts}
        hashes = list(by_hash)
        found: dict[str, tuple[str, ...]] = {}
        try:
            with self._open() as database:
                for start in range(0, len(hashes), _AT_ONCE):
                    part = hashes[start : start + _AT_ONCE]
                    marks = ",".join("?" * len(part))
                    query = f"SELECT text_hash, calls FROM vectors WHERE text_hash IN ({marks})"  # noqa: S608
                    for key, calls in database.execute(query, part):
                        found[by_hash[key]] = tuple(str(call["key"]) for call in json.loads(calls))
        except sqlite3.Error as error:
            raise self._failed(error) from error
        return found

    def load(self, texts: Iterable[str]) -> dict[str, Stored]:
        """What is stored of these texts, by text; all calls as replayed ones."""
        import numpy as np

        by_hash = {text_hash(text): text for text in texts}
        hashes = list(by_hash)
        found: dict[str, Stored] = {}
        try:
            with self._open() as database:
                for start in range(0, len(hashes), _AT_ONCE):
                    part = hashes[start : start + _AT_ONCE]
                    marks = ",".join("?" * len(part))
                    query = f"SELECT text_hash, vector, calls FROM vectors WHERE text_hash IN ({marks})"  # noqa: S608
                    for key, blob, calls in database.execute(query, part):
                        read = replay(call_from_json(call) for call in json.loads(calls))
                        found[by_hash[key]] = Stored(np.frombuffer(blob, dtype="<f4").astype(np.float32), read)
        except sqlite3.Error as error:
            raise self._failed(error) from error
        return found

    def save(self, new: Mapping[str, Stored]) -> None:
        """Keep vectors; those of texts that are stored already stay as they are.

        Raises ``StorageError`` where their dimension is not the one of the stored vectors: then the model behind the
        same name has changed, and the two must not be mixed.
        """
        rows = [
            (
                text_hash(text),
                stored.vector.astype("<f4").tobytes(),
                json.dumps([call_to_json(c) for c in stored.calls]),
            )
            for text, stored in new.items()
        ]
        try:
            with self._open() as database:
                first = database.execute("SELECT length(vector) FROM vectors LIMIT 1").fetchone()
                sizes = {len(vector) for _, vector, _ in rows} | {int(first[0]) if first else 0} - {0}
                if len(sizes) > 1:
                    raise self._changed(sorted(size // 4 for size in sizes))
                database.executemany("INSERT OR IGNORE INTO vectors VALUES (?, ?, ?)", rows)
        except sqlite3.Error as error:
            raise self._failed(error) from error

    def _open(self) -> _Connection:
        return _Connection(self.path)

    def _changed(self, dimensions: Sequence[int]) -> StorageError:
        found = " and ".join(str(dimension) for dimension in dimensions)
        return StorageError(
            f"{self.path}: vectors of {found} dimensions under one embedder's name: the model that its server runs has "
            "changed. Name the new model otherwise, or delete this file to embed everything again."
        )

    def _failed(self, error: Exception) -> StorageError:
        return StorageError(f"{self.path}: vectors cannot be stored ({error}); check free space and permissions.")


class _Connection:
    """A transaction that closes its connection; sqlite3's own context manager leaves it open."""

    def __init__(self, path: Path) -> None:
        self._connection = sqlite3.connect(path, timeout=_WAIT_S)

    def __enter__(self) -> sqlite3.Connection:
        return self._connection

    def __exit__(self, kind: object, *_: object) -> None:
        try:
            if kind is None:
                self._connection.commit()
        finally:
            self._connection.close()
