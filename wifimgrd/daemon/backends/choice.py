"""Choose the backend that joins networks on this host: `[backend] name = "auto"`."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from wifimgrd.bus.connection import BusConnection, BusError
from wifimgrd.proxies.networkd.units import ServiceManager
from wifimgrd.proxies.networkmanager.definitions import NM, DeviceState
from wifimgrd.proxies.networkmanager.device import Device, is_wifi
from wifimgrd.proxies.networkmanager.manager import NetworkManager

_UNIT: Final = "NetworkManager.service"
_ENABLED: Final = ("enabled", "enabled-runtime", "linked", "linked-runtime", "alias", "static", "generated")
_STARTUP_S: Final = 15.0
"""How long NetworkManager may take to begin with its devices, which it does not manage until then."""
_NETWORKMANAGER: Final = "networkmanager"
_WPA_SUPPLICANT: Final = "wpa_supplicant"


@dataclass(frozen=True, slots=True)
class Choice:
    """The name of a backend, and why it is that one."""

    name: str
    reason: str


async def choose_backend(connection: BusConnection) -> Choice:
    """NetworkManager, where it is enabled or running and manages the Wi-Fi adapters; else wpa_supplicant with
    systemd-networkd. Raises BusClosed, TimeoutError."""
    if await connection.name_owner(NM) is not None:
        if await _leaves_adapters(connection):
            return Choice(
                _WPA_SUPPLICANT, "NetworkManager is running, but leaves all Wi-Fi adapters unmanaged"
            )
        return Choice(_NETWORKMANAGER, "NetworkManager is running")
    try:
        state = await ServiceManager(connection).unit_file_state(_UNIT)
    except BusError as error:
        if not error.name.endswith((".NoSuchUnit", ".FileNotFound")):
            return Choice(_NETWORKMANAGER, "systemd does not say whether NetworkManager is installed")
        return Choice(_WPA_SUPPLICANT, "NetworkManager is not installed")
    if state in _ENABLED:
        return Choice(_NETWORKMANAGER, "NetworkManager is enabled")
    return Choice(_WPA_SUPPLICANT, f"NetworkManager is {state}")


async def _leaves_adapters(connection: BusConnection) -> bool:
    """Whether NetworkManager has Wi-Fi devices and manages none of them, also once it has started."""
    manager, changed = NetworkManager(connection), asyncio.Event()
    watch = await manager.watch_any_property(lambda _: changed.set())
    try:
        async with asyncio.timeout(_STARTUP_S):
            while True:
                changed.clear()
                properties = await manager.get_all()
                if not await _all_unmanaged(connection, properties.get("Devices", ())):
                    return False
                if not properties.get("Startup"):
                    return True
                await changed.wait()
    except (BusError, TimeoutError):  # it ends, or is busy: it is enabled in either case
        return False
    finally:
        watch.drop()


async def _all_unmanaged(connection: BusConnection, paths: Sequence[str]) -> bool:
    devices = [await Device(connection, path).get_all() for path in paths]
    states = [properties.get("State") for properties in devices if is_wifi(properties)]
    return bool(states) and all(state == DeviceState.UNMANAGED for state in states)
