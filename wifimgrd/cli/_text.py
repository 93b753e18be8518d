"""Text for a terminal: dangerous characters escaped, width in columns, colours by name."""

from __future__ import annotations

import unicodedata
from enum import StrEnum
from typing import Final

from wifimgrd.domain.camera_state import CameraState

ABSENT: Final = "-"
_ELLIPSIS: Final = "…"


class Style(StrEnum):
    """The meaning of a piece of text beside its words, as parameters of SGR (ECMA-48)."""

    PLAIN = ""
    STRONG = "1"
    FAINT = "2"
    BAD = "31"
    GOOD = "32"
    BUSY = "33"


STYLE_OF_STATE: Final = {
    CameraState.CONNECTED: Style.GOOD,
    CameraState.CONNECTING: Style.BUSY,
    CameraState.WAKING: Style.BUSY,
    CameraState.WAITING: Style.BUSY,
    CameraState.SEARCHING: Style.BUSY,
    CameraState.NOT_ANSWERING: Style.BUSY,
    CameraState.FAILED: Style.BAD,
    "available": Style.GOOD,
    "unavailable": Style.BAD,
    "ready": Style.GOOD,
    "starting": Style.BUSY,
}
"""States of cameras, interfaces and backends that are shown in a style."""


def safe(text: object) -> str:
    """Text whose unprintable characters are escaped as in Python, so that no name can move the
    cursor, turn the direction of writing or end a line; None and "" become `-`."""
    shown = ABSENT if text is None or text == "" else str(text)
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in shown)


def width(text: str) -> int:
    """The columns of printable text on a terminal."""
    return sum(map(_columns, text))


def shortened(text: str, columns: int) -> str:
    """Text cut to at most `columns` columns, with an ellipsis if a part is missing."""
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
    """Text in a style, if there is colour."""
    return f"\x1b[{style}m{text}\x1b[0m" if colour and style else text


def _columns(character: str) -> int:
    if unicodedata.combining(character) or unicodedata.category(character) in {"Mn", "Me"}:
        return 0
    return 2 if unicodedata.east_asian_width(character) in {"W", "F"} else 1
