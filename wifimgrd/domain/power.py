"""Cameras that sleep: what Bluetooth LE shows of them, how one is woken, and how often that is tried."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final

from wifimgrd.domain.camera_model import NAME6, Bluetooth, CameraModel, WakeMethod
from wifimgrd.domain.device import Passphrase, PowerState, Ssid
from wifimgrd.domain.errors import NotPaired, NotSupported

SEEN_S: Final = 60.0
"""How long it is known whether a camera sleeps, from the last time it was seen."""
WAKES_PER_HOUR: Final = 3
"""How often a camera is woken without a command."""
RETRIES_S: Final = (60.0, 300.0, 1800.0)
"""How long after each wake that failed the hub tries another one without a command; the last time goes on."""
SEARCH_S: Final = 5
LONGEST_SEARCH_S: Final = 20
"""How long a search lasts, by default and at most."""
STEP_S: Final = 10.0
"""A later time at which a camera was seen is published with another change, or if it is so much later."""
_HOUR_S: Final = 3600.0
_NAME6_LENGTH: Final = 6


class BluetoothState(StrEnum):
    """Whether this host can find and wake cameras over Bluetooth."""

    READY = "ready"
    OFF = "off"
    """There is an adapter, and it is blocked or switched off, or bluetoothd does not run."""
    ABSENT = "absent"
    """There is no adapter, or what speaks with cameras over Bluetooth is not installed."""


@dataclass(frozen=True, slots=True)
class BluetoothStatus:
    """The state of Bluetooth on this host, and why it is not READY."""

    state: BluetoothState
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Advertiser:
    """A camera that was heard over Bluetooth LE."""

    address: str
    """Its Bluetooth address, upper case with colons."""
    name: str = ""
    service: str = ""
    """The UUID by which it was recognised; empty if that was its name."""
    rssi: int | None = None
    """dBm; None if it is not known."""
    power_state: PowerState | None = None
    """None if it does not say."""
    is_on: bool | None = None
    """Whether the camera is on, whatever its Wi-Fi is; None if it does not say."""
    pairing_mode: bool = False
    serial: str = ""
    """The last characters of its serial number; empty if it does not say."""
    model_id: int | None = None
    """The maker's number of its model; None if it does not say."""


@dataclass(frozen=True, slots=True)
class PairedCamera:
    """The data that a camera reports once it is paired."""

    ssid: bytes
    password: Passphrase | None
    """None if it does not tell it."""
    model: str = ""
    """The maker's name of the model."""
    serial: str = ""


@dataclass(frozen=True, slots=True)
class WakeRequest:
    """How one camera is woken."""

    key: str
    """Names it: its address, or another text where that is not needed."""
    service: str
    """The UUID of its service; empty for a beacon."""
    beacon: bytes
    """The advertisement; empty for a connection."""
    timeout_s: float


@dataclass(frozen=True, slots=True)
class Looks:
    """How the network of a camera that wakes is looked for; see `is_full_scan`."""

    known_scans: int
    pause_s: float
    """From one scan to the next."""


CALLED: Final = Looks(16, 0.2)
"""While a beacon is sent: the camera says nothing to it."""
APPEARING: Final = Looks(4, 0.2)
"""Once a camera has said that its network is on, which is then there within a second."""
CONNECTING: Final = Looks(0, 5.0)
"""While a connection is made, after a pause: scans disturb it, and in range it takes a second or two. A
camera that is out of Bluetooth's range may be on the air all the same, on another channel than before."""


@dataclass(frozen=True, slots=True)
class Sight:
    """The state of a camera as known over Bluetooth, from the last time it was seen."""

    state: PowerState | None = None
    seen_us: int = 0
    """Microseconds since the epoch; 0 = never."""

    def differs(self, published: Sight) -> bool:
        """Whether clients, who were told another one, are told this one."""
        return self.state != published.state or self.seen_us - published.seen_us >= STEP_S * 1e6


@dataclass(frozen=True, slots=True)
class Wakes:
    """The wakes of a camera, and whether there may be another one without a command: a camera that somebody
    has switched off is not kept awake, and one that does not answer is not called all the time.

    Times are seconds on a clock that only goes forward.
    """

    times_s: tuple[float, ...] = ()
    """When it was woken without a command."""
    failures: int = 0
    """The wakes that have failed since the camera last answered, of those that RETRIES_S allowed."""
    retry_s: float = float("-inf")
    """When the hub may try again."""
    is_bonded: bool = True
    """This host has a bond with the camera, as far as is known, if there has to be one."""

    def may_begin(self, now_s: float, *, is_commanded: bool = False) -> bool:
        """Whether another wake may begin that nobody has asked for; `is_commanded`: as a part of a connect by
        a command, which no failure before bars."""
        is_time = is_commanded or now_s >= self.retry_s
        return is_time and len(self._within_hour(now_s)) < WAKES_PER_HOUR

    def woke(self, now_s: float) -> Wakes:
        """The camera was woken without a command."""
        return replace(self.answered(), times_s=(*self._within_hour(now_s), now_s))

    def failed(self, now_s: float) -> Wakes:
        """A wake has failed. One by a command, before the next retry, does not postpone that."""
        if now_s < self.retry_s:
            return self
        pause_s = RETRIES_S[min(self.failures, len(RETRIES_S) - 1)]
        return replace(self, failures=self.failures + 1, retry_s=now_s + pause_s)

    def answered(self) -> Wakes:
        """The camera was reached over Bluetooth: no failure before matters."""
        return Wakes(self.times_s)

    def _within_hour(self, now_s: float) -> tuple[float, ...]:
        return tuple(one for one in self.times_s if now_s - one < _HOUR_S)


