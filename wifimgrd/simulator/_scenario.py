"""The scenario: the initial state of a simulated world, read strictly from a TOML file.

The classes that end in `Table` are tables of the file, each field a key with its default.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Final

from wifimgrd.config.toml_tables import Document, TomlError
from wifimgrd.daemon.ports import READING_S
from wifimgrd.domain.adapter import Adapter, AdapterIdentity, Band, Mode
from wifimgrd.domain.camera import CameraDriver
from wifimgrd.domain.checks import Check, Invalid, expect, matching, one_of, within
from wifimgrd.domain.device import Passphrase, Sighting, Ssid
from wifimgrd.domain.interface import BackendFacts
from wifimgrd.simulator.emulators import CameraSettings, settings_of

_DEFAULT: Final = Path(__file__).with_name("default.toml")
_OPEN: Final = Passphrase("")
_MAX_GENERATED: Final = 100_000
_GB: Final = 1_000_000_000
_CHANNELS: Final[Mapping[Band, int]] = {Band.GHZ_2_4: 2437, Band.GHZ_5: 5180, Band.GHZ_6: 5975}
"""A camera's frequency if only its band is given, MHz."""
_MODES: Final[Mapping[str, Mode]] = {
    "station": Mode.STATION,
    "ap": Mode.ACCESS_POINT,
    "monitor": Mode.MONITOR,
    "p2p": Mode.P2P,
}


def _is_ssid(value: str | bytes) -> bool:
    try:
        return 1 <= len(ssid_of(value).data) <= 32
    except UnicodeEncodeError:
        return False


Seconds = Annotated[float, within(0, 86400, "seconds")]
Percent = Annotated[int, within(0, 100)]
_Gigabytes = Annotated[float, within(0, 4096, "GB")]
Connections = Annotated[int, within(1, 1000)]
ClockOffset = Annotated[float, within(-4e9, 4e9, "seconds")]
InterfaceName = Annotated[
    str, matching(r"(?!\.\.?$)[!-$&-.0-9;-~]{1,15}", "an interface name of 1 to 15 characters such as wlan0")
]
"""A name that Linux accepts for a network interface."""
SsidValue = Annotated[str | bytes, Check(_is_ssid, "an SSID of 1 to 32 bytes")]
_Printable = Annotated[str, Check(str.isprintable, "printable text")]
_Mac = Annotated[
    str, matching(r"[0-9A-Fa-f]{2}(:[0-9A-Fa-f]{2}){5}", "a MAC address such as 02:00:00:00:00:01")
]
_Password = Annotated[
    Passphrase,
    Check(
        lambda value: re.fullmatch("([ -~]{8,63}|[0-9A-Fa-f]{64})?", value.reveal()),
        '8 to 63 printable ASCII characters, 64 hexadecimal digits, or "" for an open network',
    ),
]


class ScenarioError(Exception):
    """A scenario that cannot be used; the text has the file, the key, what was expected, and the line."""


class Security(StrEnum):
    """The security of a camera's network."""

    WPA2 = "wpa2"
    SAE = "sae"
    OPEN = "open"


@dataclass(frozen=True, slots=True)
class AdapterPlan:
    """An interface of an adapter, and what the backend knows of it."""

    adapter: Adapter
    facts: BackendFacts
    plugged: bool = True


