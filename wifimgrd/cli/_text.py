"""Text for a terminal: dangerous characters escaped, width in columns, colours by name."""

from __future__ import annotations

import re
import unicodedata
from enum import StrEnum
from typing import Final

from wifimgrd.domain.camera_state import CameraState

ABSENT: Final = "-"
_ELLIPSIS: Final = "…"
_STYLE: Final = re.compile(r"\x1b\[[0-9;]*m")
_WORD: Final = re.compile(r" *[^ ]+")


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
    CameraState.RECOVERING: Style.BUSY,
    CameraState.NOT_RECORDING: Style.BAD,
    CameraState.STILL_RECORDING: Style.BAD,
    CameraState.RECORDING_UNCONFIRMED: Style.BAD,
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
    """The columns of printable text on a terminal; styles have none."""
    return sum(map(_columns, _STYLE.sub("", text)))


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


def wrapped(text: str, columns: int, indent: int = 0) -> list[str]:
    """Printable text in lines of at most `columns` columns, those behind the first one indented. Lines are
    broken at blanks, and within a word only where it is longer than a line; styles take no columns."""
    if width(text) <= columns:
        return [text]
    indent = indent if 2 * indent < columns else 0
    lines: list[str] = []
    line = ""
    for word in _WORD.findall(text):
        if width(line) + width(word) <= columns:
            line += word
            continue
        if line:
            lines.append(line)
            word = word.lstrip(" ")  # noqa: PLW2901 - the blanks are where the line ends
            line = " " * indent
        while width(line) + width(word) > columns:
            head, word = _cut(word, columns - width(line))  # noqa: PLW2901 - what is left of it
            lines.append(line + head)
            line = " " * indent
        line += word
    return [*lines, line]


def _cut(word: str, columns: int) -> tuple[str, str]:
    """The beginning of a word that has that many columns, and the rest; one character at least."""
    end = taken = 0
    while end < len(word):
        style = _STYLE.match(word, end)
        taken += 0 if style else _columns(word[end])
        if taken > max(columns, 2):
            break
        end = style.end() if style else end + 1
    return word[:end], word[end:]


def styled(text: str, style: Style, *, colour: bool) -> str:
    """Text in a style, if there is colour."""
    return f"\x1b[{style}m{text}\x1b[0m" if colour and style else text


def _columns(character: str) -> int:
    if unicodedata.combining(character) or unicodedata.category(character) in {"Mn", "Me"}:
        return 0
    return 2 if unicodedata.east_asian_width(character) in {"W", "F"} else 1
