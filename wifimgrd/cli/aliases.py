"""Names that may be shown to strangers, in the place of those that may not."""

from __future__ import annotations

import hashlib
import hmac
import re
from collections.abc import Iterable
from typing import Final

_MAC: Final = re.compile(r"(?<![0-9A-Fa-f:])(?:[0-9A-Fa-f]{2}[:_-]){5}[0-9A-Fa-f]{2}(?![0-9A-Fa-f:])")
_LOCAL_ADDRESSES: Final = frozenset({"00:00:00:00:00:00", "ff:ff:ff:ff:ff:ff"})
_WLX: Final = re.compile(r"\bwlx([0-9a-f]{12})\b")
# How NetworkManager, wpa_supplicant and the kernel write the name of a network in their logs.
_NETWORK: Final = re.compile(
    r"""(?P<lead>(?:SSID|ssid)(?:'\s+value\s+|[=:]\s*|\s+)|connection\s+|network\s+)"""
    r"""(?P<quote>['"])(?P<name>[^'"]*)(?P=quote)"""
)
# Nothing that we read has one; a program of the future might.
_SECRET: Final = re.compile(
    r"(?i)\b((?:wifi[-_ ])?(?:psk|password|passphrase|wep[-_]key\d?|sae[-_]password|pin|token))"
    r"(?P<sign>\"?\s*[=:]\s*|'\s+value\s+)('[^']*'|\"[^\"]*\"|[^\s,;'\"]+)"
)
_SHORTEST: Final = 2
_DIGITS: Final = 6


class Aliases:
    """Replaces what names a person, a place or a thing by aliases: the same one for the same name."""

    def __init__(self, key: bytes) -> None:
        """`key` belongs to this computer, such as its machine id: aliases last as long as it does, and
        without it nobody can try names until one fits."""
        self._key = key
        self._known: dict[str, str] = {}

    def hide(self, kind: str, names: Iterable[str]) -> None:
        """From here on each of `names` is told as `KIND-...` wherever it stands."""
        for name in names:
            if len(name) >= _SHORTEST:
                self._known.setdefault(name, self.of(kind, name))

    def of(self, kind: str, name: str) -> str:
        """The alias of a name."""
        digest = hmac.new(self._key, f"{kind}\0{name}".encode("utf-8", "replace"), hashlib.sha256)
        return f"{kind}-{digest.hexdigest()[:_DIGITS]}"

    def applied(self, text: str) -> str:
        """A text with aliases in the place of names and addresses, and without anything that looks secret."""
        text = _SECRET.sub(lambda found: f"{found[1]}{found['sign']}<hidden>", text)
        # The longest first: one name may be part of another.
        for name in sorted(self._known, key=len, reverse=True):
            text = re.sub(rf"(?<!\w){re.escape(name)}(?!\w)", self._known[name].replace("\\", r"\\"), text)
        text = _NETWORK.sub(self._network, text)
        text = _WLX.sub(lambda found: "wlx-" + self.of("MAC", found[1]), text)
        return _MAC.sub(self._mac, text)

    def _network(self, found: re.Match[str]) -> str:
        name = found["name"]
        aliased = not name or re.fullmatch(rf"[A-Z]+-[0-9a-f]{{{_DIGITS}}}", name)
        told = name if aliased else self.of("SSID", name)
        return f"{found['lead']}{found['quote']}{told}{found['quote']}"

    def _mac(self, found: re.Match[str]) -> str:
        plain = re.sub("[-_]", ":", found[0]).lower()
        return found[0] if plain in _LOCAL_ADDRESSES else self.of("MAC", plain.replace(":", ""))
