"""How the views lay out their tables: as the whole project does."""

from __future__ import annotations

from runner.text.tables import table_or_blocks

__all__ = ["table_or_blocks"]
