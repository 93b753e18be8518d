"""NetworkManager's profile files (nm-settings-keyfile(5)): the networks in them that cameras may have."""

from __future__ import annotations

import configparser
import re
from collections.abc import Mapping
from typing import Final

from wifimgrd.cli._entries import Entry
from wifimgrd.domain.device import Passphrase

_WIFI_TYPES: Final = ("wifi", "802-11-wireless")
_BYTES: Final = re.compile(r"\s*[0-9]{1,3}\s*(?:;\s*[0-9]{1,3}\s*)*;?\s*")
_ESCAPE: Final = re.compile(r"\\(.?)", re.DOTALL)
_ESCAPES: Final = {"s": " ", "n": "\n", "t": "\t", "r": "\r", "\\": "\\"}
"""Those of GKeyFile's strings."""
_NOT_IN_FILE: Final = 0x1 | 0x2
"""The flags of a secret that an agent has, or that nobody stores."""
_WITH_PASSWORD: Final = ("wpa-psk", "sae")
_OPEN: Final = ("none", "owe")


def is_profile(text: str) -> bool:
    """Whether a text is meant as a profile."""
    return any(line.strip() == "[connection]" for line in text.splitlines())


def profile_entry(text: str, where: str) -> Entry | None:
    """The network of a profile; None if the profile is not of a network that this host joins over Wi-Fi."""
    parser = configparser.ConfigParser(
        delimiters=("=",),
        comment_prefixes=("#",),
        empty_lines_in_values=False,
        strict=False,
        interpolation=None,
        default_section="\n",
    )
    parser.optionxform = str  # type: ignore[assignment, method-assign]
    try:
        # GKeyFile has no values of several lines, which ConfigParser takes indented lines for.
        parser.read_string("\n".join(line.lstrip() for line in text.splitlines()))
    except configparser.Error as error:
        return Entry(where, problem=f"not a profile of NetworkManager: {type(error).__name__}")
    profile = {name: dict(parser[name]) for name in parser.sections()}
    connection = profile.get("connection", {})
    network = profile.get("wifi") or profile.get("802-11-wireless") or {}
    if connection.get("type") not in _WIFI_TYPES or network.get("mode", "infrastructure") != "infrastructure":
        return None
    try:
        ssid = _octets(network["ssid"])
    except (KeyError, ValueError):
        return Entry(where, problem="the profile has no valid SSID")
    entry = _secured(profile, Entry(where, ssid))
    name = _string(connection.get("id", ""))
    if name and name.encode() != ssid:
        entry.settings["name"] = name
    return entry


def _secured(profile: Mapping[str, Mapping[str, str]], entry: Entry) -> Entry:
    """The entry with its password, or why it has none."""
    security = profile.get("wifi-security") or profile.get("802-11-wireless-security")
    management = "" if security is None else security.get("key-mgmt", "none").strip()
    if security is None or (management in _OPEN and not any("wep-key" in key for key in security)):
        return entry.with_password(Passphrase(""))
    if management not in _WITH_PASSWORD:
        kind = "WEP" if management == "none" else management
        return entry.with_problem(f"its security is {kind}, which cameras do not have")
    flags = security.get("psk-flags", "0").strip()
    if (flags.isascii() and flags.isdecimal() and int(flags[:9]) & _NOT_IN_FILE) or "psk" not in security:
        return entry.with_problem(
            "its password is not in the file: NetworkManager does not store it, or leaves it to a keyring"
        )
    return entry.with_password(Passphrase(_string(security["psk"])))


def _string(value: str) -> str:
    """A value without GKeyFile's escapes; one that it does not have stays as it is."""
    return _ESCAPE.sub(lambda found: _ESCAPES.get(found[1], found[0]), value)


def _octets(value: str) -> bytes:
    """An SSID: a list of numbers, each followed by a semicolon, or else a text in which semicolons are
    escaped. Raises ValueError."""
    if ";" in value and _BYTES.fullmatch(value):
        return bytes(int(one) for one in value.split(";") if one.strip())
    return _string(value).replace(r"\;", ";").encode()
