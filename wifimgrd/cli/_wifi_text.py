"""The text of a Wi-Fi QR code: `WIFI:T:WPA;S:name;P:password;;`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from wifimgrd.cli._entries import unsupported
from wifimgrd.domain.device_values import is_wifi_text

_LONGEST: Final = 512
"""More characters than any such text has with 32 bytes of SSID and 64 of password, each escaped."""
_MEMBER: Final = r"([A-Za-z][A-Za-z0-9]*):((?:\\.|[^\\;])*)(?:;+|\Z)"
"""Generators leave out the last semicolons, and Samsung's adds a control character."""
_WHOLE: Final = re.compile(rf"(?:{_MEMBER})+", re.DOTALL)
_MEMBERS: Final = re.compile(_MEMBER, re.DOTALL)
_CHARACTER: Final = re.compile(r"\\.|[^\\]", re.DOTALL)
_CONTROL: Final = "".join(map(chr, (*range(0x21), 0x7F)))
_OF_ENTERPRISE: Final = ("E", "PH2", "A")
"""EAP method, its second phase and the anonymous identity."""
_OPEN: Final = ("", "nopass")
"""The kinds of a network without a password; a text may leave its kind out."""
_FAULTS: Final[Mapping[str, str]] = {
    "": "",
    "password-missing": "a password is missing: the text says that its network has one",
    "password-unused": "the text has a password, and says that its network has none (T:nopass)",
}
"""The faults of a text that can be read."""


@dataclass(frozen=True, slots=True)
class WifiText:
    """A network, as a QR code has it."""

    ssid: str
    password: str = field(repr=False)
    """Empty for an open network."""
    unsupported: str = ""
    """The security that it has, if that is one that cameras do not have."""
    fault: str = ""
    """The fault of its password: a key of `_FAULTS`."""

    @property
    def problem(self) -> str:
        """Why its network is not registered, in words; empty if it may be."""
        return unsupported(self.unsupported) if self.unsupported else _FAULTS[self.fault]


def wifi_text(text: str) -> WifiText | None:
    """The network and the password in such a text; None if it has no network, or is something else. The page
    reads the same texts (frontend/src/wifi_text.ts)."""
    content = text.partition(":")[2].rstrip(_CONTROL) if is_wifi_text(text) else ""
    if len(content) > _LONGEST or not _WHOLE.fullmatch(content):
        return None
    members: dict[str, str] = {}
    for name, value in _MEMBERS.findall(content):
        members.setdefault(name.upper(), _unescaped(value))
    if not members.get("S"):
        return None
    kind, password = members.get("T", "").lower(), members.get("P", "")
    return WifiText(members["S"], password, _unsupported(kind, members), _fault(kind, password))


def _fault(kind: str, password: str) -> str:
    """The fault of a password: an incomplete text never means an open network, and no password is dropped."""
    if password:
        return "password-unused" if kind == "nopass" else ""
    return "" if kind in _OPEN else "password-missing"


def _unsupported(kind: str, members: Mapping[str, str]) -> str:
    if "eap" in kind or any(members.get(name) for name in _OF_ENTERPRISE):
        return "802.1X"
    if kind == "wep":
        return "WEP"
    return "SAE with a password identifier" if members.get("I") else ""


def _unescaped(value: str) -> str:
    """A value without its escapes, and without the quotes around it: NetworkManager puts one that could be
    taken for hexadecimal digits in quotes. A quote that belongs to the value is escaped."""
    characters = _CHARACTER.findall(value)
    if len(characters) > 1 and characters[0] == characters[-1] == '"':
        characters = characters[1:-1]
    return "".join(one[-1] for one in characters)