def supported(model: CameraModel) -> Bluetooth:
    """How cameras of a model are woken, and commanded over Bluetooth; raises NotSupported."""
    if model.bluetooth is None:
        raise NotSupported(f"the hub cannot do that with cameras of the model {model.device_name}")
    return model.bluetooth


def wake_request(model: CameraModel, ssid: Ssid, address: str, key: str) -> WakeRequest:
    """How a camera is woken; raises NotSupported, NotPaired."""
    bluetooth = supported(model)
    if bluetooth.wake is WakeMethod.BEACON:
        return WakeRequest(key, "", beacon_of(model, ssid), bluetooth.wake_timeout_s)
    if not address:
        raise NotPaired("the camera is not paired with this hub")
    return WakeRequest(address, bluetooth.service, b"", bluetooth.wake_timeout_s)


def beacon_of(model: CameraModel, ssid: Ssid) -> bytes:
    """The advertisement of this host that wakes a camera, the company's id first; raises NotSupported."""
    text = supported(model).beacon
    if NAME6 in text:
        found = re.fullmatch(model.ssid_pattern, ssid.text or "")
        name = found["name6"] if found is not None else ""
        if len(name) != _NAME6_LENGTH or not name.isascii():
            raise NotSupported(
                "the camera's network was renamed, and only its original name has the six characters that"
                " wake it"
            )
        text = text.replace(NAME6, name.encode().hex())
    return bytes.fromhex(text)


def matches(model: CameraModel, seen: Advertiser) -> bool:
    """Whether an advertiser may be a camera of a model."""
    bluetooth = model.bluetooth
    if bluetooth is None:
        return False
    if bluetooth.service and bluetooth.service == seen.service:
        return True
    return bool(bluetooth.name_pattern) and re.fullmatch(bluetooth.name_pattern, seen.name) is not None


def is_device(model: CameraModel, ssid: Ssid, address: str, seen: Advertiser) -> bool:
    """Whether an advertiser is a registered camera: by its address where that is known, and otherwise, if no
    pairing tells, by the name that its network has, too."""
    if address:
        return seen.address == address
    bluetooth = model.bluetooth
    if bluetooth is None or bluetooth.pairing or not matches(model, seen):
        return False
    return _without_maker((ssid.text or "").removesuffix(".OSC")) == _without_maker(seen.name)


def _without_maker(name: str) -> str:
    """The name of an Insta360 without its brand, which some advertise and others do not."""
    return name.removeprefix("Insta360 ")


def power_state_of(model: CameraModel, seen: Advertiser) -> PowerState | None:
    """Whether a registered camera of a model sleeps, as it was heard; None if that is not known. Only a
    camera that was found by its model's own service says it: anybody can advertise a name."""
    service = model.bluetooth.service if model.bluetooth is not None else ""
    return seen.power_state if service and service == seen.service else None


def codename_of(models: Iterable[CameraModel], seen: Advertiser, name: str = "") -> str:
    """The codename of the model that an advertiser is of, or empty if several are possible. `name` is the
    maker's name of the model, if that is known; it counts more than the number that anybody can advertise."""
    fitting = [one for one in models if matches(one, seen)]
    if name and (named := [one for one in fitting if _has_name(one, name)]):
        return max(named, key=lambda one: len(one.device_name)).codename
    numbered = [one for one in fitting if seen.model_id in one.model_ids]
    if len(numbered) == 1:
        return numbered[0].codename
    return fitting[0].codename if len(fitting) == 1 else ""


def newest_of(models: Iterable[CameraModel], seen: Advertiser) -> str:
    """The codename for a camera whose own model is not known: the last of those that it may be."""
    return next((one.codename for one in reversed(list(models)) if matches(one, seen)), "")


def own_name(model: CameraModel, name: str) -> str:
    """The maker's name for a camera that is registered as another model; empty if it is of that model."""
    return "" if _has_name(model, name) else name.strip()


def _has_name(model: CameraModel, name: str) -> bool:
    """Whether the maker's name of a model has all of this one's, which begins with the maker's own:
    `HERO11 Black Mini` is of HERO11 and of HERO11 Black Mini."""
    words = model.device_name.split()
    own = _letters("".join(words[1:] or words))
    return own != "" and re.search(rf"(?<![0-9]){own}(?![0-9])", _letters(name)) is not None


def _letters(text: str) -> str:
    return re.sub("[^a-z0-9]", "", text.casefold())


def pairing_error(ssid: Ssid, found: bytes) -> str:
    """Why a camera that was paired is not the registered one."""
    return (
        f'the camera that was found has the network "{Ssid(found).printable}", and not "{ssid.printable}":'
        " it is another one, or its network was renamed"
    )