@dataclass(frozen=True, slots=True)
class AdapterTable:
    """`[[adapter]]`: an interface of an adapter; a default that is None depends on `usb` and the number."""

    name: InterfaceName
    usb: bool = True
    mac: _Mac | None = None
    usb_port: _Printable | None = None
    usb_serial: _Printable = ""
    driver: _Printable | None = None
    usb_vendor_id: _Printable | None = None
    usb_product_id: _Printable | None = None
    usb_product: _Printable | None = None
    bands: tuple[Band, ...] = (Band.GHZ_2_4, Band.GHZ_5)
    obstacle: _Printable = ""
    radio: _Printable | None = None
    mode: Annotated[str, one_of(_MODES)] = "station"
    rfkill: Annotated[str, one_of(("", "soft-blocked", "hard-blocked"))] = ""
    plugged: bool = True

    def __post_init__(self) -> None:
        is_usb = self.usb or not (self.usb_port or self.usb_vendor_id)
        expect(is_usb, "usb", "true, since a USB port or vendor is given")

    def plan(self, number: int) -> AdapterPlan:
        """The adapter; `number` makes its addresses unique."""

        def given(value: str | None, on_usb: str, otherwise: str = "") -> str:
            return value if value is not None else on_usb if self.usb else otherwise

        identity = AdapterIdentity(
            mac=(self.mac or "02:00:00:" + number.to_bytes(3, "big").hex(":")).lower(),
            usb_port=given(self.usb_port, f"1-1.{number + 1}"),
            usb_serial=self.usb_serial,
        )
        adapter = Adapter(
            self.name,
            identity,
            given(self.driver, "mt76x2u", "iwlwifi"),
            given(self.usb_vendor_id, "0e8d"),
            given(self.usb_product_id, "7612"),
            given(self.usb_product, "Simulated 802.11ac adapter"),
            self.rfkill,
            (identity.usb_port or self.name) if self.radio is None else self.radio,
            number,
            _MODES[self.mode],
            self.mode != "station",
        )
        return AdapterPlan(adapter, BackendFacts(self.obstacle, frozenset(self.bands)), self.plugged)


class BluetoothKind(StrEnum):
    """How a camera is woken over Bluetooth."""

    GOPRO = "gopro"
    INSTA360 = "insta360"
    THETA = "theta"

    @property
    def service(self) -> str:
        """The service that it advertises; an Insta360 is known by its name."""
        return {"gopro": "fea6", "theta": "8af982b1-f1ff-4d49-83f0-a56db4c431a7"}.get(self.value, "")


@dataclass(frozen=True, slots=True)
class CameraPlan:
    """A camera's access point."""

    ssid: Ssid
    passphrase: Passphrase
    security: Security
    frequency_mhz: int
    signal_percent: int
    signal_swing: int
    """Percent by which the signal rises and falls within an hour."""
    powered: bool
    hidden: bool
    """Found only by a directed scan, so the first join takes one scan more."""
    refuses: bool
    dhcp: bool
    join_s: float | None
    """Seconds that joining it takes; None = as in Times."""
    bluetooth: BluetoothKind | None
    """None: it has no Bluetooth."""
    bluetooth_name: str
    """The name that it advertises."""
    camera_model: str
    """The maker's name of its model, which it says once it is paired."""
    asleep: bool
    """It starts asleep."""
    pairing_mode: bool
    """It can be paired."""
    emulated: tuple[CameraDriver, CameraSettings] | None
    """The protocol that it speaks over its network, and its state at first; None: it answers nothing."""

    @property
    def sighting(self) -> Sighting:
        """Its BSSID and frequency; the BSSID is derived from the SSID and so always the same."""
        tail = zlib.crc32(self.ssid.data).to_bytes(4, "big").hex(":")
        return Sighting(f"02:5c:{tail}", self.frequency_mhz)


_OF_DRIVER: Final = (
    "serial_number",
    "firmware_version",
    "battery",
    "charging",
    "card_gb",
    "card_free_gb",
    "recording",
    "clock_offset_s",
)
"""The keys of a camera that only one with a driver has."""


