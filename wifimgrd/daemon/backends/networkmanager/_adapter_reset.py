"""The recovery steps that NetworkManager and wpa_supplicant carry out on an idle adapter."""

from __future__ import annotations

import asyncio
from typing import assert_never

import structlog

from wifimgrd.bus.connection import BusClosed, BusConnection, BusError
from wifimgrd.daemon.backends.networkmanager._changes import Changes
from wifimgrd.daemon.backends.networkmanager._devices import DeviceGone, NmDevice, StateChange
from wifimgrd.daemon.backends.networkmanager._failure_reasons import no_device
from wifimgrd.daemon.backends.networkmanager._scan import scan
from wifimgrd.daemon.backends.supplicant.backend import RestartLink
from wifimgrd.domain.errors import BackendUnavailable, Busy
from wifimgrd.domain.interface import unplugged
from wifimgrd.domain.recovery import BackendStep, RecoveryStep
from wifimgrd.proxies.networkmanager.definitions import DeviceState
from wifimgrd.proxies.wpa_supplicant.interface import SupplicantInterface

_log = structlog.get_logger(__name__)


async def recover(
    connection: BusConnection,
    changes: Changes,
    device: NmDevice | None,
    interface: str,
    step: BackendStep,
    restart_link: RestartLink | None,
) -> None:
    """Carry out a step; `restart_link` takes a link down and up, None where no helper may do so.

    Raises InterfaceLost, Busy, BackendUnavailable. The caller limits the time.
    """
    if device is None:
        raise no_device(interface)
    if device.reserved or device.state != DeviceState.DISCONNECTED:
        raise Busy("it is busy")
    try:
        match step:
            case RecoveryStep.RESCAN:
                await (await SupplicantInterface.open(connection, interface)).forget()
                await scan(connection, device, interface)
            case RecoveryStep.RESTART:
                await _restart(changes, device, restart_link)
            case _:
                assert_never(step)
    except BusError as error:
        raise BackendUnavailable(error.message) from None
    except BusClosed:
        raise BackendUnavailable("the connection to the message bus was lost") from None


async def _restart(changes: Changes, device: NmDevice, restart_link: RestartLink | None) -> None:
    """Make NetworkManager unmanage a device, which removes the supplicant's interface, restart its link, and
    make NetworkManager manage it again:
    https://networkmanager.dev/docs/api/1.42/gdbus-org.freedesktop.NetworkManager.Device.html#gdbus-property-org-freedesktop-NetworkManager-Device.Managed.
    """
    steps: asyncio.Queue[StateChange | DeviceGone] = asyncio.Queue()
    device.listeners.append(steps.put_nowait)
    try:
        try:
            await changes.set_managed(device.name, False)
            await _reached(device, steps, DeviceState.UNMANAGED)
            if restart_link is not None:
                await _restart_link(restart_link, device.name)
        finally:
            await asyncio.shield(changes.set_managed(device.name, True))
        await _reached(device, steps, DeviceState.DISCONNECTED)
    finally:
        device.listeners.remove(steps.put_nowait)


async def _restart_link(restart_link: RestartLink, interface: str) -> None:
    try:
        await restart_link(interface)
    except (BusError, TimeoutError) as error:
        _log.warning("link_not_restarted", interface=interface, reason=str(error) or "no answer")


async def _reached(
    device: NmDevice, steps: asyncio.Queue[StateChange | DeviceGone], state: DeviceState
) -> None:
    while True:
        match await steps.get():
            case DeviceGone(unplugged=True):
                raise unplugged(device.name)
            case StateChange(state=reached) if reached == state:
                return
            case DeviceGone() if state is DeviceState.UNMANAGED:
                return  # NetworkManager also uses the reason of a removal for an unmanaged device
