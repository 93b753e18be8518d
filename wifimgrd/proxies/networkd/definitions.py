"""The D-Bus names of systemd-networkd and of systemd, each with the address of its documentation."""

from __future__ import annotations

from pathlib import Path
from typing import Final, TypedDict

NETWORK1: Final = "org.freedesktop.network1"
"""https://www.freedesktop.org/software/systemd/man/252/org.freedesktop.network1.html"""
NETWORK1_PATH: Final = "/org/freedesktop/network1"
NETWORK1_MANAGER: Final = NETWORK1 + ".Manager"
NETWORK1_LINK: Final = NETWORK1 + ".Link"
NETWORKD_UNIT: Final = "systemd-networkd.service"

SETTINGS_FOLDER: Final = Path("/run/systemd/networkd.conf.d")
"""Additions to networkd.conf(5) until the next boot."""
SETTINGS_FILE: Final = "50-wifimgrd.conf"
"""The helper's addition, which is there while networkd takes addresses for it."""

NO_SUCH_LINK: Final = NETWORK1 + ".NoSuchLink"
"""The error of a call for a link that networkd does not have:
https://github.com/systemd/systemd/blob/v252/src/libsystemd/sd-bus/bus-common-errors.h"""

SYSTEMD1: Final = "org.freedesktop.systemd1"
"""https://www.freedesktop.org/software/systemd/man/252/org.freedesktop.systemd1.html"""
SYSTEMD1_PATH: Final = "/org/freedesktop/systemd1"
SYSTEMD1_MANAGER: Final = SYSTEMD1 + ".Manager"
SYSTEMD1_UNIT: Final = SYSTEMD1 + ".Unit"
ALREADY_SUBSCRIBED: Final = SYSTEMD1 + ".AlreadySubscribed"


class DescribedAddress(TypedDict, total=False):
    """One of `Addresses`."""

    Address: list[int]
    """The bytes of the address."""
    ConfigProvider: list[int]
    """The address of the DHCP server that gave it."""
    ConfigSource: str
    ConfigState: str
    Family: int
    PrefixLength: int


class LinkDescription(TypedDict, total=False):
    """networkd's description of a link, in JSON, which has no documentation but its source:
    https://github.com/systemd/systemd/blob/v252/src/network/networkd-json.c"""

    Addresses: list[DescribedAddress]
    AdministrativeState: str
    NetworkFile: str
    NetworkFileDropins: list[str]
    """Not of systemd 252."""
