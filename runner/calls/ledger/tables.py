"""The tables of the ledger as the code of today reads and writes them; ``migrations`` makes them."""

from __future__ import annotations

from sqlalchemy import Column, Float, Integer, LargeBinary, MetaData, Table, Text

metadata = MetaData()

requests = Table(
    "requests",
    metadata,
    Column("key", Text, primary_key=True),
    Column("identity", Text, nullable=False),
    Column("path", Text, nullable=False),
    Column("body", LargeBinary, nullable=False),
    Column("repeat_index", Integer, nullable=False),
    Column("reask_index", Integer, nullable=False),
    Column("occurrence_index", Integer, nullable=False),
    Column("asked_at", Text, nullable=False),
)
"""What was asked, as it was meant: one row for a key."""

attempts = Table(
    "attempts",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("key", Text, nullable=False),
    Column("number", Integer, nullable=False),
    Column("status", Text, nullable=False),
    Column("replayed", Integer, nullable=False),
    Column("possibly_paid", Integer, nullable=False),
    Column("http_status", Integer),
    Column("stage", Text, nullable=False),
    Column("run", Text, nullable=False),
    Column("question", Text, nullable=False),
    Column("sweep", Text, nullable=False),
    Column("provider", Text, nullable=False),
    Column("asked_model", Text, nullable=False),
    Column("model", Text, nullable=False),
    Column("input_tokens", Integer),
    Column("output_tokens", Integer),
    Column("cached_input_tokens", Integer),
    Column("cache_write_tokens", Integer),
    Column("reasoning_tokens", Integer),
    Column("input_cost", Text),
    Column("output_cost", Text),
    Column("total_cost", Text),
    Column("worst_case", Text),
    Column("price_source", Text, nullable=False),
    Column("started_at", Text, nullable=False),
    Column("latency_s", Float, nullable=False),
    Column("request_bytes", Integer, nullable=False),
    Column("sent", Text, nullable=False),
    Column("provider_request_id", Text, nullable=False),
    Column("detail", Text, nullable=False),
    Column("response", LargeBinary),
)
"""Every try on the wire: one row each, never changed afterwards."""

claims = Table(
    "claims",
    metadata,
    Column("key", Text, primary_key=True),
    Column("owner", Text, nullable=False),
    Column("sweep", Text, nullable=False),
    Column("taken_at", Text, nullable=False),
)
"""Which process is asking for a key right now."""

owners = Table(
    "owners",
    metadata,
    Column("id", Text, primary_key=True),
    Column("host", Text, nullable=False),
    Column("lock_file", Text, nullable=False),
    Column("lease_until", Float, nullable=False),
)
"""The processes that have the ledger open; a claim lives no longer than its owner's lease."""

reservations = Table(
    "reservations",
    metadata,
    Column("id", Text, primary_key=True),
    Column("owner", Text, nullable=False),
    Column("sweep", Text, nullable=False),
    Column("amount", Text, nullable=False),
)
"""Money that attempts under way may cost at worst, where a sweep has a cap."""

spending = Table(
    "spending",
    metadata,
    Column("sweep", Text, primary_key=True),
    Column("amount", Text, nullable=False),
)
"""What the settled attempts of a sweep with a cap have cost, worst cases included."""

texts = Table(
    "texts",
    metadata,
    Column("kind", Text, primary_key=True),
    Column("id", Text, primary_key=True),
    Column("version", Text, primary_key=True),
    Column("hash", Text, nullable=False),
    Column("text", Text, nullable=False),
    Column("first_seen", Text, nullable=False),
)
"""Which text a version of a rubric or prompt had when it was first used."""
