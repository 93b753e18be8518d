"""A device: one registered Wi-Fi camera, its network and what is remembered of it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final, NewType, final

from wifimgrd.domain.adapter import AdapterIdentity
from wifimgrd.domain.errors import ErrorCode

DeviceId = NewType("DeviceId", int)
"""Positive, given once, never reused."""

CONNECTION_TYPE: Final = "wifi"
"""The only connection type that the specification knows."""


class DeviceState(StrEnum):
    """Where a device stands; the specification's `connected` is true in CONNECTED alone."""

    DISCONNECTED = "disconnected"
    CONNECTING = "connecting"
    CONNECTED = "connected"
    DISCONNECTING = "disconnecting"


@dataclass(frozen=True, slots=True)
class Ssid:
    """A network name: 1 to 32 octets, by custom but not by rule UTF-8 (IEEE 802.11-2020, 9.4.2.2)."""

    octets: bytes

    @property
    def text(self) -> str | None:
        """The name as text, or None where it is not UTF-8."""
        try:
            return self.octets.decode("utf-8")
        except UnicodeDecodeError:
            return None

    @property
    def printable(self) -> str:
        """The name made fit for a person: what cannot be shown is escaped as in Python."""
        text = self.octets.decode("utf-8", "backslashreplace")
        return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


@final
class Passphrase:
    """A secret that does not show itself: `repr`, `str` and formatting hide it.

    The empty passphrase stands for an open network.
    """

    __slots__ = ("_secret",)

    def __init__(self, secret: str) -> None:
        self._secret = secret

    def reveal(self) -> str:
        """The secret itself, for the store and the backend alone."""
        return self._secret

    @property
    def is_open(self) -> bool:
        """True for an open network, which has no passphrase."""
        return not self._secret

    def __repr__(self) -> str:
        return "<passphrase>"

    __str__ = __repr__

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Passphrase) and other._secret == self._secret

    def __hash__(self) -> int:
        return hash(self._secret)

    def __reduce__(self) -> str:
        raise TypeError("a passphrase is not pickled")


@dataclass(frozen=True, slots=True)
class Sighting:
    """Where a device's access point was last met on the air."""

    bssid: str
    """MAC address of the access point, lower case with colons."""
    frequency_mhz: int
    """Centre frequency of its primary channel."""


@dataclass(frozen=True, slots=True)
class Failure:
    """Why the last attempt or link ended; kept until an attempt succeeds."""

    code: ErrorCode
    message: str


@dataclass(frozen=True, slots=True)
class Device:
    """What is kept on disk of a device, its passphrase aside."""

    id: DeviceId
    name: str
    codename: str
    ssid: Ssid
    last_attempt_us: int = 0
    """Start of the last connection attempt, microseconds since the epoch; 0 = never."""
    last_success_us: int = 0
    """When it was last connected, microseconds since the epoch; 0 = never."""
    failure: Failure | None = None
    last_adapter: AdapterIdentity | None = None
    """The adapter that it used last, which it gets back when that is free."""
    sightings: tuple[Sighting, ...] = ()
    """Where its access point was met, most recent first."""
    wanted: bool = False
    """It was connected since it was last commanded or created, and is to be brought back when lost."""
    auto_reconnect: bool = True
    """Whether it is brought back by itself at all."""
    priority: int = 0
    """Of two lost devices and one adapter, the higher one gets it."""
    address: str = ""
    """Where it is reached on this host while it is connected (IPv4); empty where it was given none."""


@dataclass(frozen=True, slots=True)
class Link:
    """A live association with its IP configuration, as the backend holds it."""

    local_address: str
    """This host's IPv4 address on the link."""
    camera_address: str
    """The gateway of the link, else its DHCP server; empty where neither is known."""
    signal_percent: int = 0
    sighting: Sighting | None = None


@dataclass(frozen=True, slots=True)
class HeldLink:
    """A link that the backend holds for a device, e.g. from before a restart of the daemon."""

    device: DeviceId
    interface: str
    ssid: Ssid
    link: Link
    up: bool = True
    """False while it is interrupted and the backend tries to restore it."""


@dataclass(frozen=True, slots=True)
class DeviceStatus:
    """A device as clients see it at one instant."""

    device: Device
    state: DeviceState = DeviceState.DISCONNECTED
    interface: str | None = None
    link: Link | None = None
    """Set exactly while the state is CONNECTED."""
    address: str = ""
    """The device's own, where the hub hands out addresses; the same in every state."""
    lost_us: int = 0
    """When its link was lost, microseconds since the epoch, while it is being brought back; else 0."""
    reachable: bool = False
    """It is connected and answers."""
    icon: str = ""
    """The address of a picture of its model; empty where there is none."""
