"""Devices, interfaces and the hub as lines for people."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Final

from wifimgrd.cli._camera_views import camera_fields, cameras_view, device_state, recording_count
from wifimgrd.cli._screen import Screen
from wifimgrd.cli._table import Cell, Column, Row
from wifimgrd.cli._text import STYLE_OF_STATE, Style, safe
from wifimgrd.cli._times import local_time, moment
from wifimgrd.domain.camera_state import UNKNOWN, camera_state_of, is_current, last_known
from wifimgrd.domain.device import Ssid
from wifimgrd.domain.device_names import name_of
from wifimgrd.domain.network import Security
from wifimgrd.domain.records import AbsentRecord, DeviceRecord, InterfaceRecord, NetworkRecord, ServiceRecord
from wifimgrd.domain.recovery import Health
from wifimgrd.domain.sentences import STEP_WORDS

_DEVICE_HEADS: Final = (
    Column("ID"),
    Column("NAME", least=12),
    Column("STATE"),
    Column("ADAPTER"),
    Column("ADDRESS", is_optional=True),
    Column("SIGNAL", rank=2),
    Column("NETWORK", rank=3),
    Column("LAST ERROR", rank=1, is_optional=True, goes_below=True),
)
_INTERFACE_HEADS: Final = (
    Column("ADAPTER"),
    Column("STATE", least=12),
    Column("CAMERA", least=9),
    Column("PRODUCT", rank=3),
    Column("USB PORT", rank=2),
    Column("BANDS", rank=4),
    Column("MAC ADDRESS"),
    Column("DRIVER", rank=5),
    Column("REASON", rank=1, is_optional=True, goes_below=True),
)
_NETWORK_HEADS: Final = (
    Column("NETWORK", least=12),
    Column("SECURITY", rank=2),
    Column("SIGNAL", rank=1),
    Column("BANDS", rank=5),
    Column("BSSID", least=18),
    Column("SEEN BY", rank=4),
    Column("MODEL", rank=6, is_optional=True),
    Column("CAMERA", rank=3, is_optional=True),
)
_SECURITIES: Final[Mapping[str, str]] = {Security.OWE: "Open, encrypted"}
"""The words for kinds of security whose code is not what they are called."""


def devices_view(
    devices: Iterable[DeviceRecord], screen: Screen, now_us: int | None = None, *, current: bool = True
) -> list[str]:
    """The table of devices; their states are the last known ones if they are not `current`."""
    now_us = _or_now(now_us)
    rows = [_device_row(device, now_us, current=current) for device in devices]
    return screen.table(_DEVICE_HEADS, rows)


def _device_row(device: DeviceRecord, now_us: int, *, current: bool) -> Row:
    return (
        device.id,
        device.name,
        device_state(device, now_us, current=current),
        device.interface,
        device.address,
        _percent(device.signal_strength),
        Ssid(device.ssid).printable,
        Cell(device.connection_error_code, Style.PLAIN if device.waiting_since else Style.BAD),
    )


def suspicion(health: str | None, reason: str | None) -> str:
    """The text about an adapter that may not work; empty if nothing is held against it, or if it is being
    recovered or in quarantine: then that is why it is unavailable."""
    return f"Being checked: {reason}" if health == Health.SUSPECT and reason else ""


def interfaces_view(
    interfaces: Iterable[InterfaceRecord],
    devices: Mapping[int, DeviceRecord],
    screen: Screen,
    absent: Iterable[AbsentRecord] = (),
    *,
    current: bool = True,
) -> list[str]:
    """The table of interfaces, with the adapters that are not plugged in."""
    rows: list[Row] = [
        (
            interface.name,
            _interface_state(interface, devices)
            if current
            else Cell(last_known(interface_label(interface, devices)), Style.FAINT),
            _holder(interface, devices),
            interface.usb_product or _usb_ids(interface),
            interface.usb_port,
            ", ".join(interface.bands),
            interface.mac_address,
            interface.driver,
            _details(interface, devices),
        )
        for interface in interfaces
    ]
    for adapter in absent:
        since = "" if adapter.unplugged_at is None else f" since {local_time(adapter.unplugged_at)}"
        rows.append(
            (
                adapter.interface,
                Cell("away", Style.FAINT),
                None,
                adapter.product,
                adapter.usb_port,
                None,
                adapter.mac_address,
                None,
                f"unplugged{since}{_whose(adapter, devices)}",
            )
        )
    return screen.table(_INTERFACE_HEADS, rows)


def _whose(adapter: AbsentRecord, devices: Mapping[int, DeviceRecord]) -> str:
    """For whom an adapter is that is away, or was."""
    if adapter.device_id is not None:
        return f"; reserved for {_device_title(adapter.device_id, devices)}"
    last = _device_title(adapter.last_device_id, devices)
    return "" if last is None else f"; was used by {last}"


def networks_view(
    networks: Iterable[NetworkRecord], devices: Mapping[int, DeviceRecord], screen: Screen
) -> list[str]:
    """The table of networks in the scan results."""
    rows: list[Row] = [
        (
            Ssid(network.ssid).printable,
            _SECURITIES.get(network.security, network.security),
            _percent(network.signal_strength),
            ", ".join(network.bands),
            ", ".join(network.bssids),
            ", ".join(network.interfaces),
            network.codename,
            _device_title(network.device_id, devices),
        )
        for network in networks
    ]
    return screen.table(_NETWORK_HEADS, rows)


def device_view(
    device: DeviceRecord, screen: Screen, now_us: int | None = None, *, current: bool = True
) -> list[str]:
    """Everything about one device."""
    now_us = _or_now(now_us)
    error = (
        f"{device.connection_error_message} ({device.connection_error_code})"
        if device.connection_error_code
        else None
    )
    if error and (at := moment(device.connection_error_at, now_us)):
        error += f", {at}"
    return [
        screen.styled(safe(device.name), Style.STRONG),
        *screen.fields(
            [
                ("Id", device.id),
                ("State", device_state(device, now_us, current=current)),
                ("Recovery step", _recovery_step(device) if current else None),
                ("Adapter", device.interface),
                ("Network", Ssid(device.ssid).printable),
                ("Model", device.codename),
                ("Address", device.address),
                ("Reachable", _reachable_cell(device)),
                ("Camera's address", device.camera_address),
                ("Host's address", device.local_address),
                ("Signal", _percent(device.signal_strength)),
                ("Last attempt", moment(device.last_connection_attempt, now_us)),
                ("Last connected", moment(device.last_successful_connection, now_us)),
                ("Last disconnected", moment(device.last_disconnection, now_us)),
                ("Last error", Cell(error, Style.PLAIN if device.waiting_since else Style.BAD)),
                *_power_fields(device, now_us),
                *camera_fields(device, now_us),
                ("Priority", device.priority or None),
                ("Pinned to", _pin(device)),
                ("Warnings", Cell(" ".join(device.warnings) or None, Style.BUSY)),
                ("Waiting for adapter", _since_when(device.waiting_since, now_us)),
                ("Reconnects", _reconnecting(device, now_us)),
            ]
        ),
    ]


def hub_view(
    service: ServiceRecord,
    devices: Iterable[DeviceRecord],
    interfaces: Iterable[InterfaceRecord],
    screen: Screen,
    now_us: int | None = None,
) -> list[str]:
    """The state of the hub, and of the cameras that it can command."""
    by_id = {device.id: device for device in devices}
    backend, current = f"{service.backend}, {service.backend_state}", is_current(service.backend_state)
    if service.backend_reason:
        backend += f": {service.backend_reason}"
    elif service.backend_choice:
        backend += f" ({service.backend_choice})"
    bluetooth = ": ".join(filter(None, (service.bluetooth_state, service.bluetooth_reason)))
    return [
        screen.styled(f"wifimgrd {safe(service.version)}", Style.STRONG),
        *screen.fields(
            [
                ("Backend", Cell(backend, STYLE_OF_STATE.get(service.backend_state, Style.BAD))),
                ("Cameras", _states_of(by_id.values(), current=current)),
                (
                    "Adapters",
                    count_of(
                        interface_label(one, by_id) if current else UNKNOWN
                        for one in interfaces
                        if one.leads_radio
                    ),
                ),
                ("Bluetooth", Cell(bluetooth, STYLE_OF_STATE.get(service.bluetooth_state, Style.PLAIN))),
                *recording_count(by_id.values(), current=current),
            ]
        ),
        *cameras_view(by_id.values(), screen, _or_now(now_us), current=current),
    ]


def _states_of(devices: Iterable[DeviceRecord], *, current: bool) -> str:
    """How many devices there are, and in which states."""
    return count_of(camera_state_of(device) if current else UNKNOWN for device in devices)


def _or_now(now_us: int | None) -> int:
    return time.time_ns() // 1000 if now_us is None else now_us


def _power_fields(device: DeviceRecord, now_us: int) -> list[tuple[str, object]]:
    """Facts known over Bluetooth about a camera that can be woken."""
    if device.auto_wake is None:
        return []
    seen = moment(device.last_seen, now_us)
    power = ", ".join(filter(None, (device.power_state, seen and f"seen {seen}")))
    known: list[tuple[str, object]] = [("Power", power or "not seen over Bluetooth yet")]
    if device.paired is not None:
        address = f", Bluetooth address {device.bluetooth_address}" if device.bluetooth_address else ""
        known.append(("Paired", f"yes{address}" if device.paired else "no"))
    return [*known, ("Wakes", "for any attempt to connect" if device.auto_wake else "on command only")]


def interface_label(interface: InterfaceRecord, devices: Mapping[int, DeviceRecord]) -> str:
    """An interface's state, and for whom it is if it is not for all."""
    return _reservation(interface, devices) if interface.is_kept else interface.state


