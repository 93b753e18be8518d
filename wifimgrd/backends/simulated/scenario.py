"""The scenario: the initial state of a simulated world, read strictly from a TOML file."""

from __future__ import annotations

import tomllib
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, fields
from enum import StrEnum
from importlib import resources
from pathlib import Path
from typing import Final

from wifimgrd.backends.simulated import check
from wifimgrd.backends.simulated.check import FieldError, Table
from wifimgrd.domain.adapter import Adapter, AdapterIdentity, Band, Mode
from wifimgrd.domain.device import Passphrase, Sighting, Ssid
from wifimgrd.domain.interface import BackendFacts

_MAX_GENERATED: Final = 100_000
_CHANNELS: Final[Mapping[Band, int]] = {Band.GHZ_2_4: 2437, Band.GHZ_5: 5180, Band.GHZ_6: 5975}
"""A camera's frequency where only its band is given, MHz."""
_MODES: Final[Mapping[str, Mode]] = {
    "station": Mode.STATION,
    "ap": Mode.ACCESS_POINT,
    "monitor": Mode.MONITOR,
    "p2p": Mode.P2P,
}


class ScenarioError(Exception):
    """A scenario that cannot be used; the message has the file, the key and what was expected."""


class Security(StrEnum):
    """The security of a camera's network."""

    WPA2 = "wpa2"
    SAE = "sae"
    OPEN = "open"


@dataclass(frozen=True, slots=True)
class AdapterPlan:
    """An adapter's interface: the adapter's identity, its bands, and its obstacle."""

    name: str
    identity: AdapterIdentity
    driver: str
    usb_vendor_id: str
    usb_product_id: str
    usb_product: str
    facts: BackendFacts
    radio: str = ""
    index: int = 0
    mode: Mode = Mode.STATION
    rfkill: str = ""
    plugged: bool = True

    @property
    def adapter(self) -> Adapter:
        """The adapter for the adapter source."""
        return Adapter(
            self.name,
            self.identity,
            self.driver,
            self.usb_vendor_id,
            self.usb_product_id,
            self.usb_product,
            self.rfkill,
            self.radio,
            self.index,
            self.mode,
            self.mode is not Mode.STATION,
        )


@dataclass(frozen=True, slots=True)
class CameraPlan:
    """A camera's access point."""

    ssid: Ssid
    passphrase: Passphrase
    security: Security = Security.WPA2
    frequency_mhz: int = _CHANNELS[Band.GHZ_2_4]
    signal_percent: int = 70
    powered: bool = True
    hidden: bool = False
    """Found only by a directed scan, so the first join takes one scan more."""
    refuses: bool = False
    dhcp: bool = True
    join_s: float | None = None
    """Seconds that joining it takes; None = as in Times."""

    @property
    def sighting(self) -> Sighting:
        """Its BSSID and frequency; the BSSID is derived from the SSID and so always the same."""
        tail = zlib.crc32(self.ssid.octets).to_bytes(4, "big").hex(":")
        return Sighting(f"02:5c:{tail}", self.frequency_mhz)


@dataclass(frozen=True, slots=True)
class Times:
    """Durations in this world, in seconds."""

    join_s: float = 0.2
    """From the start of an attempt to the link, where the network is in reach."""
    scan_s: float = 0.3
    """One scan of all channels."""
    dhcp_s: float = 0.5
    """The time-out of DHCP."""
    leave_s: float = 0.05
    silence_s: float = 1.1
    """From a power cut to the interruption; an orderly power-off interrupts at once."""
    give_up_s: float = 15.0
    """From the interruption of a link to its end."""


@dataclass(frozen=True, slots=True)
class Scenario:
    """The initial state of a world."""

    adapters: Mapping[str, AdapterPlan]
    cameras: Mapping[bytes, CameraPlan]
    times: Times = Times()


def load_scenario(path: Path | None = None) -> Scenario:
    """Read a scenario file, or the one that comes with the program. Raises ScenarioError."""
    try:
        if path is None:
            text = resources.files(__package__).joinpath("default.toml").read_text("utf-8")
        else:
            text = path.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise ScenarioError(f"{path}: cannot be read: {reason}") from error
    return parse_scenario(text, str(path or "default.toml"))


def parse_scenario(text: str, source: str = "scenario") -> Scenario:
    """The scenario in a TOML text; `source` names it in errors. Raises ScenarioError."""
    try:
        return _scenario(Table(tomllib.loads(text)))
    except (ValueError, RecursionError) as error:
        raise ScenarioError(f"{source}: no valid TOML: {error}") from None
    except FieldError as error:
        raise ScenarioError(f"{source}: {error}") from None


