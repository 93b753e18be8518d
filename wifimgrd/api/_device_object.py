"""`org.wifimgrd1.Device`: one registered camera."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from types import MappingProxyType
from typing import Final

from wifimgrd.api import names
from wifimgrd.api._objects import ExportedInterface, switch
from wifimgrd.api.properties import properties_of
from wifimgrd.bus.connection import MethodCall
from wifimgrd.bus.values import typed
from wifimgrd.domain.addresses import SocketKind
from wifimgrd.domain.commands import DEVICE_COMMANDS, DeviceCommand
from wifimgrd.domain.device import DeviceId, DeviceStatus
from wifimgrd.domain.errors import InvalidRequest
from wifimgrd.domain.records import device_record
from wifimgrd.manager.hub import Hub

ACTIONS: Final[Mapping[str, str]] = MappingProxyType(
    {
        **{command.member: f"{names.BUS_NAME}.{command.right}" for command in DEVICE_COMMANDS.values()},
        "OpenConnection": names.CONNECT,
        "Update": names.MANAGE_DEVICES,
    }
)
"""The polkit actions of the methods."""


class DeviceObject(ExportedInterface):
    """A device on the bus."""

    def __init__(self, hub: Hub, status: DeviceStatus) -> None:
        self._hub = hub
        self._id: DeviceId = status.device.id
        super().__init__(names.device_path(self._id), names.DEVICE, properties_of(device_record(status)))
        commands = DEVICE_COMMANDS.values()
        self.methods = {
            **{command.member: partial(self._command, command) for command in commands},
            "OpenConnection": self._open_connection,
            "Update": self._update,
        }
        self.actions = ACTIONS

    async def _command(self, command: DeviceCommand, call: MethodCall) -> Sequence[object]:
        [options] = typed(tuple[dict[str, object]], call.body)
        switches = {name: switch(options, name, default=value) for name, value in command.options.items()}
        await self._hub.device_commands[command.name](self._id, **switches)
        return ()

    async def _open_connection(self, call: MethodCall) -> Sequence[object]:
        port, options = typed(tuple[int, dict[str, object]], call.body)
        try:
            kind = SocketKind(str(options.get("kind", SocketKind.TCP)))
        except ValueError:
            raise InvalidRequest("the option kind is tcp or udp", {"kind": ("Not tcp or udp.",)}) from None
        return (await self._hub.open_socket(self._id, port, kind),)

    async def _update(self, call: MethodCall) -> Sequence[object]:
        await self._hub.update(self._id, *typed(tuple[dict[str, object]], call.body))
        return ()
