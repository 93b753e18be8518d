"""Devices, interfaces and the hub as lines for people."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Final

from wifimgrd.cli.screen import Screen
from wifimgrd.cli.table import Cell, Row, fields
from wifimgrd.cli.text import STYLE_OF_STATE, Style, safe
from wifimgrd.dbus.client.records import DeviceRecord, InterfaceRecord, NetworkRecord, ServiceRecord
from wifimgrd.domain.device import Ssid

_DEVICE_HEADS: Final = (
    "ID",
    "NAME",
    "STATE",
    "INTERFACE",
    "(ADDRESS)",
    "SIGNAL",
    "NETWORK",
    "(LAST ERROR)",
)
_INTERFACE_HEADS: Final = (
    "NAME",
    "STATE",
    "DEVICE",
    "ADAPTER",
    "USB PORT",
    "BANDS",
    "MAC ADDRESS",
    "DRIVER",
    "(REASON)",
)
_NETWORK_HEADS: Final = ("NETWORK", "SECURITY", "SIGNAL", "BANDS", "BSSID", "HEARD BY", "(DEVICE)")
_UNITS: Final = ((86400, "d"), (3600, "h"), (60, "min"), (1, "s"))


def devices_view(devices: Iterable[DeviceRecord], screen: Screen) -> list[str]:
    """The table of devices."""
    rows: list[Row] = [
        (
            device.id,
            device.name,
            state_cell(device.state),
            device.interface,
            device.address,
            _percent(device.signal_strength),
            Ssid(device.ssid).printable,
            Cell(device.error_code, Style.BAD),
        )
        for device in devices
    ]
    return screen.table(_DEVICE_HEADS, rows)


def interfaces_view(
    interfaces: Iterable[InterfaceRecord], devices: Mapping[int, DeviceRecord], screen: Screen
) -> list[str]:
    """The table of interfaces."""
    rows: list[Row] = [
        (
            interface.name,
            state_cell(interface.state),
            _holder(interface, devices),
            interface.usb_product or _usb_ids(interface),
            interface.usb_port,
            ", ".join(interface.bands),
            interface.mac_address,
            interface.driver,
            interface.reason,
        )
        for interface in interfaces
    ]
    return screen.table(_INTERFACE_HEADS, rows)


def networks_view(
    networks: Iterable[NetworkRecord], devices: Mapping[int, DeviceRecord], screen: Screen
) -> list[str]:
    """The table of networks in the air."""
    rows: list[Row] = [
        (
            Ssid(network.ssid).printable,
            network.security,
            _percent(network.signal_strength),
            ", ".join(network.bands),
            ", ".join(network.bssids),
            ", ".join(network.interfaces),
            _device_title(network.device_id, devices),
        )
        for network in networks
    ]
    return screen.table(_NETWORK_HEADS, rows)


def device_view(device: DeviceRecord, screen: Screen, now_us: int | None = None) -> list[str]:
    """Everything about one device."""
    now_us = time.time_ns() // 1000 if now_us is None else now_us
    error = f"{device.error_message} ({device.error_code})" if device.error_code else None
    title = f"{safe(device.name)} (device {device.id})"
    return [
        screen.styled(title, Style.STRONG),
        *fields(
            [
                ("State", state_cell(device.state)),
                ("Interface", device.interface),
                ("Network", Ssid(device.ssid).printable),
                ("Model", device.codename),
                ("Address", device.address),
                ("Reachable", _reachable_cell(device)),
                ("Camera's address", device.camera_address),
                ("Own address", device.local_address),
                ("Signal", _percent(device.signal_strength)),
                ("Last attempt", moment(device.last_connection_attempt_us, now_us)),
                ("Last connected", moment(device.last_successful_connection_us, now_us)),
                ("Last error", Cell(error, Style.BAD)),
                ("Is brought back", _pursuit(device, now_us)),
            ],
            colour=screen.colour,
        ),
    ]


def hub_view(
    service: ServiceRecord,
    devices: Iterable[DeviceRecord],
    interfaces: Iterable[InterfaceRecord],
    screen: Screen,
) -> list[str]:
    """How the hub is."""
    backend = f"{service.backend}, {service.backend_state}"
    if service.backend_reason:
        backend += f": {service.backend_reason}"
    return [
        screen.styled(f"wifimgrd {safe(service.version)}", Style.STRONG),
        *fields(
            [
                ("Backend", Cell(backend, STYLE_OF_STATE.get(service.backend_state, Style.BAD))),
                ("Devices", _count(device.state for device in devices)),
                ("Interfaces", _count(interface.state for interface in interfaces)),
            ],
            colour=screen.colour,
        ),
    ]


def state_cell(state: str) -> Cell:
    """A state in its colour."""
    return Cell(state, STYLE_OF_STATE.get(state, Style.PLAIN))


def moment(time_us: int | None, now_us: int) -> str | None:
    """A point in time, local and as the time since; None where there is none."""
    if time_us is None:
        return None
    told = datetime.fromtimestamp(time_us / 1e6).astimezone().strftime("%Y-%m-%d %H:%M:%S")
    return f"{told} ({_since(now_us - time_us)})"


def _since(passed_us: int) -> str:
    seconds = passed_us // 1_000_000
    for length, unit in _UNITS:
        if seconds >= length:
            return f"{seconds // length} {unit} ago"
    return "just now"


def _count(states: Iterable[str]) -> str:
    counted = Counter(states)
    total = counted.total()
    parts = ", ".join(f"{number} {state}" for state, number in sorted(counted.items()))
    return f"{total}: {parts}" if total else "none"


def _reachable_cell(device: DeviceRecord) -> Cell:
    """Whether a connected camera answers; empty for one that is not connected."""
    if device.state != "connected":
        return Cell(None)
    if device.reachable:
        return Cell("yes", Style.GOOD)
    return Cell("no: it is associated, but does not answer", Style.BAD)


def _pursuit(device: DeviceRecord, now_us: int) -> str | None:
    """Since when it is away that is connected again by itself; None where nothing is."""
    lost = moment(device.lost_at_us, now_us)
    return None if lost is None else f"when its network is seen and an adapter is free; lost {lost}"


def _percent(number: int | None) -> str | None:
    return None if number is None else f"{number} %"


def _holder(interface: InterfaceRecord, devices: Mapping[int, DeviceRecord]) -> str | None:
    return _device_title(interface.device_id, devices)


def _device_title(device_id: int | None, devices: Mapping[int, DeviceRecord]) -> str | None:
    if device_id is None:
        return None
    device = devices.get(device_id)
    return str(device_id) if device is None else f"{device.id} {device.name}"


def _usb_ids(interface: InterfaceRecord) -> str | None:
    if not interface.usb_vendor_id:
        return None
    return f"{interface.usb_vendor_id}:{interface.usb_product_id}"
