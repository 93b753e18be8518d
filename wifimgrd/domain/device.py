"""A device: one registered Wi-Fi camera, its network and what is remembered of it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final, NewType, final

from wifimgrd.domain.adapter import NO_PIN, AdapterIdentity, AdapterPin
from wifimgrd.domain.camera import CameraStatus
from wifimgrd.domain.errors import ErrorCode
from wifimgrd.domain.link_steps import LinkStep

DeviceId = NewType("DeviceId", int)
"""Positive, assigned once, never reused."""

CONNECTION_TYPE: Final = "wifi"
"""The only connection type in the specification."""


class DeviceState(StrEnum):
    """The state of a device's connection; the specification's `connected` is true only in CONNECTED."""

    DISCONNECTED = "disconnected"
    CONNECTING = "connecting"
    CONNECTED = "connected"
    DISCONNECTING = "disconnecting"


@dataclass(frozen=True, slots=True)
class Ssid:
    """A network name: 1 to 32 bytes, mostly but not necessarily UTF-8 (IEEE 802.11-2020, 9.4.2.2)."""

    data: bytes

    @property
    def text(self) -> str | None:
        """The name as text, or None if it is not UTF-8."""
        try:
            return self.data.decode("utf-8")
        except UnicodeDecodeError:
            return None

    @property
    def printable(self) -> str:
        """The name for people: unprintable characters are escaped as in Python."""
        text = self.data.decode("utf-8", "backslashreplace")
        return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


@final
class Passphrase:
    """A secret that is not printed: `repr`, `str` and formatting hide it.

    The empty passphrase means an open network.
    """

    __slots__ = ("_secret",)

    def __init__(self, secret: str) -> None:
        self._secret = secret

    def reveal(self) -> str:
        """The secret itself, only for the store and the backend."""
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
    """A place in the spectrum at which a device's access point was received."""

    bssid: str
    """MAC address of the access point, lower case with colons."""
    frequency_mhz: int
    """Centre frequency of its primary channel."""


@dataclass(frozen=True, slots=True)
class Failure:
    """Why the last attempt or link ended; kept until an attempt succeeds."""

    code: ErrorCode
    message: str
    at_us: int = 0
    """When it happened, microseconds since the epoch; 0 = before the hub recorded that."""


@dataclass(frozen=True, slots=True)
class Device:
    """The data of a device on disk, except its passphrase."""

    id: DeviceId
    name: str
    codename: str
    ssid: Ssid
    last_attempt_us: int = 0
    """Start of the last connection attempt, microseconds since the epoch; 0 = never."""
    last_success_us: int = 0
    """When it was last connected, microseconds since the epoch; 0 = never."""
    last_disconnection_us: int = 0
    """When its last connection ended, microseconds since the epoch; 0 = never."""
    failure: Failure | None = None
    last_adapter: AdapterIdentity | None = None
    """The adapter that it used last, which it is assigned again if that is free."""
    sightings: tuple[Sighting, ...] = ()
    """The latest sightings of its access point, most recent first."""
    wanted: bool = False
    """It was connected since the last command for it or its creation, and is to be reconnected when lost."""
    auto_reconnect: bool = True
    """Whether it is reconnected automatically at all."""
    priority: int = 0
    """If two lost devices need the same adapter, the one of higher priority gets it."""
    waiting_since_us: int = 0
    """Since when it waits for a free interface, until the outcome of its attempt:
    microseconds since the epoch; 0 = it does not wait."""
    pin: AdapterPin = NO_PIN
    """The adapter that is reserved for it, unless the configuration has another rule."""
    auto_wake: bool = False
    """Whether it may be woken without a command."""
    recording_requested: bool = False
    """Whether the last command to it was to record."""
    recording_began_us: int = 0
    """When the recording began that was seen last and has not been seen to end, microseconds since the epoch;
    0 = there is none."""
    recorded_s: int = 0
    """Seconds that the camera has counted of it, at least."""
    recording_unconfirmed: bool = False
    """It may have done the last command to record or to stop, and was not read since."""
    expected: bool = False
    """Whether it is one of the rig: the last of its creation, Connect, Disconnect and Sleep, of a client or
    within a group, asked for a connection."""
    bluetooth_address: str = ""
    """The address of the camera that is paired for it, upper case with colons; empty if none is."""
    address: str = ""
    """The address at which this host reaches it while it is connected (IPv4); empty if none was assigned."""


