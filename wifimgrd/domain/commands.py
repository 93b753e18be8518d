"""The commands to a device, declared once: the methods on D-Bus, the routes and messages of HTTP, the
messages of MQTT and their descriptions are derived from this table."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from types import MappingProxyType
from typing import Final

from wifimgrd.domain.device import DeviceState
from wifimgrd.domain.errors import ATTEMPT_CODES, ErrorCode

POWER: Final = "Power"
BLUETOOTH: Final = "Bluetooth"
CAMERA: Final = "Camera"
OPTIONAL_INTERFACES: Final = (POWER, BLUETOOTH, CAMERA)
"""The D-Bus interfaces of devices that can be woken, and paired, and that the hub has a driver for, after
`org.wifimgrd1.`."""


class Right(StrEnum):
    """The polkit action that a client needs, after `org.wifimgrd1.`."""

    CONNECT = "connect"
    MANAGE_DEVICES = "manage-devices"
    CONTROL_CAMERAS = "control-cameras"


@dataclass(frozen=True, slots=True)
class DeviceCommand:
    """A command to one device."""

    name: str
    """Its name everywhere, and that of the method of the hub; on D-Bus it is in camel case."""
    summary: str
    right: Right
    options: Mapping[str, bool] = field(default_factory=dict)
    """Its options, each of them on or off, with their defaults."""
    texts: tuple[str, ...] = ()
    """Its further options, each of them a text that may be left out."""
    interface: str = "Device"
    """The D-Bus interface that has its method, after `org.wifimgrd1.`."""
    reaches: DeviceState | None = None
    """The state in which the device is once the command has succeeded; None = none in particular: it has
    succeeded with the daemon's reply, which with `wait` comes then."""
    passes: DeviceState | None = None
    """The state before that."""
    message_type: str = ""
    """The type of the channel's message for it, if that is not `command.device.device_connection.` and the
    name."""
    errors: tuple[ErrorCode, ...] = ()
    """Those that it can end with, beside `device-not-found` and `backend-unavailable`."""

    @property
    def member(self) -> str:
        """Its method on D-Bus."""
        return "".join(part.capitalize() for part in self.name.split("_"))


WAIT: Final = "wait"
"""The call returns with the outcome."""
WHEN_FREE: Final = "when_free"
"""Where no adapter is free, the device waits for one."""
WITH_WAKE: Final = "wake"
"""Where its network is not seen, the camera is woken."""
ADDRESS: Final = "address"
"""The Bluetooth address of the camera."""
STEP: Final = "step"
"""A recovery step."""
CONNECT: Final = DeviceCommand(
    "connect",
    "Connect a device.",
    Right.CONNECT,
    {WAIT: False, WHEN_FREE: False, WITH_WAKE: False},
    reaches=DeviceState.CONNECTED,
    passes=DeviceState.CONNECTING,
    errors=(*ATTEMPT_CODES, ErrorCode.BUSY, ErrorCode.CONNECTION_LOST, ErrorCode.NOT_SUPPORTED),
)
DISCONNECT: Final = DeviceCommand(
    "disconnect",
    "Disconnect a device.",
    Right.CONNECT,
    {WAIT: True},
    reaches=DeviceState.DISCONNECTED,
    passes=DeviceState.DISCONNECTING,
    errors=(ErrorCode.BUSY,),
)
WAKE: Final = DeviceCommand(
    "wake",
    "Wake a sleeping camera.",
    Right.CONNECT,
    {WAIT: False},
    interface=POWER,
    errors=(
        ErrorCode.NOT_SUPPORTED,
        ErrorCode.NOT_PAIRED,
        ErrorCode.WAKE_FAILED,
        ErrorCode.BLUETOOTH_UNAVAILABLE,
        ErrorCode.CANCELLED,
        ErrorCode.BUSY,
    ),
)
SLEEP: Final = DeviceCommand(
    "sleep",
    "Disconnect a camera and put it to sleep.",
    Right.CONNECT,
    {WAIT: False},
    interface=POWER,
    errors=(*WAKE.errors, ErrorCode.CAMERA_BUSY),
)
PAIR: Final = DeviceCommand(
    "pair",
    "Pair a camera over Bluetooth.",
    Right.MANAGE_DEVICES,
    {WAIT: False},
    texts=(ADDRESS,),
    interface=BLUETOOTH,
    errors=(
        ErrorCode.NOT_SUPPORTED,
        ErrorCode.PAIRING_FAILED,
        ErrorCode.NOT_CONNECTED,
        ErrorCode.BLUETOOTH_UNAVAILABLE,
        ErrorCode.CANCELLED,
        ErrorCode.BUSY,
    ),
)
UNPAIR: Final = DeviceCommand(
    "unpair",
    "Forget the pairing with a camera.",
    Right.MANAGE_DEVICES,
    interface=BLUETOOTH,
    errors=(ErrorCode.NOT_SUPPORTED, ErrorCode.BLUETOOTH_UNAVAILABLE),
)
RECOVER: Final = DeviceCommand(
    "recover",
    "Take a recovery step for a connected camera.",
    Right.MANAGE_DEVICES,
    {WAIT: False},
    texts=(STEP,),
    errors=(
        *ATTEMPT_CODES,
        ErrorCode.CONNECTION_LOST,
        ErrorCode.NOT_CONNECTED,
        ErrorCode.INVALID_REQUEST,
        ErrorCode.NOT_SUPPORTED,
        ErrorCode.NOT_PAIRED,
        ErrorCode.WAKE_FAILED,
        ErrorCode.BLUETOOTH_UNAVAILABLE,
        ErrorCode.CANCELLED,
        ErrorCode.BUSY,
        ErrorCode.CAMERA_BUSY,
    ),
)
_OF_CAMERA: Final = (
    ErrorCode.NOT_SUPPORTED,
    ErrorCode.NOT_CONNECTED,
    ErrorCode.CAMERA_BUSY,
    ErrorCode.CAMERA_REFUSED,
    ErrorCode.DEVICE_NOT_REACHABLE,
    ErrorCode.BUSY,
)
_OF_RECORDING: Final = (*_OF_CAMERA, ErrorCode.UNCONFIRMED)
START_RECORDING: Final = DeviceCommand(
    "start_recording",
    "Start recording.",
    Right.CONTROL_CAMERAS,
    interface=CAMERA,
    message_type="command.device.recording.start",
    errors=_OF_RECORDING,
)
STOP_RECORDING: Final = DeviceCommand(
    "stop_recording",
    "Stop recording.",
    Right.CONTROL_CAMERAS,
    interface=CAMERA,
    message_type="command.device.recording.stop",
    errors=_OF_RECORDING,
)
SET_CLOCK: Final = DeviceCommand(
    "set_clock",
    "Set the camera's clock to this host's.",
    Right.CONTROL_CAMERAS,
    interface=CAMERA,
    message_type="command.device.clock.set",
    errors=_OF_CAMERA,
)
DEVICE_COMMANDS: Final[Mapping[str, DeviceCommand]] = MappingProxyType(
    {
        command.name: command
        for command in (
            CONNECT,
            DISCONNECT,
            WAKE,
            SLEEP,
            PAIR,
            UNPAIR,
            RECOVER,
            START_RECORDING,
            STOP_RECORDING,
            SET_CLOCK,
        )
    }
)
