"""Replaces names that strangers must not see by aliases."""

from __future__ import annotations

import hashlib
import hmac
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from ipaddress import AddressValueError, IPv6Address
from typing import Any, Final

from wifimgrd.report._spellings import spellings

_HEX: Final = "[0-9A-Fa-f]"
_LOCAL_ADDRESSES: Final = frozenset({"000000000000", "ffffffffffff"})
# A text of this form that is not an address, such as a time, stays as it is.
_IPV6: Final = re.compile(rf"(?<![\w:]){_HEX}{{0,4}}(?::{_HEX}{{0,4}}){{2,7}}(?![\w:])")
_EUI64: Final = re.compile(rf"(?<![\w:-])(?:{_HEX}{{2}}[:_-]){{7}}{_HEX}{{2}}(?![\w:-])")
_MAC: Final = re.compile(rf"(?<![0-9A-Fa-f:])(?:{_HEX}{{2}}[:_-]){{5}}{_HEX}{{2}}(?![0-9A-Fa-f:])")
_DOTTED_MAC: Final = re.compile(rf"(?<![\w.])(?:{_HEX}{{4}}\.){{2}}{_HEX}{{4}}(?![\w.])")
# Without separators, also in an interface's name (systemd.net-naming-scheme(7)).
_BARE: Final = re.compile(
    rf"(?<![A-Za-z0-9])(?P<lead>(?:wl|en|ww|ib)x)?(?P<hex>{_HEX}{{16}}|{_HEX}{{12}})(?![A-Za-z0-9])"
)
_MIDDLE: Final = "fffe"
"""Of an EUI-64 that was made from a MAC address (RFC 4291, appendix A)."""
_MOST_OF_A_NAME: Final = 400
# How NetworkManager, wpa_supplicant, the kernel and wifimgrd print the name of a network in their logs.
# To the line's last quote: a name may contain quotes.
_NETWORK: Final = re.compile(
    r"""(?P<lead>(?:SSID|ssid)(?:'\s+value\s+|[=:]\s*|\s+)|connection\s+(?:to\s+)?|network\s+|camera\s+of\s+)"""
    rf"""(?P<quote>['"])(?P<name>[^\n]{{0,{_MOST_OF_A_NAME}}})(?P=quote)"""
)
# How wifimgrd prints the name of a device, which may have been removed since.
_DEVICE: Final = re.compile(
    rf"""(?P<lead>)(?P<quote>")(?P<name>[^\n]{{0,{_MOST_OF_A_NAME}}}?)"""
    r""""(?=\ \(device\ [0-9]+\)|:\ no\ Wi-Fi\ interface|:\ the\ camera\ is\ asleep|\ is\ being\ removed)"""
)
_IN_SENTENCE: Final = re.compile(
    r"""(?P<lead>\b(?:in\ use\ by|reserved\ for|needed\ for|registered\ for|that\ camera\ is)\ )"""
    rf"""(?P<quote>")(?P<name>[^\n]{{0,{_MOST_OF_A_NAME}}}?)"(?=[),.;:]|\s|$)"""
)
# A tileset's or a group's, which may be any word.
_PLAIN_NAME: Final = re.compile(r"(?P<lead>\b(?:tileset=|group=|group \"))(?P<quote>)(?P<name>[\w.-]+)")
_UNKNOWN: Final = (("SSID", _DEVICE), ("SSID", _IN_SENTENCE), ("SSID", _NETWORK), ("SETTING", _PLAIN_NAME))
"""Names that were not said to be ones, and the kind of their alias."""
# None of the data that is read contains one; that of a later program version might.
_SECRET: Final = re.compile(
    r"(?i)\b((?:wifi[-_ ])?(?:psk|password|passphrase|wep[-_]key\d?|sae[-_]password|pin|token))"
    r"(?P<sign>\"?\s*[=:]\s*|'\s+value\s+)('[^']*'|\"[^\"]*\"|[^\s,;'\"]+)"
)
_SHORTEST: Final = 2
"""Bytes: a shorter name is replaced only if it is a whole value, not in the text of a log."""
_LONG: Final = 6
"""Characters: such a name is replaced within longer words, too."""
_DIGITS: Final = 6
_BEGIN: Final = r"(?:(?<![^\W_])|(?<=\\\w)|(?<=\\x\w\w)|(?<=\\\d\d\d)|(?<=%\w\w))"
_END: Final = r"(?![^\W_])"
_FIRST_MARK: Final = 0xF0000
_LAST_MARK: Final = 0x10FFFE
"""All that do not fit share it."""
_SEPARATOR: Final = "\U0010ffff"
_MARKS: Final = re.compile(f"[{chr(_FIRST_MARK)}-{chr(_LAST_MARK)}]")
_NO_TEXT: Final = re.compile(f"[{chr(_FIRST_MARK)}-{_SEPARATOR}]")


