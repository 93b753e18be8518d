"""`org.wifimgrd1.Device`: one registered camera."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from wifimgrd.dbus import names
from wifimgrd.dbus.bus import MethodCall
from wifimgrd.dbus.service.objects import ExportedObject
from wifimgrd.domain.device import CONNECTION_TYPE, DeviceId, DeviceStatus
from wifimgrd.domain.errors import InvalidRequest
from wifimgrd.domain.socket_kind import SocketKind
from wifimgrd.manager.hub import Hub


class DeviceObject(ExportedObject):
    """A device on the bus."""

    def __init__(self, hub: Hub, status: DeviceStatus) -> None:
        self._hub = hub
        self._id: DeviceId = status.device.id
        super().__init__(names.device_path(self._id), names.DEVICE, device_properties(status))
        self.methods = {
            "Connect": self._connect,
            "Disconnect": self._disconnect,
            "OpenConnection": self._open_connection,
            "Update": self._update,
        }
        self.actions = {
            "Connect": names.CONNECT,
            "Disconnect": names.CONNECT,
            "OpenConnection": names.CONNECT,
            "Update": names.MANAGE_DEVICES,
        }

    async def _connect(self, call: MethodCall) -> Sequence[Any]:
        await self._hub.connect(self._id, wait=_wait(call, default=False))
        return ()

    async def _disconnect(self, call: MethodCall) -> Sequence[Any]:
        await self._hub.disconnect(self._id, wait=_wait(call, default=True))
        return ()

    async def _open_connection(self, call: MethodCall) -> Sequence[Any]:
        port, options = call.body
        try:
            kind = SocketKind(options.get("kind", SocketKind.TCP))
        except ValueError:
            raise InvalidRequest("the option kind is tcp or udp", {"kind": ("Not tcp or udp.",)}) from None
        return (await self._hub.open_socket(self._id, port, kind),)

    async def _update(self, call: MethodCall) -> Sequence[Any]:
        await self._hub.update(self._id, call.body[0])
        return ()


def _wait(call: MethodCall, *, default: bool) -> bool:
    wait = call.body[0].get("wait", default)
    if not isinstance(wait, bool):
        raise InvalidRequest("the option wait is a boolean", {"wait": ("Not a boolean.",)})
    return wait


def device_properties(status: DeviceStatus) -> dict[str, Any]:
    """The properties of a device on D-Bus."""
    device, link = status.device, status.link
    return {
        "Id": device.id,
        "Name": device.name,
        "Codename": device.codename,
        "ConnectionType": CONNECTION_TYPE,
        "Ssid": device.ssid.octets,
        "State": status.state.value,
        "Interface": names.interface_path(status.interface) if status.interface else names.NO_OBJECT,
        "ConnectionErrorCode": device.failure.code.value if device.failure else "",
        "ConnectionErrorMessage": device.failure.message if device.failure else "",
        "LastConnectionAttempt": device.last_attempt_us,
        "LastSuccessfulConnection": device.last_success_us,
        "LocalAddress": link.local_address if link else "",
        "CameraAddress": link.camera_address if link else "",
        "SignalStrength": link.signal_percent if link else 0,
        "Address": status.address,
        "LostAt": status.lost_us,
        "Reachable": status.reachable,
        "Icon": status.icon,
        "AutoReconnect": device.auto_reconnect,
        "Priority": device.priority,
    }
