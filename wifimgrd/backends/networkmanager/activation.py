"""An activation of ours in NetworkManager: begin it, take it down."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

import structlog

from wifimgrd.backends.networkmanager import defs
from wifimgrd.backends.networkmanager.defs import DeviceState
from wifimgrd.backends.networkmanager.devices import Gone, NmDevice, StateChange
from wifimgrd.backends.networkmanager.profile import SIGNATURE
from wifimgrd.backends.networkmanager.reading import Reading
from wifimgrd.backends.networkmanager.supplicant import Station
from wifimgrd.dbus.bus import BusClosed, BusConnection, BusError, Variant

_log = structlog.get_logger(__name__)

TAKE_DOWN_S: Final = 10.0
"""How long NetworkManager may take to let go of a device."""


@dataclass(frozen=True, slots=True)
class Activation:
    """A profile of ours on a device."""

    uuid: str
    profile: str
    """The profile's object."""
    active: str
    """The active connection's object."""


@dataclass(frozen=True, slots=True)
class Joined:
    """A link that is up, with all that is needed to watch it and to take it down."""

    device: NmDevice
    station: Station
    activation: Activation
    reading: Reading


async def activate(
    connection: BusConnection, device: NmDevice, uuid: str, settings: dict[str, dict[str, Any]]
) -> Activation:
    """Add a volatile profile and activate it.

    Where this is cancelled while NetworkManager has the call, the reply is awaited and what it
    began is taken down before the cancellation goes on. Raises BusError, BusClosed, TimeoutError.
    https://networkmanager.dev/docs/api/1.42/gdbus-org.freedesktop.NetworkManager.html
    """
    options = {"persist": Variant("s", "volatile"), "bind-activation": Variant("s", "none")}
    call = asyncio.ensure_future(
        connection.call(
            defs.NM,
            defs.NM_PATH,
            defs.NM,
            "AddAndActivateConnection2",
            SIGNATURE + "ooa{sv}",
            [settings, device.path, defs.NO_OBJECT, options],
            timeout_s=TAKE_DOWN_S,
        )
    )
    try:
        profile, active, _ = await asyncio.shield(call)
    except asyncio.CancelledError:
        await asyncio.wait([call])
        if call.exception() is None:
            profile, active, _ = call.result()
            await take_down(connection, device, Activation(uuid, profile, active))
        raise
    return Activation(uuid, profile, active)


async def take_down(connection: BusConnection, device: NmDevice, activation: Activation) -> None:
    """Deactivate and forget a profile of ours; returns when the device is free. Never raises."""
    try:
        async with asyncio.timeout(TAKE_DOWN_S):
            await _ask(connection, defs.NM_PATH, defs.NM, "DeactivateConnection", "o", [activation.active])
            await wait_for_state(device, is_free)
            # A volatile profile goes by itself; one that lost its activation before it began stays.
            await _ask(connection, activation.profile, defs.NM_SETTINGS_CONNECTION, "Delete")
    except (BusClosed, TimeoutError) as error:
        _log.warning("not_taken_down", interface=device.name, error=str(error) or "time-out")


async def wait_for_state(device: NmDevice, wanted: Callable[[int], bool]) -> bool:
    """Return once the device's state is as wanted: True, or False where it is gone."""
    if wanted(device.state):
        return True
    outcome: asyncio.Future[bool] = asyncio.get_running_loop().create_future()

    def hear(event: StateChange | Gone) -> None:
        if not outcome.done() and (isinstance(event, Gone) or wanted(event.state)):
            outcome.set_result(not isinstance(event, Gone))

    device.ears.append(hear)
    try:
        return await outcome
    finally:
        device.ears.remove(hear)


def is_free(state: int) -> bool:
    """Whether a device in this state has nothing to do."""
    return state <= DeviceState.DISCONNECTED


async def _ask(
    connection: BusConnection,
    path: str,
    interface: str,
    member: str,
    signature: str = "",
    body: Sequence[Any] = (),
) -> None:
    """Call a method of NetworkManager that may find nothing to do."""
    try:
        await connection.call(defs.NM, path, interface, member, signature, body, TAKE_DOWN_S)
    except BusError as error:
        _log.debug("nothing_to_take_down", member=member, error=error.name)
