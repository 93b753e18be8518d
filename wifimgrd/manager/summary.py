"""The hub's state in one sentence, for `systemctl status`."""

from __future__ import annotations

from itertools import islice
from typing import Final

from wifimgrd.domain.events import BackendState
from wifimgrd.manager.hub import Hub

_SHOWN: Final = 3
"""Reserved interfaces that are named."""


def summary(hub: Hub) -> str:
    """E.g. "3 devices, 1 connected, 1 of 3 interfaces free, wlan2 reserved for Nose", and why the backend is
    not ready."""
    interfaces = hub.interface_counts
    line = (
        f"{_counted(hub.device_count, 'device')}, {hub.connected_count} connected, "
        f"{interfaces.free} of {_counted(interfaces.total, 'interface')} free"
    )
    kept = hub.kept_interfaces
    for name, device in islice(kept.items(), _SHOWN):
        line += f", {name} reserved for {device}"
    if len(kept) > _SHOWN:
        line += f", {len(kept) - _SHOWN} more reserved"
    backend = hub.backend_status
    if backend.state is not BackendState.READY:
        line += f"; {hub.backend_name} is {backend.state.value}"
        line += f": {backend.reason}" if backend.reason else ""
    return line


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
