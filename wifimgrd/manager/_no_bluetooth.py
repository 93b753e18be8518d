"""A host without Bluetooth."""

from __future__ import annotations

from typing import Final, NoReturn

from wifimgrd.domain.errors import BluetoothUnavailable
from wifimgrd.domain.power import BluetoothState, BluetoothStatus
from wifimgrd.ports import BluetoothListener


class NoBluetooth:
    """Implements `wifimgrd.ports.CameraBluetooth`; what finds or wakes cameras is
    refused."""

    status: Final = BluetoothStatus(BluetoothState.ABSENT, "wifimgrd has no Bluetooth here")

    async def start(self, listener: BluetoothListener) -> None:
        """Nothing changes."""

    async def stop(self) -> None:
        """Nothing runs."""

    async def _refuse(self, *_: object) -> NoReturn:
        raise BluetoothUnavailable(self.status.reason)

    search = wake = sleep = pair = _refuse

    async def release(self, key: str) -> None:
        """Nothing is kept awake."""

    async def unpair(self, address: str) -> None:
        """No keys are here."""
