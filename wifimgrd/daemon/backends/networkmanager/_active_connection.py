"""Start and take down one of the hub's active connections in NetworkManager, through the helper."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Final

import structlog

from wifimgrd.bus import names
from wifimgrd.bus.connection import BusClosed, BusConnection, BusError
from wifimgrd.daemon.backends.networkmanager._changes import Changes
from wifimgrd.daemon.backends.networkmanager._devices import DeviceGone, NmDevice, StateChange
from wifimgrd.daemon.backends.networkmanager._ip_config import LinkReading
from wifimgrd.daemon.ports import JoinRequest
from wifimgrd.proxies.networkmanager.definitions import NM, DeviceState
from wifimgrd.proxies.wpa_supplicant.bss import KeyManagement
from wifimgrd.proxies.wpa_supplicant.interface import SupplicantInterface

_log = structlog.get_logger(__name__)

DEACTIVATE_S: Final = 10.0
"""How long NetworkManager may take to disconnect a device."""
_GONE: Final = (names.BUS_DAEMON + ".Error.Unknown", NM)
"""How the names of NetworkManager's errors begin that say so; the helper has others."""


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
    connection: BusConnection,
    changes: Changes,
    device: NmDevice,
    request: JoinRequest,
    key_management: KeyManagement,
    bssid: str,
    remaining_s: float,
) -> ActiveConnection:
    """Add a profile that is not stored and activate it; arguments as for Changes.

    Where this is cancelled during the call, the reply is awaited and the new active connection is taken down
    before the cancellation is raised. Raises BusError, BusClosed, TimeoutError.
    """
    identity = str(uuid.uuid4())
    call = asyncio.ensure_future(
        changes.activate(request, key_management, bssid, device.path, identity, remaining_s)
    )
    try:
        profile, active = await asyncio.shield(call)
    except asyncio.CancelledError:
        await asyncio.wait([call])
        if call.exception() is None:
            profile, active = call.result()
            await deactivate(connection, changes, device, ActiveConnection(identity, profile, active))
        raise
    return ActiveConnection(identity, profile, active)


async def deactivate(
    connection: BusConnection, changes: Changes, device: NmDevice, activation: ActiveConnection
) -> None:
    """Deactivate and delete a profile of this daemon's; returns when the device is free. Never raises.

    `connection` is the one on which NetworkManager is watched.
    """
    try:
        async with asyncio.timeout(DEACTIVATE_S):
            await _unless_gone(changes.deactivate(activation.active))
            await connection.round_trip()  # the device's state is now as new as the reply of another process
            await wait_for_state(device, is_free)
            # A volatile profile is deleted with its activation, but not where the activation never began;
            # that of an open network is not volatile.
            await _unless_gone(changes.delete(activation.profile))
    except (BusError, BusClosed, TimeoutError) as error:
        _log.warning("not_taken_down", interface=device.name, error=str(error) or "time-out")


async def delete_profile(changes: Changes, path: str) -> None:
    """Delete a profile of this daemon's that no link uses any longer; a volatile one has gone by itself.
    Never raises."""
    try:
        await _unless_gone(changes.delete(path))
    except (BusError, BusClosed, TimeoutError) as error:
        _log.warning("profile_not_deleted", profile=path, error=str(error) or "time-out")


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
        if not error.name.startswith(_GONE):
            raise
        _log.debug("nothing_to_take_down", error=error.name)