class Anonymizer:
    """Replaces names of persons, places and things by aliases: the same alias for the same name."""

    def __init__(self, key: bytes) -> None:
        """`key` belongs to this computer, such as its machine id: the aliases are stable as long as it is.
        Without the key, aliases cannot be matched by trying names."""
        self._key = key
        self._known: dict[str, str] = {}
        """The alias of each spelling of a name."""

    def hide(self, kind: str, names: Iterable[str | bytes]) -> None:
        """From now on each of `names` is replaced by `KIND-...` wherever it occurs, in any escaped form."""
        for name in names:
            data = name.encode("utf-8", "surrogatepass") if isinstance(name, str) else name
            alias = self.of(kind, data.decode("utf-8", "replace"))
            for spelling in spellings(data):
                self._known.setdefault(_unmarked(spelling), alias)

    def of(self, kind: str, name: str) -> str:
        """The alias of a name."""
        digest = hmac.new(self._key, f"{kind}\0{name}".encode("utf-8", "replace"), hashlib.sha256)
        return f"{kind}-{digest.hexdigest()[:_DIGITS]}"

    def applied(self, text: str) -> str:
        """A text with aliases in place of names and addresses, and without anything that may be a secret."""
        [replaced] = self._applied([text], _SHORTEST)
        return replaced

    def applied_to_value(self, value: Any) -> Any:
        """The same for each text in a JSON value; names of members stay as they are."""
        texts = list(dict.fromkeys(_texts_in(value)))
        aliases = dict(zip(texts, self._applied(texts, 1), strict=True))
        aliases |= {text: self._known[text] for text in texts if text in self._known}
        return _with_texts(value, aliases)

    def _applied(self, texts: Sequence[str], shortest: int) -> list[str]:
        """Each alias is one character until the end, so that no later step finds a name within it."""
        marks = _Marks()
        joined = _SEPARATOR.join(_unmarked(text) for text in texts)
        # The longest first: one name may be part of another.
        for name in sorted(self._known, key=len, reverse=True):
            if len(name.encode()) >= shortest and name in joined:
                joined = _replaced(joined, name, marks.of(self._known[name]))
        return [self._without_unknown(text, marks) for text in joined.split(_SEPARATOR)]

    def _without_unknown(self, text: str, marks: _Marks) -> str:
        text = _SECRET.sub(lambda found: f"{found[1]}{found['sign']}<hidden>", text)
        for kind, pattern in _UNKNOWN:
            text = pattern.sub(partial(self._name, kind, marks), text)
        for pattern in (_EUI64, _IPV6, _MAC, _DOTTED_MAC, _BARE):
            text = pattern.sub(lambda found: self._address(found, marks), text)
        return _MARKS.sub(lambda found: marks.alias(found[0]), text)

    def _name(self, kind: str, marks: _Marks, found: re.Match[str]) -> str:
        name = found["name"]
        hidden = name if not name or _MARKS.fullmatch(name) else marks.of(self.of(kind, _MARKS.sub("", name)))
        return f"{found['lead']}{found['quote']}{hidden}{found['quote']}"

    def _address(self, found: re.Match[str], marks: _Marks) -> str:
        lead = found.groupdict().get("lead") or ""
        mac = _mac_of(found[0][len(lead) :])
        if mac is None or mac in _LOCAL_ADDRESSES:
            return found[0]
        return (lead and f"{lead}-") + marks.of(self.of("MAC", mac))


class _Marks:
    """Characters that stand for aliases."""

    def __init__(self) -> None:
        self._aliases: dict[str, str] = {}
        self._marks: dict[str, str] = {}

    def of(self, alias: str) -> str:
        mark = self._marks.setdefault(alias, chr(min(_FIRST_MARK + len(self._marks), _LAST_MARK)))
        self._aliases.setdefault(mark, alias)
        return mark

    def alias(self, mark: str) -> str:
        return self._aliases[mark]


def _unmarked(text: str) -> str:
    return _NO_TEXT.sub("\ufffd", text)


def _texts_in(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for one in value.values():
            yield from _texts_in(one)
    elif isinstance(value, list | tuple):
        for one in value:
            yield from _texts_in(one)


def _with_texts(value: Any, texts: Mapping[str, str]) -> Any:
    if isinstance(value, str):
        return texts[value]
    if isinstance(value, Mapping):
        return {key: _with_texts(one, texts) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [_with_texts(one, texts) for one in value]
    return value


def _replaced(text: str, name: str, mark: str) -> str:
    """Replace a name, a short one only if it is not part of a longer word; a name may follow an escape."""
    if len(name) >= _LONG:
        return text.replace(name, mark)
    before = _BEGIN if name[0].isalnum() else ""
    after = _END if name[-1].isalnum() else ""
    return re.sub(f"{before}{re.escape(name)}{after}", mark, text)


def _mac_of(text: str) -> str | None:
    """The MAC address in a text, or the one that an EUI-64 or IPv6 address was made from: twelve digits."""
    digits = re.sub("[-_:.]", "", text).lower()
    groups = re.split("[-_:.]", text)
    if len(digits) == 12 and "::" not in text:
        return digits
    if len(digits) == 16 and {len(group) for group in groups} in ({2}, {16}):
        return digits[:6] + digits[10:] if digits[6:10] == _MIDDLE else None
    try:
        identifier = IPv6Address(text).packed[8:]
    except AddressValueError:
        return None
    if identifier.hex()[6:10] != _MIDDLE:
        return None
    return bytes([identifier[0] ^ 2, *identifier[1:3], *identifier[5:]]).hex()
