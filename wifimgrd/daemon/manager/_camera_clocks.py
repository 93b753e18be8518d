"""The clocks of connected cameras: set by a command, or when a camera was connected."""

from __future__ import annotations

from collections.abc import Callable

import structlog

from wifimgrd.daemon.manager._entry import DeviceEntry
from wifimgrd.daemon.manager._state import HubState
from wifimgrd.daemon.ports import HostClock
from wifimgrd.domain.camera import CameraReading, RecordingState, drift_ppm
from wifimgrd.domain.camera_control import CameraControl
from wifimgrd.domain.device import DeviceId
from wifimgrd.domain.errors import CameraBusy, NotSupported, WifimgrdError

_log = structlog.get_logger()


class CameraClocks:
    """Sets clocks, and knows when each was set."""

    def __init__(self, state: HubState, control: CameraControl, host: HostClock) -> None:
        self._state = state
        self._control = control
        self._host = host
        self._set_us: dict[DeviceId, int] = {}
        """Microseconds since the epoch."""

    async def set_if_right(self, entry: DeviceEntry, reading: Callable[[], CameraReading]) -> bool:
        """A camera was connected: set its clock, if this host's is right; `reading` is what is known of it
        then. Returns whether it was set."""
        if not await self._host.is_synchronised():
            _log.info("clock_not_set", device=entry.device.id, reason="this host's clock is not synchronised")
            return False
        try:
            await self.set(entry, reading())
        except NotSupported:
            return False
        except WifimgrdError as error:
            _log.info("clock_not_set", device=entry.device.id, code=error.code, reason=error.message)
            return False
        return True

    async def set(self, entry: DeviceEntry, before: CameraReading) -> None:
        """Set the clock of a camera, which is as it was read `before`; raises CameraBusy while it records,
        and as CameraControl.set_clock does."""
        if before.recording is RecordingState.RECORDING:
            raise CameraBusy("the camera records, and its clock is not set meanwhile")
        await self._control.set_clock(entry.device.id)
        self.was_set(entry, before)

    def was_set(self, entry: DeviceEntry, before: CameraReading) -> None:
        """The clock of a camera was set, which is as it was read `before`."""
        device, set_us = entry.device, self._set_us.get(entry.device.id, 0)
        self._set_us[device.id] = self._state.clock()
        _log.info(
            "clock_set",
            device=device.id,
            device_name=device.name,
            offset_ms=None if before.clock_offset_us is None else before.clock_offset_us // 1000,
            drift_ppm=drift_ppm(before, set_us),
        )

    def forget(self, entry: DeviceEntry) -> None:
        """The device was removed, or has another camera."""
        self._set_us.pop(entry.device.id, None)
