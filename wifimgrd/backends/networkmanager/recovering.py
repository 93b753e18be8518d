"""Steps of the recovery ladder that NetworkManager and wpa_supplicant can take with an idle adapter."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import structlog

from wifimgrd.backends.networkmanager import defs, diagnosis
from wifimgrd.backends.networkmanager.defs import DeviceState
from wifimgrd.backends.networkmanager.devices import Gone, NmDevice, StateChange
from wifimgrd.backends.networkmanager.scanning import scan
from wifimgrd.backends.networkmanager.supplicant import Station
from wifimgrd.dbus.bus import BusClosed, BusConnection, BusError, Variant
from wifimgrd.domain.errors import BackendUnavailable, Busy, InterfaceLost
from wifimgrd.domain.recovery import RecoveryStep

_log = structlog.get_logger(__name__)

RestartLink = Callable[[str], Awaitable[None]]
"""Takes an interface's link down and up; raises BusError, BusClosed, TimeoutError."""


async def recover(
    connection: BusConnection,
    device: NmDevice | None,
    interface: str,
    step: RecoveryStep,
    restart_link: RestartLink | None,
) -> None:
    """Take a step; `restart_link` takes a link down and up, where somebody may.

    Raises InterfaceLost, Busy, BackendUnavailable. The caller limits the time.
    """
    if device is None:
        raise InterfaceLost(f"NetworkManager does not know the adapter {interface}")
    if device.reserved or device.state != DeviceState.DISCONNECTED:
        raise Busy("it has something else to do")
    try:
        if step is RecoveryStep.RESCAN:
            await (await Station.open(connection, interface)).forget()
            await scan(connection, device, interface)
        else:
            await _restart(connection, device, restart_link)
    except BusError as error:
        raise BackendUnavailable(error.message) from None
    except BusClosed:
        raise BackendUnavailable("the connection to the message bus was lost") from None


async def _restart(connection: BusConnection, device: NmDevice, restart_link: RestartLink | None) -> None:
    """Have NetworkManager let go of a device, which ends the supplicant's interface, restart its link, and
    have NetworkManager take it again:
    https://networkmanager.dev/docs/api/1.42/gdbus-org.freedesktop.NetworkManager.Device.html#gdbus-property-org-freedesktop-NetworkManager-Device.Managed.
    """
    steps: asyncio.Queue[StateChange | Gone] = asyncio.Queue()
    device.ears.append(steps.put_nowait)
    try:
        try:
            await _manage(connection, device, False)
            await _reached(device, steps, DeviceState.UNMANAGED)
            if restart_link is not None:
                await _restart_link(restart_link, device.name)
        finally:
            await asyncio.shield(_manage(connection, device, True))
        await _reached(device, steps, DeviceState.DISCONNECTED)
    finally:
        device.ears.remove(steps.put_nowait)


async def _restart_link(restart_link: RestartLink, interface: str) -> None:
    try:
        await restart_link(interface)
    except (BusError, TimeoutError) as error:
        _log.warning("link_not_restarted", interface=interface, reason=str(error) or "no answer")


async def _reached(device: NmDevice, steps: asyncio.Queue[StateChange | Gone], state: DeviceState) -> None:
    while True:
        match await steps.get():
            case Gone(pulled_out=True):
                raise diagnosis.adapter_gone(device.name)
            case StateChange(state=reached) if reached == state:
                return
            case Gone() if state is DeviceState.UNMANAGED:
                return  # NetworkManager gives the reason of a removal, too


async def _manage(connection: BusConnection, device: NmDevice, value: bool) -> None:
    await connection.call(
        defs.NM,
        device.path,
        defs.PROPERTIES,
        "Set",
        "ssv",
        [defs.NM_DEVICE, "Managed", Variant("b", value)],
        timeout_s=5,
    )
