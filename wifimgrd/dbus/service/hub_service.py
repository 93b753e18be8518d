"""The hub on D-Bus: its events become objects, property changes and signals."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from wifimgrd.dbus import names
from wifimgrd.dbus.bus import BusConnection
from wifimgrd.dbus.service.authorization import Authorization
from wifimgrd.dbus.service.device_object import DeviceObject, device_properties
from wifimgrd.dbus.service.interface_object import InterfaceObject, interface_properties
from wifimgrd.dbus.service.manager_object import ManagerObject, backend_properties
from wifimgrd.dbus.service.object_server import ObjectServer
from wifimgrd.dbus.service.objects import ExportedObject
from wifimgrd.dbus.service.simulator_object import SimulatorObject, World
from wifimgrd.domain.device import DeviceId
from wifimgrd.domain.errors import BackendUnavailable
from wifimgrd.domain.events import (
    AdapterRecovery,
    BackendChanged,
    ConnectionFailed,
    DeviceCreated,
    DeviceRemoved,
    DeviceStateChanged,
    DeviceUpdated,
    Event,
    InterfaceAdded,
    InterfaceChanged,
    InterfaceRemoved,
    SignalChanged,
)
from wifimgrd.domain.interface import InterfaceState, InterfaceStatus
from wifimgrd.domain.recovery import RecoveryStep
from wifimgrd.manager.hub import Hub
from wifimgrd.runtime.tasks import Tasks


class HubService:
    """An EventSink that shows the hub on a message bus.

    Events before `start` are dropped: the objects are then made of what the hub says.
    """

    def __init__(self, connection: BusConnection, tasks: Tasks) -> None:
        """That the name stays ours is required of `tasks`."""
        self._connection = connection
        self._tasks = tasks
        self._authorization = Authorization(connection, tasks)
        self._server = ObjectServer(connection, self._authorization, tasks)
        self._hub: Hub | None = None
        self._manager: ManagerObject | None = None
        self._recoveries = dict.fromkeys(map(str, RecoveryStep), 0)
        self._interfaces: set[str] = set()
        self._in_use: set[str] = set()
        self._name_lost = asyncio.Event()

    async def claim(self) -> None:
        """Own the name, before anything is touched that a second instance must not touch; raises
        NameTaken. Who calls meanwhile is answered once `start` is done."""
        await self._connection.watch(
            lambda _: self._name_lost.set(),
            sender=names.BUS_DAEMON,
            interface=names.BUS_DAEMON,
            member="NameLost",
            arg0=names.BUS_NAME,
        )
        await self._connection.request_name(names.BUS_NAME)
        self._tasks.require("name", self._name_lost.wait())
        await self._authorization.start()

    def start(self, hub: Hub, reload: Callable[[], Awaitable[None]], world: World | None = None) -> None:
        """Export everything and answer. `reload` reads the configuration again; raises InvalidRequest."""
        self._hub = hub
        self._manager = ManagerObject(hub, lambda path: self._server.get(path) is not None, reload)
        self._server.export(self._manager)
        for interface in hub.interface_statuses():
            self._add_interface(interface)
        for device in hub.device_statuses():
            self._server.export(DeviceObject(hub, device))
        if world is not None:
            self._server.export(SimulatorObject(world))
        self._server.open()

    def refuse(self) -> None:
        """Take no more commands: the hub is about to stop."""
        self._server.refuse(BackendUnavailable("wifimgrd is stopping"))

    async def stop(self) -> None:
        """Let the calls that run be answered."""
        await self._server.stop()

    def publish(self, event: Event) -> None:
        """Tell the bus what happened."""
        if self._hub is None or self._manager is None:
            return
        match event:
            case DeviceCreated(status):
                self._server.export(DeviceObject(self._hub, status))
            case DeviceUpdated(status) | SignalChanged(status):
                self._server.change(self._device(status.device.id), device_properties(status))
            case DeviceStateChanged(status):
                # State is told also where a refusal left it as it was: clients go by it.
                self._server.change(self._device(status.device.id), device_properties(status), tell=["State"])
            case ConnectionFailed(device, failure):
                self._server.emit(
                    self._device(device), "ConnectionFailed", [failure.code.value, failure.message]
                )
            case DeviceRemoved(device):
                self._server.unexport(names.device_path(device))
            case InterfaceAdded(interface):
                self._add_interface(interface)
            case InterfaceChanged(interface):
                path = names.interface_path(interface.interface.name)
                self._server.change(self._exported(path), interface_properties(interface))
                self._count(interface)
            case InterfaceRemoved(name):
                self._server.unexport(names.interface_path(name))
                self._interfaces.discard(name)
                self._in_use.discard(name)
                self._tell_counts()
            case AdapterRecovery(step=step):
                self._recoveries[step.value] += 1
                self._server.change(self._manager, {"Recoveries": dict(self._recoveries)})
            case BackendChanged(backend):
                self._server.change(self._manager, backend_properties(backend))

    def _device(self, device: DeviceId) -> ExportedObject:
        return self._exported(names.device_path(device))

    def _exported(self, path: str) -> ExportedObject:
        exported = self._server.get(path)
        if exported is None:
            raise LookupError(f"an event came for {path}, which is not exported")
        return exported

    def _add_interface(self, status: InterfaceStatus) -> None:
        self._server.export(InterfaceObject(status))
        self._interfaces.add(status.interface.name)
        self._count(status)

    def _count(self, status: InterfaceStatus) -> None:
        if status.state is InterfaceState.IN_USE:
            self._in_use.add(status.interface.name)
        else:
            self._in_use.discard(status.interface.name)
        self._tell_counts()

    def _tell_counts(self) -> None:
        if self._manager is not None:
            counts = {"TotalInterfaces": len(self._interfaces), "AssignedInterfaces": len(self._in_use)}
            self._server.change(self._manager, counts)
