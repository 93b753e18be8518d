"""Stand-ins for a hub that was given no Bluetooth, no drivers of cameras, no view of its links, or no say on
its own clock.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, NoReturn

from wifimgrd.daemon.ports import BluetoothListener
from wifimgrd.domain.camera import CameraDriver, CommandResult
from wifimgrd.domain.camera_control import CameraControlListener, OpenCameraSocket
from wifimgrd.domain.dead_links import Asked
from wifimgrd.domain.device import DeviceId
from wifimgrd.domain.errors import BackendUnavailable, BluetoothUnavailable
from wifimgrd.domain.power import BluetoothState, BluetoothStatus


class NoBluetooth:
    """Implements `wifimgrd.daemon.ports.CameraBluetooth`; what finds or wakes cameras is
    refused."""

    status: Final = BluetoothStatus(BluetoothState.ABSENT, "wifimgrd has no Bluetooth here")

    async def start(self, listener: BluetoothListener) -> None:
        """Nothing changes."""

    async def stop(self) -> None:
        """Nothing runs."""

    async def _refuse(self, *_: object, **__: object) -> NoReturn:
        raise BluetoothUnavailable(self.status.reason)

    async def look_again(self) -> None:
        """It stays absent."""

    search = wake = restart_access_point = reboot = sleep = pair = unpair = bonds = command = _refuse

    async def release(self, key: str) -> None:
        """Nothing is kept awake."""


class NoControl:
    """Implements `CameraControl` of the domain; no camera is read, and commands are refused."""

    _error: Final = BackendUnavailable("wifimgrd speaks with no cameras here")

    async def start(self, listener: CameraControlListener, open_socket: OpenCameraSocket) -> None:
        """Nothing is read."""

    async def stop(self) -> None:
        """Nothing runs."""

    def attach(self, device_id: DeviceId, driver: CameraDriver) -> None:
        """It is not read."""

    def detach(self, device_id: DeviceId) -> None:
        """Nothing runs."""

    async def record(self, device_ids: Sequence[DeviceId], *, on: bool) -> Mapping[DeviceId, CommandResult]:
        """Nothing is done."""
        del on
        return dict.fromkeys(device_ids, CommandResult(error=self._error))

    async def set_clock(self, device_id: DeviceId) -> NoReturn:
        """Raises BackendUnavailable."""
        del device_id
        raise self._error

    async def register_host(self, device_id: DeviceId) -> NoReturn:
        """Raises BackendUnavailable."""
        del device_id
        raise self._error

    async def recorded_files(self, device_id: DeviceId, began_us: int, ended_us: int) -> NoReturn:
        """Raises BackendUnavailable."""
        del device_id, began_us, ended_us
        raise self._error


class NoEvidence:
    """Implements `wifimgrd.daemon.ports.LinkEvidence`; nothing is known of a link."""

    async def counters(self, interface: str) -> None:
        """None are known."""

    async def asked(self, interface: str, address: str, within_s: float) -> Asked:
        """Nobody asks."""
        del interface, address, within_s
        return Asked.NOT_ASKED


class RightClock:
    """Implements `wifimgrd.daemon.ports.HostClock`: that of a simulated world is always right."""

    async def is_synchronised(self) -> bool:
        """True."""
        return True
