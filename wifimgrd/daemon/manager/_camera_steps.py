"""The recovery steps of cameras themselves: their access point off and on, or a reboot, over Bluetooth."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Final

from wifimgrd.daemon.manager._entry import DeviceEntry
from wifimgrd.daemon.manager._over_bluetooth import OverBluetooth
from wifimgrd.daemon.manager._state import HubState
from wifimgrd.daemon.manager._waking import Waking
from wifimgrd.daemon.ports import CameraBluetooth
from wifimgrd.domain.errors import NotPaired, NotSupported, WakeFailed, WifimgrdError
from wifimgrd.domain.link_steps import LinkStep
from wifimgrd.domain.time_limits import REBOOT_S
from wifimgrd.runtime.tasks import Tasks

_COMMAND_S: Final = 45.0
"""The time limit of a command over Bluetooth, with the connection."""
_GOES_S: Final = 10.0
"""So long after the command, the network of a camera that reboots is no longer on the air."""
_APPEARS_S: Final = 20.0
"""How long the network of a camera is looked for that has switched its access point off and on."""


class CameraSteps:
    """Commands cameras whose links are down to recover."""

    def __init__(
        self,
        state: HubState,
        waking: Waking,
        over_bluetooth: OverBluetooth,
        bluetooth: CameraBluetooth,
        tasks: Tasks,
    ) -> None:
        self._state = state
        self._waking = waking
        self._over_bluetooth = over_bluetooth
        self._bluetooth = bluetooth
        self._tasks = tasks

    def possible(self, entry: DeviceEntry) -> frozenset[LinkStep]:
        """The steps that the model of a camera knows, and its pairing allows."""
        has_bond = self._over_bluetooth.has_bond(entry)
        return frozenset(self._state.model(entry.device).recovery_steps if has_bond else ())

    async def require(self, entry: DeviceEntry) -> None:
        """Raises why a camera cannot be reached over Bluetooth: NotSupported, NotPaired,
        BluetoothUnavailable."""
        self._waking.request(entry)
        await self._waking.require_bluetooth()

    async def take(self, entry: DeviceEntry, step: LinkStep, interface: str) -> None:
        """Carry a step out; returns when the camera's network is received again by an interface, or has had
        the time for that. Raises NotPaired, WakeFailed, BluetoothUnavailable, NotSupported and others."""
        address, bluetooth = entry.device.bluetooth_address, self._state.model(entry.device).bluetooth
        if bluetooth is None:
            raise NotSupported("the camera has no Bluetooth that the hub knows")
        is_reboot = step is LinkStep.REBOOT_CAMERA
        command = self._bluetooth.reboot if is_reboot else self._bluetooth.restart_access_point
        try:
            async with asyncio.timeout(_COMMAND_S):
                await command(address, bluetooth.service)
        except TimeoutError:
            raise WakeFailed("the camera did not answer over Bluetooth in time") from None
        except NotPaired as error:
            await self._waking.failed(entry, error)
            raise
        self._waking.answered(entry)
        if is_reboot:
            await asyncio.sleep(_GOES_S)
        with suppress(WifimgrdError):
            await self._waking.until_appeared(entry, interface, REBOOT_S if is_reboot else _APPEARS_S)

    def release(self, entry: DeviceEntry) -> None:
        """A step is over: a camera that has not come back is no longer kept awake. A connection does that,
        too."""
        address = entry.device.bluetooth_address
        self._tasks.start("release", self._bluetooth.release(address), expected=(WifimgrdError,))

    async def stop(self) -> None:
        """End what runs."""
        await self._tasks.stop()
