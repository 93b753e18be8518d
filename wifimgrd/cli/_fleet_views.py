"""Hubs, and the devices of all hubs, as lines for people."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Final

from wifimgrd.cli._screen import Screen
from wifimgrd.cli._table import Cell, Column, Row
from wifimgrd.cli._text import Style
from wifimgrd.cli._times import local_time
from wifimgrd.cli._views import DEVICE_HEADS, device_row, interface_label, state_cell, states_of
from wifimgrd.domain.camera_state import is_current
from wifimgrd.domain.records import DeviceRecord
from wifimgrd.fleet.fleet import FleetHub

_HUB_HEADS: Final = (
    Column("HUB", least=12),
    Column("STATE"),
    Column("CAMERAS", least=18),
    Column("INTERFACES", rank=2),
    Column("BACKEND", rank=4),
    Column("VERSION", rank=5),
    Column("COMMANDS", rank=6),
    Column("LAST MESSAGE", rank=3, is_optional=True),
    Column("REASON", rank=1, is_optional=True, goes_below=True),
)
_DEVICE_HEADS: Final = (
    Column("HUB", least=12),
    Column("HUB STATE", rank=1, is_optional=True),
    *DEVICE_HEADS,
)


def hubs_view(hubs: Sequence[FleetHub], screen: Screen) -> list[str]:
    """The table of hubs."""
    return screen.table(_HUB_HEADS, [_hub_row(hub) for hub in hubs])


def fleet_devices_view(hubs: Sequence[FleetHub], screen: Screen) -> list[str]:
    """The table of the devices of all hubs; of an offline hub the last known states."""
    now_us = time.time_ns() // 1000
    rows: list[Row] = [
        (hub.id, _online_cell(hub), *device_row(device, now_us, current=_is_current(hub)))
        for hub in hubs
        for device in devices_of(hub)
    ]
    if all(hub.online for hub in hubs if hub.devices):
        rows = [(hub, None, *device) for hub, _, *device in rows]
    return screen.table(_DEVICE_HEADS, rows)


def devices_of(hub: FleetHub) -> list[DeviceRecord]:
    """The devices of a hub by id; they arrive in any order."""
    return sorted(hub.devices.values(), key=lambda device: device.id)


def _hub_row(hub: FleetHub) -> Row:
    service = hub.record.service
    return (
        hub.id,
        _online_cell(hub),
        states_of(hub.devices.values(), current=_is_current(hub)),
        _interfaces(hub),
        Cell(service.backend, state_cell(service.backend_state).style),
        service.version,
        "yes" if hub.record.commands else "no",
        None if hub.last_message_us is None else local_time(hub.last_message_us),
        service.backend_reason,
    )


def _interfaces(hub: FleetHub) -> str:
    """How many are in use, and which are kept for a device."""
    service = hub.record.service
    kept = sorted(interface_label(one, hub.devices) for one in hub.interfaces.values() if one.is_kept)
    return ", ".join([f"{service.assigned_interfaces} of {service.total_interfaces} in use", *kept])


def _is_current(hub: FleetHub) -> bool:
    return hub.online and is_current(hub.record.service.backend_state)


def _online_cell(hub: FleetHub) -> Cell:
    return Cell("Online", Style.GOOD) if hub.online else Cell("Offline", Style.BAD)
