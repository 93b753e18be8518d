"""Start and take down an active connection of this daemon's in NetworkManager."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Final

import structlog

from wifimgrd.backends.networkmanager.devices import DeviceGone, NmDevice, StateChange
from wifimgrd.backends.networkmanager.ip_config import LinkReading
from wifimgrd.dbus.connection import BusClosed, BusConnection, BusError
from wifimgrd.networkmanager.definitions import DeviceState
from wifimgrd.networkmanager.manager import NetworkManager
from wifimgrd.networkmanager.objects import SettingsConnection
from wifimgrd.wpa_supplicant.interface import SupplicantInterface

_log = structlog.get_logger(__name__)

DEACTIVATE_S: Final = 10.0
"""How long NetworkManager may take to disconnect a device."""


@dataclass(frozen=True, slots=True)
class ActiveConnection:
    """A profile of this daemon's on a device."""

    uuid: str
    profile: str
    """The profile's object."""
    active: str
    """The active connection's object."""


@dataclass(frozen=True, slots=True)
class Joined:
    """A link that is up, with what is needed to watch it and to take it down."""

    device: NmDevice
    supplicant: SupplicantInterface
    activation: ActiveConnection
    reading: LinkReading
    bssid: str = ""
    """The only access point that the supplicant joins; empty where it joins any with the SSID."""


async def activate(
    connection: BusConnection, device: NmDevice, uuid: str, settings: dict[str, dict[str, Any]]
) -> ActiveConnection:
    """Add a volatile profile and activate it.

    Where this is cancelled during the call to NetworkManager, the reply is awaited and the new active
    connection is taken down before the cancellation is raised. Raises BusError, BusClosed, TimeoutError.
    """
    call = asyncio.ensure_future(NetworkManager(connection).add_and_activate(settings, device.path))
    try:
        profile, active = await asyncio.shield(call)
    except asyncio.CancelledError:
        await asyncio.wait([call])
        if call.exception() is None:
            profile, active = call.result()
            await deactivate(connection, device, ActiveConnection(uuid, profile, active))
        raise
    return ActiveConnection(uuid, profile, active)


async def deactivate(connection: BusConnection, device: NmDevice, activation: ActiveConnection) -> None:
    """Deactivate and delete a profile of this daemon's; returns when the device is free. Never raises."""
    try:
        async with asyncio.timeout(DEACTIVATE_S):
            await _unless_gone(NetworkManager(connection).deactivate(activation.active))
            await wait_for_state(device, is_free)
            # A volatile profile is deleted with its activation, but not where the activation never began.
            await _unless_gone(SettingsConnection(connection, activation.profile).delete())
    except (BusClosed, TimeoutError) as error:
        _log.warning("not_taken_down", interface=device.name, error=str(error) or "time-out")


async def wait_for_state(device: NmDevice, wanted: Callable[[int], bool]) -> bool:
    """Return True once `wanted` accepts the device's state, False where the device is gone."""
    if wanted(device.state):
        return True
    outcome: asyncio.Future[bool] = asyncio.get_running_loop().create_future()

    def on_event(event: StateChange | DeviceGone) -> None:
        if not outcome.done() and (isinstance(event, DeviceGone) or wanted(event.state)):
            outcome.set_result(not isinstance(event, DeviceGone))

    device.listeners.append(on_event)
    try:
        return await outcome
    finally:
        device.listeners.remove(on_event)


def is_free(state: int) -> bool:
    """Whether a device in this state is idle."""
    return state <= DeviceState.DISCONNECTED


async def _unless_gone(call: Awaitable[None]) -> None:
    """Await a call whose object may be gone already."""
    try:
        await call
    except BusError as error:
        _log.debug("nothing_to_take_down", error=error.name)