@dataclass(frozen=True, slots=True)
class CameraTable:
    """`[[camera]]`: a camera's access point."""

    ssid: SsidValue | None = None
    ssid_hex: Annotated[
        str | None, matching("([0-9A-Fa-f]{2}){1,32}", "the 1 to 32 bytes of an SSID in hexadecimal")
    ] = None
    password: _Password = _OPEN
    security: Security | None = None
    band: Band | None = None
    frequency_mhz: Annotated[int | None, within(2400, 7125)] = None
    signal: Percent = 70
    signal_swing: Percent = 0
    powered: bool = True
    hidden: bool = False
    refuses: bool = False
    dhcp: bool = True
    join_s: Seconds | None = None
    bluetooth: BluetoothKind | None = None
    bluetooth_name: _Printable = ""
    camera_model: _Printable = ""
    asleep: bool = False
    pairing_mode: bool = True
    driver: CameraDriver | None = None
    serial_number: _Printable | None = None
    firmware_version: _Printable | None = None
    battery: Percent | None = None
    charging: bool | None = None
    card_gb: _Gigabytes | None = None
    card_free_gb: _Gigabytes | None = None
    recording: bool | None = None
    clock_offset_s: ClockOffset | None = None

    def __post_init__(self) -> None:
        if self.ssid is not None and self.ssid_hex is not None:
            raise Invalid(("ssid_hex",), "stands beside ssid; give one of them")
        expect(self.ssid is not None or self.ssid_hex is not None, "ssid", "either ssid or ssid_hex")
        expect(not self.asleep or self.bluetooth, "asleep", "false if it has no Bluetooth")
        if (self.plan.security is Security.OPEN) != self.password.is_open:
            password = "empty" if self.password.is_open else "set"
            raise Invalid(("security",), f'is "{self.security}" and the password is {password}')
        if self.band is not None and self.band != Band.of_frequency(self.plan.frequency_mhz):
            raise Invalid(("frequency_mhz",), f"{self.frequency_mhz} MHz is not in the {self.band} band")
        if self.driver is None:
            for key in _OF_DRIVER:
                expect(getattr(self, key) is None, key, "nothing where there is no driver")
        expect(not self.recording or (self.powered and not self.asleep), "recording", "false while it is off")
        if (state := self._state).card_free_bytes is not None:
            expect(state.card_free_bytes <= state.card_bytes, "card_free_gb", "at most card_gb")

    @property
    def plan(self) -> CameraPlan:
        """The access point."""
        return CameraPlan(
            ssid=self._network,
            passphrase=self.password,
            security=self.security or (Security.OPEN if self.password.is_open else Security.WPA2),
            frequency_mhz=self.frequency_mhz or _CHANNELS[self.band or Band.GHZ_2_4],
            signal_percent=self.signal,
            signal_swing=self.signal_swing,
            powered=self.powered,
            hidden=self.hidden,
            refuses=self.refuses,
            dhcp=self.dhcp,
            join_s=self.join_s,
            bluetooth=self.bluetooth,
            bluetooth_name=self.bluetooth_name,
            camera_model=self.camera_model,
            asleep=self.asleep,
            pairing_mode=self.pairing_mode,
            emulated=None if self.driver is None else (self.driver, self._emulated(self.driver)),
        )

    @property
    def _network(self) -> Ssid:
        return Ssid(bytes.fromhex(self.ssid_hex or "")) if self.ssid is None else ssid_of(self.ssid)

    def _emulated(self, driver: CameraDriver) -> CameraSettings:
        return settings_of(
            driver,
            model=self.camera_model,
            serial_number=self.serial_number or f"SIM{zlib.crc32(self._network.data):010}",
            firmware_version=self.firmware_version,
            state=self._state,
        )

    @property
    def _state(self) -> CameraSettings:
        given: dict[str, object] = {
            "battery": self.battery,
            "charging": self.charging,
            "card_bytes": None if self.card_gb is None else int(self.card_gb * _GB),
            "card_free_bytes": None if self.card_free_gb is None else int(self.card_free_gb * _GB),
            "recording": self.recording,
            "clock_offset_s": self.clock_offset_s,
        }
        state = CameraSettings(ssid=self._network.printable)
        return replace(state, **{key: value for key, value in given.items() if value is not None})  # type: ignore[arg-type]


