"""Make text that a model or a file wrote safe for a terminal: nothing in it can move the cursor or turn a line."""

from __future__ import annotations

import re
import unicodedata

_KEPT = {"\n", "\t"}
_INVISIBLE = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}
"""Unicode categories: control, format (with the bidirectional marks), surrogate, private, unassigned, separator."""
_JOINERS = {"\u200d", "\u200c"}
"""Zero-width joiners stay: emoji and several scripts need them, and they move nothing."""

_TO_BE_LOOKED_AT = re.compile(r"[^\n\t\x20-\x7e\xa0-\xac\xae-\u02ff]")
"""Everything but line breaks and the letters and signs of Latin scripts, none of which is of these categories."""


def plain(text: str, single_line: bool = False) -> str:
    """Replace control characters, ANSI escapes' ESC and bidirectional marks by something visible.

    C0 controls become their pictures (ESC is ``␛``), everything else of that kind ``<U+202E>``. Line breaks and tabs
    stay unless ``single_line``, where they become spaces. ``\\r\\n`` is a line break, a lone ``\\r`` is shown.
    """
    text = text.replace("\r\n", "\n")
    if single_line:
        text = " ".join(text.split("\n")).replace("\t", " ")
    if text.isascii() and text.isprintable():
        return text
    return _TO_BE_LOOKED_AT.sub(lambda found: _visible(found.group()), text)


def shorten(text: str, width: int) -> str:
    """One safe line of at most ``width`` characters, with an ellipsis where something was cut."""
    line = plain(text[: width * 4 + 16], single_line=True)
    return line if len(line) <= width and len(text) <= width * 4 + 16 else line[: max(width - 1, 0)].rstrip() + "…"


def _visible(character: str) -> str:
    if character in _KEPT or character in _JOINERS or unicodedata.category(character) not in _INVISIBLE:
        return character
    code = ord(character)
    if code < 0x20:
        return chr(0x2400 + code)
    return "␡" if code == 0x7F else f"<U+{code:04X}>"