@dataclass(frozen=True, slots=True)
class BitRates:
    """The bit rates of a link, kbit/s; 0 = not known."""

    tx_kbps: int = 0
    """To the camera."""
    rx_kbps: int = 0
    """From it."""

    def stepped(self, shown: BitRates) -> BitRates:
        """The rates to show after `shown`: a rate changes only if it differs by a step."""
        return BitRates(_stepped(self.tx_kbps, shown.tx_kbps), _stepped(self.rx_kbps, shown.rx_kbps))


_RATE_STEP: Final = 0.1


def _stepped(rate: int, shown: int) -> int:
    return rate if not rate or abs(rate - shown) >= _RATE_STEP * shown else shown


@dataclass(frozen=True, slots=True)
class Link:
    """A live association with its IP configuration, as the backend holds it."""

    local_address: str
    """This host's IPv4 address on the link."""
    camera_address: str
    """The gateway of the link, else its DHCP server; empty where neither is known."""
    signal_percent: int = 0
    sighting: Sighting | None = None
    rates: BitRates = BitRates()


@dataclass(frozen=True, slots=True)
class HeldLink:
    """A link that the backend holds for a device, e.g. from before a restart of the daemon."""

    device_id: DeviceId
    interface: str
    ssid: Ssid
    link: Link
    up: bool = True
    """False while it is interrupted and the backend tries to restore it."""


class PowerState(StrEnum):
    """Whether a camera that is found over Bluetooth sleeps."""

    ASLEEP = "asleep"
    """It advertises, and its Wi-Fi is off."""
    AWAKE = "awake"


class ConnectionPhase(StrEnum):
    """The current phase of an attempt to connect, or of a wake."""

    WAKING = "waking"
    JOINING = "joining"


@dataclass(frozen=True, slots=True)
class PowerStatus:
    """A camera that can be woken, for clients, at one moment."""

    state: PowerState | None
    """None if it was not seen lately."""
    seen_us: int
    """When it was last seen over Bluetooth, microseconds since the epoch; 0 = never."""
    is_paired: bool | None
    """None if cameras of its model are not paired."""


@dataclass(frozen=True, slots=True)
class DeviceStatus:
    """A device for clients, at one moment."""

    device: Device
    state: DeviceState = DeviceState.DISCONNECTED
    interface: str | None = None
    link: Link | None = None
    """Set exactly while the state is CONNECTED."""
    address: str = ""
    """The device's own address, if the hub assigns addresses; the same in every state."""
    lost_us: int = 0
    """When its link was lost, microseconds since the epoch, while it is being reconnected; else 0."""
    reachable: bool = False
    """It is connected and answers."""
    icon: str = ""
    """The address of an icon of its model; empty if there is none."""
    phase: ConnectionPhase | None = None
    """The current phase of its attempt, or of its wake."""
    power: PowerStatus | None = None
    """None if cameras of its model cannot be woken."""
    camera: CameraStatus | None = None
    """None if there is no driver for cameras of its model."""
    recovery_step: LinkStep | None = None
    """The recovery step that runs for it."""
    warnings: tuple[str, ...] = ()
    """Settings that were accepted and may be mistakes, as sentences."""

    @property
    def is_interrupted(self) -> bool:
        """Whether its link dropped and may still come back: CONNECTING without an attempt."""
        return self.state is DeviceState.CONNECTING and self.phase is None
