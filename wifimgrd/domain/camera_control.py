"""Commands to connected cameras and readings of their state: what the camera process does for the manager."""

from __future__ import annotations

import socket
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Protocol

from wifimgrd.domain.camera import CameraDriver, CameraReading, CommandResult
from wifimgrd.domain.device import DeviceId
from wifimgrd.domain.recordings import RecordedFile

OpenCameraSocket = Callable[[DeviceId, int], Awaitable[socket.socket]]
"""Opens a TCP connection to a port of a connected camera, not blocking; the caller closes it. Raises
DeviceNotFound, DeviceNotReachable, InterfaceLost, BackendUnavailable."""


class CameraControlListener(Protocol):
    """Receives what connected cameras say of themselves."""

    def camera_read(self, device_id: DeviceId, reading: CameraReading) -> None:
        """The state of a camera was read, or it has sent it: all that is known of it now."""


class CameraControl(Protocol):
    """Reads the state of connected cameras and commands them, over their networks."""

    async def start(self, listener: CameraControlListener, open_socket: OpenCameraSocket) -> None:
        """Nothing is read before `attach`."""

    async def stop(self) -> None:
        """End everything, and close."""

    def attach(self, device_id: DeviceId, driver: CameraDriver) -> None:
        """A camera is connected: read its state from now on, every 10 s, every 2 s while it records, and at
        once after a command. Returns at once; a camera that does not answer is tried again."""

    def detach(self, device_id: DeviceId) -> None:
        """The camera is no longer connected; commands to it that run end with NotConnected."""

    async def record(self, device_ids: Sequence[DeviceId], *, on: bool) -> Mapping[DeviceId, CommandResult]:
        """Start or stop recording on attached cameras: all requests are prepared first (mode, readiness,
        space), then sent together. Each has a result of its own; one that does what is wanted already is
        done. The errors are CameraRefused, CameraBusy, DeviceNotReachable (no answer), NotConnected,
        BackendUnavailable. Never raises; ends within COMMAND_S for one camera, COMMAND_OF_MANY_S for
        several."""

    async def set_clock(self, device_id: DeviceId) -> None:
        """Set the clock of an attached camera to this host's, with its time zone; raises the errors that
        `record` has, and NotSupported."""

    async def register_host(self, device_id: DeviceId) -> str:
        """Have an attached camera take commands over Bluetooth of this host, and switch its Bluetooth on;
        returns the name that it advertises. Raises the errors that `record` has, and NotSupported."""

    async def recorded_files(
        self, device_id: DeviceId, began_us: int, ended_us: int
    ) -> tuple[RecordedFile, ...] | None:
        """Find the files of a recording that has ended, in the order in which they were written, on an
        attached camera that is idle; the times are by this host's clock as it goes now. None if it is not
        certain which these are. Raises CameraBusy if the camera records, has not finished them, or is
        commanded meanwhile: no command waits for this; and DeviceNotReachable, NotConnected,
        BackendUnavailable."""