def _scenario(table: Table) -> Scenario:
    times = _times(Table(table.take("times", check.table, {}), "times"))
    count = check.whole(0, _MAX_GENERATED)
    adapters = {f"wlan{n}": new_adapter(f"wlan{n}", n) for n in range(table.take("adapter_count", count, 0))}
    cameras: dict[bytes, CameraPlan] = {}
    for number in range(1, table.take("camera_count", count, 0) + 1):
        ssid = Ssid(f"SIM-CAM-{number}".encode())
        cameras[ssid.octets] = CameraPlan(ssid, Passphrase(f"camera-pass-{number}"))
    listed: set[str] = set()
    for index, values in enumerate(table.take("adapter", check.list_of(check.table), ())):
        entry = Table(values, f"adapter[{index}]")
        # An adapter's number is its position, also where it replaces a generated one.
        positions = {name: position for position, name in enumerate(adapters)}
        adapter = read_adapter(entry, positions.get(str(values.get("name")), len(adapters)))
        if adapter.name in listed:
            raise entry.error("name", f"{adapter.name} is listed twice")
        listed.add(adapter.name)
        adapters[adapter.name] = adapter
    seen: set[bytes] = set()
    for index, values in enumerate(table.take("camera", check.list_of(check.table), ())):
        entry = Table(values, f"camera[{index}]")
        camera = _camera(entry)
        if camera.ssid.octets in seen:
            raise entry.error("ssid", f"{camera.ssid.printable} is listed twice")
        seen.add(camera.ssid.octets)
        cameras[camera.ssid.octets] = camera
    table.finish()
    return Scenario(adapters, cameras, times)


def _times(table: Table) -> Times:
    default = Times()
    read = {
        field.name: table.take(field.name, check.seconds, getattr(default, field.name))
        for field in fields(Times)
    }
    table.finish()
    return Times(**read)


def new_adapter(name: str, number: int) -> AdapterPlan:
    """An adapter with defaults for everything but its name; `number` makes its addresses unique."""
    return read_adapter(Table({"name": name}), number)


def read_adapter(table: Table, number: int) -> AdapterPlan:
    """One adapter's table. Raises FieldError."""
    name = table.need("name", check.interface_name)
    usb = table.take("usb", check.flag, default=True)
    mac = "02:00:00:" + number.to_bytes(3, "big").hex(":")
    identity = AdapterIdentity(
        mac=table.take("mac", check.mac, mac),
        usb_port=table.take("usb_port", check.text, f"1-1.{number + 1}" if usb else ""),
        usb_serial=table.take("usb_serial", check.text, ""),
    )
    bands = table.take("bands", check.list_of(check.one_of(Band)), (Band.GHZ_2_4, Band.GHZ_5))
    plan = AdapterPlan(
        name=name,
        identity=identity,
        driver=table.take("driver", check.text, "rtw88_8812au" if usb else "iwlwifi"),
        usb_vendor_id=table.take("usb_vendor_id", check.text, "0bda" if usb else ""),
        usb_product_id=table.take("usb_product_id", check.text, "8812" if usb else ""),
        usb_product=table.take("usb_product", check.text, "Simulated 802.11ac adapter" if usb else ""),
        facts=BackendFacts(table.take("obstacle", check.text, ""), frozenset(Band(band) for band in bands)),
        radio=table.take("radio", check.text, identity.usb_port or name),
        index=number,
        mode=_MODES[table.take("mode", check.one_of(_MODES), "station")],
        rfkill=table.take("rfkill", check.one_of(("", "soft-blocked", "hard-blocked")), ""),
        plugged=table.take("plugged", check.flag, default=True),
    )
    table.finish()
    if not usb and plan.adapter.is_usb:
        raise table.error("usb", "is false, but a USB port or vendor is given")
    return plan


def _camera(table: Table) -> CameraPlan:
    if table.has("ssid_hex"):
        if table.has("ssid"):
            raise table.error("ssid_hex", "stands beside ssid; give one of them")
        ssid = table.need("ssid_hex", check.ssid_hex)
    else:
        ssid = table.need("ssid", check.ssid)
    passphrase = table.take("password", check.passphrase, Passphrase(""), secret=True)
    return read_camera(ssid, passphrase, table)


def read_camera(ssid: Ssid, passphrase: Passphrase, table: Table) -> CameraPlan:
    """A camera with the options in a table. Raises FieldError."""
    usual = Security.OPEN if passphrase.is_open else Security.WPA2
    security = Security(table.take("security", check.one_of(Security), usual))
    if (security is Security.OPEN) != passphrase.is_open:
        raise table.error("security", f'is "{security}" and the password is {_is_set(passphrase)}')
    band = table.take("band", check.one_of(Band), None)
    frequency = table.take("frequency_mhz", check.whole(2400, 7125), None)
    if band is not None and frequency is not None and Band.of_frequency(frequency) != band:
        raise table.error("frequency_mhz", f"{frequency} MHz is not in the {band} band")
    plan = CameraPlan(
        ssid=ssid,
        passphrase=passphrase,
        security=security,
        frequency_mhz=frequency or _CHANNELS[Band(band or Band.GHZ_2_4)],
        signal_percent=table.take("signal", check.whole(0, 100), 70),
        powered=table.take("powered", check.flag, default=True),
        hidden=table.take("hidden", check.flag, default=False),
        refuses=table.take("refuses", check.flag, default=False),
        dhcp=table.take("dhcp", check.flag, default=True),
        join_s=table.take("join_s", check.seconds, None),
    )
    table.finish()
    return plan


def _is_set(passphrase: Passphrase) -> str:
    return "empty" if passphrase.is_open else "set"