@dataclass(frozen=True, slots=True)
class Times:
    """`[times]`: durations in this world, in seconds."""

    join_s: Seconds = 0.2
    """From the start of an attempt to the link, if the network is in reach."""
    scan_s: Seconds = 0.3
    """One scan of all channels."""
    dhcp_s: Seconds = 0.5
    """The time-out of DHCP."""
    leave_s: Seconds = 0.05
    silence_s: Seconds = 1.1
    """From a power cut to the interruption; an orderly power-off interrupts at once."""
    search_s: Seconds = 0.5
    """One search over Bluetooth."""
    wake_s: Seconds = 1.0
    """From the beginning of a wake to a camera's network."""
    reboot_s: Seconds = 3.0
    """How long a camera is off that reboots."""
    absent_s: Seconds = 2.0
    """How long a camera is waited for over Bluetooth that is not in range."""
    reading_s: Annotated[float, within(0.001, 86400, "seconds")] = READING_S
    """From one reading of signal and bit rates to the next."""
    give_up_s: Seconds = 15.0
    """From the interruption of a link to its end."""


@dataclass(frozen=True, slots=True)
class ScenarioTable:
    """The whole file."""

    times: Times = Times()
    adapter_count: Annotated[int, within(0, _MAX_GENERATED)] = 0
    camera_count: Annotated[int, within(0, _MAX_GENERATED)] = 0
    adapter: tuple[AdapterTable, ...] = ()
    camera: tuple[CameraTable, ...] = ()

    def __post_init__(self) -> None:
        _refuse_repeats("adapter", "name", (one.name for one in self.adapter))
        _refuse_repeats("camera", "ssid", (one.plan.ssid.printable for one in self.camera))


@dataclass(frozen=True, slots=True)
class Scenario:
    """The initial state of a world."""

    adapters: Mapping[str, AdapterPlan]
    cameras: Mapping[bytes, CameraPlan]
    times: Times = Times()


def load_scenario(path: Path | None = None) -> Scenario:
    """Read a scenario file, or the one that comes with the program. Raises ScenarioError."""
    try:
        return _scenario(Document.read(path or _DEFAULT))
    except TomlError as error:
        raise ScenarioError(str(error)) from None


def parse_scenario(text: str, source: str = "scenario") -> Scenario:
    """The scenario in a TOML text; `source` names it in errors. Raises ScenarioError."""
    try:
        return _scenario(Document.parsed(source, text))
    except TomlError as error:
        raise ScenarioError(str(error)) from None


def ssid_of(value: str | bytes) -> Ssid:
    """The network name that an SsidValue is."""
    return Ssid(value.encode() if isinstance(value, str) else value)


def _scenario(document: Document) -> Scenario:
    table = document.build(ScenarioTable)
    generated = [AdapterTable(f"wlan{number}") for number in range(table.adapter_count)]
    numbers: dict[str, int] = {}
    adapters: dict[str, AdapterPlan] = {}
    for adapter in (*generated, *table.adapter):
        # An adapter's number is its position, even if it replaces a generated one.
        number = numbers.setdefault(adapter.name, len(numbers))
        adapters[adapter.name] = adapter.plan(number)
    cameras: dict[bytes, CameraPlan] = {}
    for number in range(1, table.camera_count + 1):
        ssid, password = f"SIM-CAM-{number}", Passphrase(f"camera-pass-{number}")
        cameras[ssid.encode()] = CameraTable(ssid, password=password).plan
    cameras |= {plan.ssid.data: plan for plan in (camera.plan for camera in table.camera)}
    return Scenario(adapters, cameras, table.times)


def _refuse_repeats(table: str, key: str, names: Iterable[str]) -> None:
    seen = set[str]()
    for number, name in enumerate(names):
        if name in seen:
            raise Invalid((table, number, key), f"{name} is listed twice")
        seen.add(name)
