"""Reads a report as its reader does."""

from __future__ import annotations

import html
import re


def words_of(page: str) -> str:
    """The text of a report, cells of tables between bars."""
    text = re.sub(r"<style.*?</style>|<script.*?</script>|<svg.*?</svg>", "", page, flags=re.DOTALL)
    text = re.sub(r"<tr\b|</t[dh]>", " | <", text)
    return " ".join(html.unescape(re.sub(r"<[^>]*>", " ", text)).split())
