"""Advertisements of cameras, as BlueZ reports them, without I/O.

Everybody within range can send any of this, also another camera's name, serial number or address: nothing
here identifies a camera. Each value is checked by itself, and an invalid one is left out.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from wifimgrd.camera.drivers import gopro_messages as gopro
from wifimgrd.proxies.bluez.definitions import DeviceProperties
from wifimgrd.wire.camera_names import ASLEEP, AWAKE

_LONGEST_NAME: Final = 248
"""Bytes of a name: Bluetooth Core 5.4, volume 3, part C, 3.2.2."""
_LONGEST_PATTERN: Final = 200
_UUID: Final = re.compile("[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.ASCII)
_ADDRESS: Final = re.compile("[0-9A-F]{2}(:[0-9A-F]{2}){5}", re.ASCII)
_SHORT_UUID: Final = re.compile("[0-9a-f]{4}", re.ASCII)
_BASE_UUID: Final = "0000{}-0000-1000-8000-00805f9b34fb"

_GOPRO_COMPANIES: Final = (0x02F2, 0xF202)
"""The assigned number, and the same bytes in the other order, as Open GoPro's table has them."""
_GOPRO_SCHEMAS: Final = (2, 3)
"""The second has 8 characters of the serial number in its service data, the first 4."""
_GOPRO_SERIAL: Final = re.compile(b"[A-Z0-9]{4}([A-Z0-9]{4})?")
_GOPRO_MAC: Final = 4
"""The bytes of the access point's MAC address before it."""
_AWAKE: Final = 1 << 0
_ACCESS_POINT: Final = 1 << 1
_PAIRING_MODE: Final = 1 << 2


@dataclass(frozen=True, slots=True)
class Advertisement:
    """The state that one advertiser reports; empty or None for a value that it does not report."""

    name: str
    power_state: str = ""
    """ASLEEP or AWAKE."""
    access_point: bool | None = None
    """Whether its Wi-Fi is on."""
    pairing_mode: bool | None = None
    serial: str = ""
    """The end of its serial number, or all of it."""
    model_id: int | None = None
    """The maker's number of its model."""


@dataclass(frozen=True, slots=True)
class Target:
    """The devices that a search looks for: those with this service, and those with such a name."""

    service: str
    """A UUID in BlueZ's form; empty for any."""
    matches_name: Callable[[str], object] | None
    """None for any."""

    @classmethod
    def of(cls, service: str, pattern: str) -> Target:
        """Check a target: the UUID of a service, whole or its 16 bits in hexadecimal, and a regular
        expression of the whole name, each may be empty; raises ValueError."""
        uuid = service.lower()
        if _SHORT_UUID.fullmatch(uuid):
            uuid = _BASE_UUID.format(uuid)
        if uuid and not _UUID.fullmatch(uuid):
            raise ValueError(f"{service!r} is not the UUID of a service")
        if not uuid and not pattern:
            raise ValueError("a target has a service, a name, or both")
        if len(pattern) > _LONGEST_PATTERN:
            raise ValueError("the pattern of a name is too long")
        try:
            return cls(uuid, re.compile(pattern).fullmatch if pattern else None)
        except re.error as error:
            raise ValueError(f"{pattern!r} is not a regular expression: {error}") from None


def is_address(text: str) -> bool:
    """Whether a text is a Bluetooth address in BlueZ's form, such as D4:32:60:12:34:56."""
    return _ADDRESS.fullmatch(text) is not None


def matching_service(targets: Sequence[Target], device: DeviceProperties) -> str | None:
    """The service of the target that a device matches, empty if it matches only by name; None if it matches
    none."""
    services = {*device.get("UUIDs", ()), *device.get("ServiceData", ())}
    name = name_of(device)
    for target in targets:
        if target.service in services:
            return target.service
    is_named = name and any(target.matches_name and target.matches_name(name) for target in targets)
    return "" if is_named else None


def name_of(device: DeviceProperties) -> str:
    """Its name, without characters that terminals and pages would not show as they are; "" if that is
    empty or too long."""
    name = device.get("Name", "")
    if len(name.encode("utf-8", "replace")) > _LONGEST_NAME:
        return ""
    return "".join(letter for letter in name if letter.isprintable()).strip()


def parse(device: DeviceProperties, service: str) -> Advertisement:
    """Parse the advertisement of a device that was found by a service, or by its name (then `service` is
    empty). Manufacturer data counts only for the cameras of that manufacturer."""
    name = name_of(device)
    for company in _GOPRO_COMPANIES:
        status = device.get("ManufacturerData", {}).get(company, b"")
        if service == gopro.SERVICE and len(status) >= 2 and status[0] in _GOPRO_SCHEMAS:
            return _gopro(name, status, device)
    return Advertisement(name)


def _gopro(name: str, status: bytes, device: DeviceProperties) -> Advertisement:
    """Schema 2 or 3: https://gopro.github.io/OpenGoPro/docs/ble/protocol/ble_setup"""
    flags = status[1]
    identity = device.get("ServiceData", {}).get(gopro.SERVICE, b"")[_GOPRO_MAC:]
    return Advertisement(
        name,
        AWAKE if flags & _AWAKE else ASLEEP,
        bool(flags & _ACCESS_POINT),
        bool(flags & _PAIRING_MODE),
        identity.decode() if _GOPRO_SERIAL.fullmatch(identity) else "",
        status[2] if len(status) > 2 else None,
    )
