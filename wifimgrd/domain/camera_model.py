"""A camera model: what is known of every camera of one make and type before the first one is met."""

from __future__ import annotations

import ipaddress
import re
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from wifimgrd.domain.adapter import Band

HTTP_PORT: Final = 80
_LONGEST_DATAGRAM: Final = 1400
"""Octets that fit into one frame, whatever the link."""


def _expect(fits: object, key: str, expected: str) -> None:
    if not fits:
        raise ValueError(f"{key}: expected {expected}")


def _expect_port(port: int) -> None:
    _expect(1 <= port <= 65535, "port", "1 to 65535")


def _is_path(text: str) -> bool:
    return re.fullmatch(r"/[!-~]*", text) is not None


def _is_address(text: str) -> bool:
    try:
        ipaddress.IPv4Address(text)
    except ValueError:
        return False
    return True


def _is_interface(text: str) -> bool:
    try:
        ipaddress.IPv4Interface(text)
    except ValueError:
        return False
    return re.fullmatch(r"[0-9.]+/[0-9]{1,2}", text) is not None


class Addressing(StrEnum):
    """Where the host has its address on a camera's network from."""

    DHCP = "dhcp"
    STATIC = "static"
    """The camera hands out none: the host takes the model's `local_address`."""


@dataclass(frozen=True, slots=True)
class Probe:
    """How it is found out whether a camera answers."""

    port: int = HTTP_PORT
    """TCP. That a camera refuses the connection is an answer, too."""
    path: str = ""
    """What is got there by HTTP; any status is an answer. Empty: the connection alone will do."""

    def __post_init__(self) -> None:
        _expect_port(self.port)
        _expect(not self.path or _is_path(self.path), "path", 'a path such as "/osc/info"')


@dataclass(frozen=True, slots=True)
class KeepAlive:
    """What a camera must hear now and then, lest it switch itself off."""

    interval_s: float
    port: int = HTTP_PORT
    path: str = ""
    """Got by HTTP over TCP."""
    payload: str = ""
    """Sent as a UDP datagram in UTF-8."""

    def __post_init__(self) -> None:
        _expect(1 <= self.interval_s <= 3600, "interval_s", "1 to 3600 seconds")
        _expect_port(self.port)
        _expect(bool(self.path) != bool(self.payload), "path", "either path (HTTP) or payload (UDP)")
        _expect(not self.path or _is_path(self.path), "path", 'a path such as "/keep_alive"')
        size = len(self.payload.encode())
        _expect(size <= _LONGEST_DATAGRAM, "payload", f"at most {_LONGEST_DATAGRAM} octets")


@dataclass(frozen=True, slots=True)
class FormField:
    """A field of the form in which a camera is registered."""

    name: str
    """What to write beside it."""
    required: bool = True

    def __post_init__(self) -> None:
        _expect(self.name.strip(), "name", "a text that is not empty")


@dataclass(frozen=True, slots=True)
class Wizard:
    """The form in which a camera is registered."""

    ssid: FormField = FormField("Network name (SSID)")
    password: FormField = FormField("Password")


@dataclass(frozen=True, slots=True)
class CameraModel:
    """What is known of a model; what is not known is left at its default."""

    codename: str
    """Stored with each device, so it never changes."""
    device_name: str
    """For people."""
    icon: str = ""
    """The address of a picture of it: a path on the shim, or http(s)."""
    bands: tuple[Band, ...] = ()
    """Those that its access point can use; empty where that is not known."""
    camera_address: str = ""
    """Its own IPv4 address on its network, where the link does not tell."""
    addressing: Addressing = Addressing.DHCP
    local_address: str = ""
    """With static addressing: the host's address there, with its prefix, e.g. `192.168.1.30/24`."""
    hidden: bool = False
    """Its access point does not tell its name."""
    probe: Probe = Probe()
    keep_alive: KeepAlive | None = None
    wizard: Wizard = Wizard()
    sources: tuple[str, ...] = ()
    """Addresses of the pages that say so."""

    def __post_init__(self) -> None:
        words = re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", self.codename)
        _expect(words, "codename", "lower case words joined by dashes")
        _expect(self.device_name.strip(), "device_name", "a text that is not empty")
        icon = re.fullmatch(r"(https?://[^\s/]+)?/[^\s]*", self.icon)
        _expect(not self.icon or icon, "icon", 'a path or an address such as "https://cameras.example/x.svg"')
        known = not self.camera_address or _is_address(self.camera_address)
        _expect(known, "camera_address", 'an IPv4 address such as "192.168.42.1"')
        _expect(
            bool(self.local_address) == (self.addressing is Addressing.STATIC),
            "local_address",
            'an address with its prefix where addressing is "static", and none elsewhere',
        )
        with_prefix = not self.local_address or _is_interface(self.local_address)
        _expect(with_prefix, "local_address", 'an IPv4 address with its prefix such as "192.168.1.30/24"')


GENERIC: Final = CameraModel("generic-wifi-camera", "Wi-Fi camera")
"""What holds for a camera of which nothing is known."""
