"""How programs print a name with quotes, backslashes, control characters or bytes that are not text."""

from __future__ import annotations

import json
from collections.abc import Iterator
from urllib.parse import quote, quote_plus

_BACKSLASHED = {0x07: "a", 0x08: "b", 0x09: "t", 0x0A: "n", 0x0B: "v", 0x0C: "f", 0x0D: "r", 0x1B: "e"}
_SHORTEST = 3
_FEWEST_FOR_HEX = 3
"""Bytes: a shorter name in hexadecimal could be any number."""


def spellings(data: bytes) -> set[str]:
    """The forms in which logs and JSON contain a name, except those that could be anything."""
    plain = data.decode("utf-8", "replace")
    once = set(_spellings(data))
    # JSON within JSON, and logs that quote what was escaped.
    twice = {
        json.dumps(spelling, ensure_ascii=ascii_alone)[1:-1]
        for spelling in once
        for ascii_alone in (False, True)
    }
    found = {spelling for spelling in once | twice if len(spelling) >= _SHORTEST}
    return found | {plain} if plain else found


def _spellings(data: bytes) -> Iterator[str]:
    for text in _texts(data):
        yield text
        yield text.replace("\\", "\\\\")
        for ascii_alone in (False, True):
            yield json.dumps(text, ensure_ascii=ascii_alone)[1:-1]
        for written in (repr(text), ascii(text)):
            yield written[1:-1]
        yield text.replace("\\", "\\\\").replace("'", "\\'")
        yield text.replace("\\", "\\\\").replace('"', '\\"')
        yield quote(text, safe="", errors="replace")
        yield quote(text, errors="replace")
        yield quote_plus(text, errors="replace")
    yield repr(data)[2:-1]
    # wpa_supplicant (printf_encode), GLib (g_strescape, in NetworkManager) and systemd (cescape).
    for number in ("\\x{:02x}", "\\{:03o}"):
        for quotes in ('"', "'", "\"'", ""):
            for letters in (_BACKSLASHED, {}):
                for keep_high in (False, True):
                    yield _escaped(data, number, quotes, letters, keep_high=keep_high)
    if len(data) >= _FEWEST_FOR_HEX:
        for hexadecimal in (data.hex(), data.hex(" "), data.hex(":"), data.hex("-")):
            yield hexadecimal
            yield hexadecimal.upper()
        yield " ".join(map(str, data))
        yield ", ".join(map(str, data))


def _texts(data: bytes) -> Iterator[str]:
    for errors in ("replace", "backslashreplace"):
        text = data.decode("utf-8", errors)
        yield text
        # Unprintable characters escaped as in Python: `Ssid.printable`.
        yield "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)
    yield data.decode("latin-1")
    yield "".join(chr(byte) if byte < 0x80 else "?" for byte in data)


def _escaped(data: bytes, number: str, quotes: str, letters: dict[int, str], *, keep_high: bool) -> str:
    """Escape as C programs do: some bytes by a letter, other unprintable ones by a number."""
    written = bytearray()
    for byte in data:
        character = chr(byte)
        if character == "\\" or character in quotes:
            written += b"\\" + bytes([byte])
        elif " " <= character <= "~" or (keep_high and byte >= 0x80):
            written.append(byte)
        elif byte in letters:
            written += b"\\" + letters[byte].encode()
        else:
            written += number.format(byte).encode()
    return written.decode("utf-8", "replace")
