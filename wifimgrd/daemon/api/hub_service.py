"""The hub on D-Bus: its events become objects, property changes and signals."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from typing import Final

from wifimgrd.bus import names as bus_names
from wifimgrd.bus.connection import BusConnection
from wifimgrd.daemon.api._authorization import Authorization
from wifimgrd.daemon.api._device_object import CommandsObject, interfaces_of
from wifimgrd.daemon.api._manager_object import ManagerObject
from wifimgrd.daemon.api._object_server import ObjectServer
from wifimgrd.daemon.api._objects import ExportedInterface, all_of
from wifimgrd.daemon.api.simulator_object import SimulatorObject, World
from wifimgrd.daemon.manager.history import History
from wifimgrd.daemon.manager.hub import Hub
from wifimgrd.domain.camera import EndSeen
from wifimgrd.domain.commands import OPTIONAL_INTERFACES
from wifimgrd.domain.device import DeviceId
from wifimgrd.domain.errors import BackendUnavailable, WifimgrdError
from wifimgrd.domain.events import (
    AbsentAdaptersChanged,
    AdapterRecovery,
    BackendChanged,
    BluetoothChanged,
    CameraChanged,
    ConnectionFailed,
    DeviceCreated,
    DeviceRemoved,
    DeviceStateChanged,
    DeviceUpdated,
    Event,
    GroupsChanged,
    InterfaceAdded,
    InterfaceChanged,
    InterfaceRemoved,
    LinkStepStarted,
    OperationFailed,
    PowerChanged,
    RecordingStopped,
    SignalChanged,
    UnmatchedReservationsChanged,
)
from wifimgrd.domain.interface import InterfaceStatus
from wifimgrd.domain.records import (
    DeviceRecord,
    ServiceRecord,
    absent_record,
    device_record,
    interface_record,
    take_record,
)
from wifimgrd.runtime.tasks import Tasks
from wifimgrd.wire import names
from wifimgrd.wire.kinds import valid_text
from wifimgrd.wire.properties import has_interface, properties_of, variants_of

_LARGEST_TAKE: Final = 64 << 10
"""About so many bytes of a take are in the signal of its end. Cameras decide how many there are; clients keep
messages, and skip those that are too large."""


class HubService:
    """An EventSink that exports the hub on a message bus.

    Events before `start` are dropped: the objects are then made of the hub's current state.
    """

    def __init__(self, connection: BusConnection, tasks: Tasks) -> None:
        """`tasks` get a required task that ends if the name is lost."""
        self._connection = connection
        self._tasks = tasks
        self._authorization = Authorization(connection, tasks)
        self._objects: dict[str, dict[str, ExportedInterface]] = {}
        """The interfaces of each object, by its path and by their names."""
        self._server = ObjectServer(connection, self._objects, self._authorization, tasks)
        self._hub: Hub | None = None
        self._history: History
        self._manager: ManagerObject | None = None
        self._name_lost = asyncio.Event()

    async def claim(self) -> None:
        """Request the name, before anything is changed that a second instance must not change; raises
        NameTaken. Calls that arrive meanwhile get their reply after `start`."""
        await self._connection.watch(
            lambda _: self._name_lost.set(),
            sender=bus_names.BUS_DAEMON,
            interface=bus_names.BUS_DAEMON,
            member="NameLost",
            arg0=names.BUS_NAME,
        )
        await self._connection.request_name(names.BUS_NAME)
        self._tasks.require("name", self._name_lost.wait())
        await self._authorization.start()

    def start(
        self,
        hub: Hub,
        reload: Callable[[], Awaitable[None]],
        report: Callable[[], Awaitable[str]],
        history: History,
        world: World | None = None,
    ) -> None:
        """Export all objects and serve calls. `reload` reloads the configuration and raises InvalidRequest;
        `report` makes a report of a fault."""
        self._hub = hub
        self._history = history
        self._manager = ManagerObject(hub, lambda path: path in self._objects, reload, report, history)
        self._export(self._manager)
        for interface in hub.interface_statuses():
            self._export_interface(interface)
        self._update_counts()
        for device in hub.device_statuses():
            self._export(*interfaces_of(hub, device_record(device), history))
        if world is not None:
            self._export(SimulatorObject(world))
        history.recordings.take_over.subscribe(self._take_over)
        self._server.open()

    def refuse(self) -> None:
        """Refuse further commands: the hub is about to stop."""
        self._server.refuse(BackendUnavailable("wifimgrd is stopping"))

    async def stop(self) -> None:
        """Wait for the replies to the calls that run."""
        await self._server.stop()

    def publish(self, event: Event) -> None:
        """Apply an event to the objects on the bus."""
        if self._hub is None or self._manager is None:
            return
        self._publish_device(self._hub, event)
        service = self._manager.record
        match event:
            case InterfaceAdded(interface):
                self._export_interface(interface)
                self._update_counts()
            case InterfaceChanged(interface):
                path = names.interface_path(interface.interface.name)
                self._change(
                    self._exported(path, names.INTERFACE), properties_of(interface_record(interface))
                )
                self._update_counts()
            case InterfaceRemoved(name):
                self._unexport(names.interface_path(name))
                self._update_counts()
            case AdapterRecovery(step=step) | LinkStepStarted(step=step):
                taken = service.recoveries[step.value] + 1
                recoveries = {**service.recoveries, step.value: taken}
                self._change_service(self._manager, replace(service, recoveries=recoveries))
            case AbsentAdaptersChanged(adapters):
                absent = tuple(map(absent_record, adapters))
                self._change_service(self._manager, replace(service, absent_adapters=absent))
            case GroupsChanged(groups, missing):
                changed = replace(service, groups=groups, missing_members=missing)
                self._change_service(self._manager, changed)
            case UnmatchedReservationsChanged(unmatched):
                changed = replace(service, unmatched_reservations=unmatched)
                self._change_service(self._manager, changed)
            case BackendChanged(backend):
                state, reason = backend.state.value, backend.reason
                changed = replace(service, backend_state=state, backend_reason=reason)
                self._change_service(self._manager, changed)
            case BluetoothChanged(bluetooth):
                changed = replace(
                    service, bluetooth_state=bluetooth.state.value, bluetooth_reason=bluetooth.reason
                )
                self._change_service(self._manager, changed)

    def _publish_device(self, hub: Hub, event: Event) -> None:
        """Apply an event of a device."""
        match event:
            case DeviceCreated(status):
                self._export(*interfaces_of(hub, device_record(status), self._history))
            case DeviceUpdated(status) | SignalChanged(status) | PowerChanged(status) | CameraChanged(status):
                self._change_device(hub, device_record(status))
            case DeviceStateChanged(status):
                # State is signalled also if a refusal left it unchanged: clients depend on this.
                self._change_device(hub, device_record(status), always=["State"])
            case ConnectionFailed(device, failure):
                self._emit(self._device(device), "ConnectionFailed", [failure.code.value, failure.message])
            case OperationFailed(device, operation, code, message):
                self._emit(self._device(device), "OperationFailed", [operation, code.value, message])
            case RecordingStopped(device_id=device) if event.seen is not EndSeen.NEVER:
                camera = self._exported(names.device_path(device), names.CAMERA)
                self._emit(camera, "RecordingStopped", [event.reason])
            case DeviceRemoved(device):
                self._unexport(names.device_path(device))

    def _change_device(self, hub: Hub, record: DeviceRecord, always: Sequence[str] = ()) -> None:
        """Change the properties of a device, on all of its interfaces, and let those come and go that it now
        has or lacks."""
        path = names.device_path(record.id)
        for one in OPTIONAL_INTERFACES:
            name = f"{names.BUS_NAME}.{one}"
            exported = self._objects[path].get(name)
            if not has_interface(record, one):
                if exported is not None:
                    self._unexport(path, name)
            elif exported is None:
                self._export(CommandsObject(hub, record, one))
            else:
                self._change(exported, properties_of(record, one))
        self._change(self._exported(path, names.DEVICE), properties_of(record), always)

    def _device(self, device_id: DeviceId) -> ExportedInterface:
        return self._exported(names.device_path(device_id), names.DEVICE)

    def _exported(self, path: str, interface: str) -> ExportedInterface:
        try:
            return self._objects[path][interface]
        except KeyError:
            raise LookupError(f"an event came for {path}, which is not exported") from None

    def _update_counts(self) -> None:
        if self._hub is not None and self._manager is not None:
            counts = self._hub.interface_counts
            record = replace(
                self._manager.record, total_interfaces=counts.total, assigned_interfaces=counts.in_use
            )
            self._change_service(self._manager, record)

    def _change_service(self, manager: ManagerObject, record: ServiceRecord) -> None:
        manager.record = record
        self._change(manager, properties_of(record))

    def _take_over(self, take_id: int) -> None:
        self._tasks.start("take-ended", self._tell_take(take_id), expected=(WifimgrdError,))

    async def _tell_take(self, take_id: int) -> None:
        """Send the signal of a take that is over; nothing if its rows were deleted."""
        take = await self._history.takes.of(take_id)
        if take is not None:
            body = [variants_of(take_record(take.within(_LARGEST_TAKE)))]
            self._connection.emit(names.ROOT_PATH, names.MANAGER, "TakeEnded", "a{sv}", body)

    # -- objects and their signals

    def _export_interface(self, status: InterfaceStatus) -> None:
        path, values = names.interface_path(status.interface.name), properties_of(interface_record(status))
        self._export(ExportedInterface(path, names.INTERFACE, values))

    def _export(self, *exported: ExportedInterface) -> None:
        """Export interfaces of one object, and emit InterfacesAdded from the object manager's path; the
        signal names only these."""
        path, added = exported[0].path, {one.definition.name: one for one in exported}
        self._objects.setdefault(path, {}).update(added)
        if path != names.ROOT_PATH:
            self._connection.emit(
                names.ROOT_PATH,
                bus_names.OBJECT_MANAGER,
                "InterfacesAdded",
                "oa{sa{sv}}",
                [path, all_of(added)],
            )

    def _unexport(self, path: str, interface: str = "") -> None:
        """Remove an interface of an object, or the object with all of them, and emit InterfacesRemoved."""
        exported = self._objects[path]
        gone = [interface] if interface else list(exported)
        for name in gone:
            del exported[name]
        if not exported:
            del self._objects[path]
        self._connection.emit(
            names.ROOT_PATH, bus_names.OBJECT_MANAGER, "InterfacesRemoved", "oas", [path, gone]
        )

    def _change(
        self, exported: ExportedInterface, values: Mapping[str, object], always: Sequence[str] = ()
    ) -> None:
        """Set an object's properties and emit those that differ, and those in `always` in every case."""
        changed = list(dict.fromkeys((*exported.change(values), *always)))
        if changed:
            self._connection.emit(
                exported.path,
                bus_names.PROPERTIES,
                "PropertiesChanged",
                "sa{sv}as",
                [exported.definition.name, exported.variants(changed), []],
            )

    def _emit(self, exported: ExportedInterface, member: str, arguments: Sequence[str]) -> None:
        """Send a signal of an object's interface."""
        signature = exported.definition.signals[member]
        body = [valid_text(value) for value in arguments]
        self._connection.emit(exported.path, exported.definition.name, member, signature, body)
