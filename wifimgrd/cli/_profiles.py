"""NetworkManager's profile files (nm-settings-keyfile(5)): the networks in them that cameras may have.

They are key files as GLib reads them (GKeyFile): groups of keys, each on a line of its own.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from wifimgrd.cli._entries import Entry, unsupported
from wifimgrd.domain.device import Passphrase

_BLANKS: Final = " \t\f\r"
_GROUP: Final = re.compile(r"\[([^\[\]\x00-\x1f\x7f]+)\][ \t]*")
_PAIR: Final = re.compile(rf"([^=\[\]]*[^=\[\]{_BLANKS}])(\[[\w.@-]+\])?[{_BLANKS}]*=[{_BLANKS}]*(.*)")
_ESCAPE: Final = re.compile(r"\\(.?)", re.DOTALL)
_ESCAPES: Final = {"s": " ", "n": "\n", "t": "\t", "r": "\r", "\\": "\\"}

Groups = Mapping[str, Mapping[str, str]]
"""Group -> key -> value, as it stands in the file."""


class NotKeyFile(ValueError):
    """A text is not a key file; the sentence has the number of the line, and nothing of its content."""


def read_keyfile(text: str) -> Groups:
    """The groups of a key file; raises NotKeyFile.

    A line ends at LF, and blanks at its end belong to the value. Of two groups or keys with the same name the
    later one adds to the first, or replaces it. Translations of values are left out.
    """
    if "\0" in text:
        raise NotKeyFile("it has NUL characters")
    groups: dict[str, dict[str, str]] = {}
    group: dict[str, str] | None = None
    for number, whole in enumerate(text.replace("\r\n", "\n").split("\n"), 1):
        line = whole.lstrip(_BLANKS)
        if not line or line.startswith("#"):
            continue
        if found := _GROUP.fullmatch(line):
            group = groups.setdefault(found[1], {})
        elif group is not None and (found := _PAIR.fullmatch(line)):
            if found[2] is None:
                group[found[1]] = found[3]
        else:
            raise NotKeyFile(f"line {number} is neither a group nor a key with a value")
    return groups


def unescaped(value: str) -> str:
    """A string without its escapes; one that GLib does not know stays as it is."""
    return _ESCAPE.sub(lambda found: _ESCAPES.get(found[1], found[0] if found[1] else ""), value)


def is_well_escaped(value: str) -> bool:
    """Whether GLib knows each escape of a string; otherwise it says that there is an error, too."""
    return all(found[1] in _ESCAPES for found in _ESCAPE.finditer(value))


SUFFIX: Final = ".nmconnection"
_WIFI: Final = "802-11-wireless"
_SECURITY: Final = "802-11-wireless-security"
_SHORT: Final = {_WIFI: "wifi", _SECURITY: "wifi-security"}
"""NetworkManager looks for a key under these names where it is not under the long one."""
_ENTERPRISE: Final = "802-1x"
_BYTES: Final = re.compile(r"(?:[ \t\n\f\r]*[0-9]{1,3}[ \t\n\f\r]*;)+[ \t\n\f\r]*")
_NOT_IN_FILE: Final = 0x1 | 0x2
"""The flags of a secret that an agent has, or that nobody stores."""
_WITH_PASSWORD: Final = ("wpa-psk", "sae")
_OPEN: Final = ("none", "owe")
_OTHERS: Final = ("ieee8021x", "wpa-eap", "wpa-eap-suite-b-192")
"""Other words that NetworkManager has for key-mgmt; any word beyond these is not quoted."""
_WEP_AUTHENTICATION: Final = ("shared", "leap")


def is_profile(text: str) -> bool:
    """Whether a text whose name does not say it is a profile: a key file with the group of one, and nothing
    before its first group but comments."""
    lines = [line.strip() for line in text.split("\n")]
    first = next((line for line in lines if line and not line.startswith("#")), "")
    return first.startswith("[") and "[connection]" in lines


def profile_entry(text: str, where: str) -> Entry | None:
    """The network of a profile; None if the profile is not of a network that this host joins over Wi-Fi."""
    try:
        profile = read_keyfile(text)
    except NotKeyFile as error:
        return Entry(where, problem=f"not a profile of NetworkManager: {error}")
    connection, network = profile.get("connection", {}), _merged(profile, _WIFI)
    kind = connection.get("type", _WIFI if network else "")
    if not kind:
        return Entry(where, problem="not a profile of NetworkManager: it has no type")
    if kind not in (_WIFI, _SHORT[_WIFI]) or network.get("mode", "infrastructure") != "infrastructure":
        return None
    ssid = _encoded(network.get("ssid", ""))
    if not ssid:
        return Entry(where, problem="the profile has no valid SSID")
    entry = _secured(profile, Entry(where, ssid))
    name = unescaped(connection.get("id", ""))
    if name and name.encode() != ssid:
        entry.settings["name"] = name
    return entry


def _merged(profile: Groups, setting: str) -> Mapping[str, str]:
    """The keys of a setting, which may have either of its names, or both."""
    return {**profile.get(_SHORT[setting], {}), **profile.get(setting, {})}


def _secured(profile: Groups, entry: Entry) -> Entry:
    """The entry with its password, or why it has none. What is not said in full is never an open network."""
    security = _merged(profile, _SECURITY)
    if _ENTERPRISE in profile:
        return entry.with_problem(unsupported("802.1X"))
    if _SECURITY not in profile and _SHORT[_SECURITY] not in profile:
        return entry.with_password(Passphrase(""))
    management = security.get("key-mgmt", "").lower()
    has_password = security.get("psk", "") != ""
    if not management:
        return entry.with_problem("the profile does not say how its network is secured: it has no key-mgmt")
    if management in _OPEN:
        if any("wep-key" in key for key in security) or security.get("auth-alg") in _WEP_AUTHENTICATION:
            return entry.with_problem(unsupported("WEP"))
        if has_password:
            return entry.with_problem(f"the profile has a password, and with key-mgmt={management} uses none")
        return entry.with_password(Passphrase(""))
    if management not in _WITH_PASSWORD:
        return entry.with_problem(
            unsupported(management) if management in _OTHERS else "the profile has an unknown key-mgmt"
        )
    flags = security.get("psk-flags", "0").strip()
    if not has_password or (flags.isascii() and flags.isdecimal() and int(flags[:9]) & _NOT_IN_FILE):
        return entry.with_problem(
            "its password is not in the file: NetworkManager does not store it, or leaves it to a keyring"
        )
    if not is_well_escaped(security["psk"]):
        return entry.with_problem(
            "its password has a backslash that is not doubled, as NetworkManager does it"
        )
    return entry.with_password(Passphrase(unescaped(security["psk"])))


def _encoded(value: str) -> bytes:
    """An SSID: a list of numbers, each followed by a semicolon, or else a text in which semicolons may be
    escaped."""
    text = unescaped(value)
    if _BYTES.fullmatch(text):
        numbers = [int(one) for one in text.split(";") if one.strip()]
        if max(numbers) <= 0xFF:
            return bytes(numbers)
    return text.replace(r"\;", ";").encode()
