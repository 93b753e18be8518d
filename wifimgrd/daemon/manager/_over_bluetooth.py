"""Commands over Bluetooth to a camera that is not connected: only to one that is paired, and heard to be on.

A connection wakes a camera that sleeps. So each command begins with a search, which ends as soon as the
camera is heard; nothing else connects to it, and no connection outlasts its command.
"""

from __future__ import annotations

import asyncio
from typing import Final

from wifimgrd.daemon.manager._entry import DeviceEntry
from wifimgrd.daemon.manager._state import HubState
from wifimgrd.daemon.manager._waking import Waking
from wifimgrd.daemon.ports import CameraBluetooth
from wifimgrd.domain.camera import CameraAnswer, CameraCommand
from wifimgrd.domain.device import DeviceState
from wifimgrd.domain.errors import (
    BluetoothUnavailable,
    Busy,
    Cancelled,
    DeviceNotReachable,
    NotConnected,
    NotPaired,
    Unconfirmed,
    WifimgrdError,
)
from wifimgrd.domain.power import BluetoothState

_SEARCH_S: Final = 3
_FIND_S: Final = 4.0
"""The same with the start of the camera process."""
_DISCONNECTED: Final = "the camera is disconnected"


class OverBluetooth:
    """Finds cameras that are on, and has them carry out commands."""

    def __init__(self, state: HubState, waking: Waking, bluetooth: CameraBluetooth) -> None:
        self._state = state
        self._waking = waking
        self._bluetooth = bluetooth

    def may_reach(self, entry: DeviceEntry) -> bool:
        """Whether a camera that is not connected takes commands over Bluetooth if it is on."""
        return entry.state is DeviceState.DISCONNECTED and self.has_bond(entry)

    def has_bond(self, entry: DeviceEntry) -> bool:
        """Whether a camera that is on takes commands over Bluetooth, connected or not."""
        model = self._state.model(entry.device)
        return (
            model.control is not None
            and model.control.driver.has_bluetooth
            and model.bluetooth is not None
            and bool(entry.device.bluetooth_address)
            and self._bluetooth.status.state is BluetoothState.READY
        )

    async def find(self, entry: DeviceEntry) -> None:
        """Return once the camera is heard to be on; raises NotConnected."""
        model, seen = self._state.model(entry.device), None
        try:
            async with asyncio.timeout(_FIND_S):
                seen = await self._waking.find(entry.device.bluetooth_address, _SEARCH_S, [model])
        except TimeoutError:
            pass
        except (BluetoothUnavailable, Busy) as error:
            raise NotConnected(f"{_DISCONNECTED}, and over Bluetooth: {error.message}") from None
        if seen is None or seen.is_on is None:
            raise NotConnected(f"{_DISCONNECTED}, and its camera was not heard over Bluetooth")
        if not seen.is_on:
            raise NotConnected(
                f"{_DISCONNECTED}, and its camera is asleep: wake it, such as by wifimgrctl wake"
                f" {entry.device.id}"
            )

    async def carry_out(self, entry: DeviceEntry, command: CameraCommand, until_s: float) -> CameraAnswer:
        """Have a camera that was found carry out a command, until a time of the loop's clock; raises
        NotConnected, DeviceNotReachable, Busy, Unconfirmed."""
        bluetooth = self._state.model(entry.device).bluetooth
        service = "" if bluetooth is None else bluetooth.service
        try:
            async with asyncio.timeout_at(until_s):
                answer = await self._bluetooth.command(entry.device.bluetooth_address, service, command)
        except TimeoutError:
            if command is CameraCommand.SET_CLOCK:
                raise DeviceNotReachable("the camera did not answer over Bluetooth in time") from None
            raise Unconfirmed("the camera did not answer over Bluetooth in time") from None
        except (DeviceNotReachable, Busy, Unconfirmed):
            raise
        except WifimgrdError as error:
            if isinstance(error, NotPaired):
                await self._waking.failed(entry, error)
            said = "the command was cancelled" if isinstance(error, Cancelled) else error.message
            if entry.state is DeviceState.CONNECTED:
                raise DeviceNotReachable(f"over Bluetooth: {said}") from None
            raise NotConnected(f"{_DISCONNECTED}, and over Bluetooth: {said}") from None
        self._waking.answered(entry)
        return answer
