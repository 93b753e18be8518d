"""`org.wifimgrd1.Device`: one camera; and the interfaces of those that can be woken and paired."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from types import MappingProxyType
from typing import Final

from wifimgrd.bus.connection import MethodCall
from wifimgrd.bus.packing import pack_levels, pack_samples
from wifimgrd.bus.values import typed
from wifimgrd.daemon.api._objects import ExportedInterface, switch, text_option
from wifimgrd.daemon.manager.history import History
from wifimgrd.daemon.manager.hub import Hub
from wifimgrd.domain.addresses import SocketKind
from wifimgrd.domain.commands import DEVICE_COMMANDS, OPTIONAL_INTERFACES, DeviceCommand
from wifimgrd.domain.device import DeviceId
from wifimgrd.domain.errors import InvalidRequest
from wifimgrd.domain.records import DeviceRecord
from wifimgrd.domain.signal_history import MINUTE_US, SignalSample
from wifimgrd.wire import names
from wifimgrd.wire.properties import has_interface, properties_of

_DEVICE: Final = names.DEVICE.removeprefix(f"{names.BUS_NAME}.")


def actions_of(interface: str) -> Mapping[str, str]:
    """The polkit actions of the commands of an interface."""
    return MappingProxyType(
        {
            command.member: f"{names.BUS_NAME}.{command.right}"
            for command in DEVICE_COMMANDS.values()
            if command.interface == interface
        }
    )


ACTIONS: Final[Mapping[str, str]] = MappingProxyType(
    {**actions_of(_DEVICE), "OpenConnection": names.CONNECT, "Update": names.MANAGE_DEVICES}
)
"""The polkit actions of the methods of `org.wifimgrd1.Device`."""


class CommandsObject(ExportedInterface):
    """An interface of a device, with its commands."""

    def __init__(self, hub: Hub, record: DeviceRecord, interface: str) -> None:
        """`interface` is the name after `org.wifimgrd1.`."""
        self._hub = hub
        self._id = DeviceId(record.id)
        own = "" if interface == _DEVICE else interface
        super().__init__(
            names.device_path(record.id), f"{names.BUS_NAME}.{interface}", properties_of(record, own)
        )
        self.methods = {
            command.member: partial(self._command, command)
            for command in DEVICE_COMMANDS.values()
            if command.interface == interface
        }
        self.actions = actions_of(interface)

    async def _command(self, command: DeviceCommand, call: MethodCall) -> Sequence[object]:
        [options] = typed(tuple[dict[str, object]], call.body)
        switches = {name: switch(options, name, default=value) for name, value in command.options.items()}
        texts = {name: text_option(options, name) for name in command.texts}
        await self._hub.device_commands[command.name](self._id, **switches, **texts)
        return ()


class DeviceObject(CommandsObject):
    """A device on the bus."""

    def __init__(self, hub: Hub, record: DeviceRecord, history: History) -> None:
        super().__init__(hub, record, _DEVICE)
        self._history = history
        self.methods = {
            **self.methods,
            "GetBatteryHistory": self._get_battery_history,
            "GetSignalHistory": self._get_signal_history,
            "OpenConnection": self._open_connection,
            "Update": self._update,
        }
        self.actions = ACTIONS

    async def _open_connection(self, call: MethodCall) -> Sequence[object]:
        port, options = typed(tuple[int, dict[str, object]], call.body)
        try:
            kind = SocketKind(str(options.get("kind", SocketKind.TCP)))
        except ValueError:
            raise InvalidRequest("the option kind is tcp or udp", {"kind": ("Not tcp or udp.",)}) from None
        return (await self._hub.open_socket(self._id, port, kind),)

    async def _get_signal_history(self, call: MethodCall) -> Sequence[object]:
        samples = await self._samples(call)
        return (pack_samples(MINUTE_US, ((at, one.mean, one.minimum) for at, one in samples)),)

    async def _get_battery_history(self, call: MethodCall) -> Sequence[object]:
        samples = await self._samples(call)
        known = ((at, one.battery) for at, one in samples if one.battery is not None)
        return (pack_levels(MINUTE_US, known),)

    async def _samples(self, call: MethodCall) -> Sequence[tuple[int, SignalSample]]:
        """The samples of the device in the span of time that a call asks for."""
        since_us, until_us, _ = typed(tuple[int, int, dict[str, object]], call.body)
        return await self._history.signals.samples(self._id, since_us, until_us)

    async def _update(self, call: MethodCall) -> Sequence[object]:
        await self._hub.update(self._id, *typed(tuple[dict[str, object]], call.body))
        return ()


def interfaces_of(hub: Hub, record: DeviceRecord, history: History) -> list[ExportedInterface]:
    """All interfaces of a device."""
    optional = (CommandsObject(hub, record, one) for one in OPTIONAL_INTERFACES if has_interface(record, one))
    return [DeviceObject(hub, record, history), *optional]
