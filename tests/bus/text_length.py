"""Whether the D-Bus library writes text that is not ASCII.

dbus-fast 1.84.2, which Debian 12 has, writes the number of characters where the number of bytes
belongs, so that no program can read such a message. The tests keep to ASCII there (docs/architecture.md).
"""

from __future__ import annotations

from typing import Final

from wifimgrd.bus import library


def _writes_any_text() -> bool:
    message = library.signal("/a", "b.c", "D", "s", ["\u00e9"])
    message.serial = 1
    return b"\x02\x00\x00\x00\xc3\xa9\x00" in library.to_bytes(message, sockets=False)


ANY_TEXT: Final = _writes_any_text()
