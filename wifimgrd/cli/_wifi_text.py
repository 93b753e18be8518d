"""The text of a Wi-Fi QR code: `WIFI:T:WPA;S:name;P:password;;`."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Final

_LONGEST: Final = 512
"""Longer than any such text with 32 bytes of SSID and 64 of password, each escaped."""
_MEMBER: Final = r"([A-Za-z][A-Za-z0-9]*):((?:\\.|[^\\;])*)(?:;+|$)"
"""Generators leave out the last semicolons, and Samsung's adds a control character."""
_WHOLE: Final = re.compile(rf"WIFI:(?:{_MEMBER})+", re.IGNORECASE)
_CHARACTER: Final = re.compile(r"\\.|[^\\]", re.DOTALL)
_CONTROL: Final = "".join(map(chr, (*range(0x21), 0x7F)))


@dataclass(frozen=True, slots=True)
class WifiText:
    """A network, as a QR code has it."""

    ssid: str
    password: str = field(repr=False)
    """Empty for an open network."""


def is_wifi_text(text: str) -> bool:
    """Whether a text is meant as that of a Wi-Fi QR code, even if it cannot be read."""
    return text.lstrip()[:5].upper() == "WIFI:"


def wifi_text(text: str) -> WifiText | None:
    """The network and the password in such a text; None if it has no network, or is something else."""
    trimmed = text.lstrip().rstrip(_CONTROL)
    if len(trimmed) > _LONGEST or not _WHOLE.fullmatch(trimmed):
        return None
    members: dict[str, str] = {}
    for name, value in re.findall(_MEMBER, trimmed.partition(":")[2]):
        members.setdefault(name.upper(), _unescaped(value))
    if not members.get("S"):
        return None
    is_open = members.get("T", "").casefold() == "nopass"
    return WifiText(members["S"], "" if is_open else members.get("P", ""))


def _unescaped(value: str) -> str:
    """A value without its escapes, and without the quotes around it: NetworkManager puts one that could be
    taken for hexadecimal digits in quotes. A quote that belongs to the value is escaped."""
    characters = _CHARACTER.findall(value)
    if len(characters) > 1 and characters[0] == characters[-1] == '"':
        characters = characters[1:-1]
    return "".join(one[-1] for one in characters)