def _details(interface: InterfaceRecord, devices: Mapping[int, DeviceRecord]) -> str:
    """The facts that its state leaves out: why it is unavailable or may not work, and for whom it is while it
    is not available."""
    reservation = "" if interface.is_kept else _reservation(interface, devices)
    health = suspicion(interface.health, interface.health_reason)
    return "; ".join(filter(None, (interface.reason, health, reservation)))


def _reservation(interface: InterfaceRecord, devices: Mapping[int, DeviceRecord]) -> str:
    """For whom an interface is; empty if it is for all."""
    if interface.reserved_device_id is None:
        return ""
    return reserved_for(name_of(interface.reserved_device_id, devices))


def reserved_for(device: str) -> str:
    """The words for an interface that is only for one device."""
    return f"reserved for {device}"


def _interface_state(interface: InterfaceRecord, devices: Mapping[int, DeviceRecord]) -> Cell:
    """An interface's state; one that the configuration excludes is not shown as an error."""
    is_meant = interface.state == "unavailable" and (interface.reason or "").startswith("excluded by")
    is_suspect = interface.health == Health.SUSPECT
    if is_meant or interface.is_kept or is_suspect:
        style = Style.BUSY if is_suspect else Style.FAINT if is_meant else Style.PLAIN
        return Cell(interface_label(interface, devices), style)
    return state_cell(interface.state)


def _pin(device: DeviceRecord) -> str | None:
    if device.pin is None:
        return None
    return device.pin.get("mac") or f"USB port {device.pin.get('usb_port')}"


def state_cell(state: str) -> Cell:
    """A state in its colour."""
    return Cell(state, STYLE_OF_STATE.get(state, Style.PLAIN))


def count_of(states: Iterable[str]) -> str:
    """How many there are, and of each state."""
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
    return Cell("no: associated, but not answering", Style.BAD)


def _recovery_step(device: DeviceRecord) -> str | None:
    """The recovery step that runs for a device, in words and by its name."""
    step = device.recovery_step
    return None if step is None else f"{STEP_WORDS[step]} ({step})" if step in STEP_WORDS else step


def _since_when(time_us: int | None, now_us: int) -> str | None:
    since = moment(time_us, now_us)
    return None if since is None else f"since {since}"


def _reconnecting(device: DeviceRecord, now_us: int) -> str | None:
    """Since when the device is being reconnected; None if it is not."""
    lost = moment(device.lost_at, now_us)
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
