"""Text fit for a terminal: hostile characters escaped, width in columns, colours by name."""

from __future__ import annotations

import unicodedata
from enum import StrEnum
from typing import Final

ABSENT: Final = "-"
_ELLIPSIS: Final = "…"


class Style(StrEnum):
    """What a piece of text says beside its words, as parameters of SGR (ECMA-48)."""

    PLAIN = ""
    STRONG = "1"
    FAINT = "2"
    BAD = "31"
    GOOD = "32"
    BUSY = "33"


STYLE_OF_STATE: Final = {
    "connected": Style.GOOD,
    "connecting": Style.BUSY,
    "disconnecting": Style.BUSY,
    "failed": Style.BAD,
    "available": Style.GOOD,
    "in-use": Style.BUSY,
    "unavailable": Style.BAD,
    "ready": Style.GOOD,
    "starting": Style.BUSY,
}
"""States of devices, interfaces and backends that are not plain."""


def safe(text: object) -> str:
    """Text whose unprintable characters are escaped as in Python, so that no name can move the
    cursor, turn the direction of writing or end a line; None and "" become `-`."""
    told = ABSENT if text is None or text == "" else str(text)
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in told)


def width(text: str) -> int:
    """The columns that printable text takes on a terminal."""
    return sum(map(_columns, text))


def shortened(text: str, columns: int) -> str:
    """Text cut to at most `columns` columns, with an ellipsis where something is missing."""
    if width(text) <= columns:
        return text
    kept, taken = [], 0
    for character in text:
        taken += _columns(character)
        if taken > columns - 1:
            break
        kept.append(character)
    return "".join(kept) + _ELLIPSIS


def styled(text: str, style: Style, *, colour: bool) -> str:
    """Text in a style, where there is colour."""
    return f"\x1b[{style}m{text}\x1b[0m" if colour and style else text


def _columns(character: str) -> int:
    if unicodedata.combining(character) or unicodedata.category(character) in {"Mn", "Me"}:
        return 0
    return 2 if unicodedata.east_asian_width(character) in {"W", "F"} else 1
