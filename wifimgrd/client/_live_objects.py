"""The daemon's objects for its clients: a live copy, kept by GetManagedObjects and signals."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Collection, Iterable, Mapping
from contextlib import AbstractContextManager, suppress
from functools import partial
from types import MappingProxyType
from typing import Final, Self

from wifimgrd.bus import names as bus_names
from wifimgrd.bus.connection import BusClosed, BusConnection, BusError, OwnerChange, Signal
from wifimgrd.bus.values import typed
from wifimgrd.client._heartbeat import Heartbeat
from wifimgrd.client.changes import (
    AttemptFailed,
    Change,
    DaemonAppeared,
    DaemonVanished,
    DeviceAdded,
    DeviceChanged,
    DeviceRemoved,
    InterfaceAdded,
    InterfaceChanged,
    InterfaceRemoved,
    OperationFailed,
    RecordingStopped,
    ServiceChanged,
    TakeEnded,
)
from wifimgrd.domain.commands import OPTIONAL_INTERFACES
from wifimgrd.domain.errors import BackendUnavailable
from wifimgrd.domain.interface import natural_key
from wifimgrd.domain.records import DeviceRecord, InterfaceRecord, ServiceRecord, TakeRecord
from wifimgrd.runtime.tasks import Backoff, Kept, Tasks
from wifimgrd.wire import names
from wifimgrd.wire.properties import Properties, record_of, updated, without_interface

Listener = Callable[[Change], None]
Objects = Mapping[str, Mapping[str, Properties]]
"""Object path -> D-Bus interface -> properties, as GetManagedObjects returns them."""

_BACKOFF: Final = Backoff(first_s=0.2, last_s=5.0)
_BUS_ERRORS: Final = (BusClosed, BusError, TimeoutError)
NO_ANSWER: Final = "wifimgrd does not answer"
"""It is on the bus, and answers no ping."""
LATE: Final = "wifimgrd did not answer in time"
"""It answers pings, but has not replied to a command."""
_AWAY: Final = re.compile(
    r"org\.freedesktop\.(systemd1\..*|DBus\.Error\.(ServiceUnknown|NameHasNoOwner|TimedOut|Spawn\..*))"
)
"""Errors with which the bus answers if the name has no owner and none could be started."""
_NOT_STARTED: Final = re.compile(r"org\.freedesktop\.(systemd1\..*|DBus\.Error\.(TimedOut|Spawn\..*))")
"""Those after which it may be startable later."""
_START_AGAIN_S: Final = 60.0

_FACES: Final[Mapping[str, str]] = MappingProxyType(
    {names.DEVICE: "", **{f"{names.BUS_NAME}.{one}": one for one in OPTIONAL_INTERFACES}}
)
"""The D-Bus interfaces that a device's object has or may have -> as they are named in the fields."""


class LiveObjects:
    """A live copy of the daemon's objects, over a connection that is made again after it is lost.

    While the daemon is away `available` is False and the copy is empty. When the daemon is back, the copy is
    read anew and listeners get DaemonAppeared.
    """

    def __init__(self, bus: str = "system", tasks: Tasks | None = None) -> None:
        """`bus` is `system`, `session` or a D-Bus address; `tasks` are stopped with the copy."""
        self._address = bus
        self._connection: BusConnection | None = None
        self._cache = ObjectCache()
        self._listeners: list[Listener] = []
        self._reason = "wifimgrd is not connected yet"
        self._tasks = tasks or Tasks("client")
        self._heartbeat = Heartbeat(self._ping, self._fell_silent, self._tasks)
        self._confirming: asyncio.Task[None] | None = None
        self._reading: Kept | None = None
        self._may_start = False
        """Whether the next read has the bus start a daemon that is not running: each other call would undo
        `systemctl stop`, and start again one that ends because only a person can mend its configuration."""
        self._tried = asyncio.Event()

    async def start(self) -> None:
        """Connect, and read the objects if the daemon is on the bus. If the daemon or the bus is away this
        returns as well, and waits for it in the background."""
        self._tasks.check("message-bus", self._round_trip)
        self._tasks.keep("message-bus", self._follow, _BACKOFF, expected=_BUS_ERRORS, quiet=True)
        await self._tried.wait()

    async def stop(self) -> None:
        """Close the connection."""
        await self._tasks.stop()

    @property
    def available(self) -> bool:
        """Whether the copy is complete and current."""
        return not self._reason

    @property
    def reason(self) -> str:
        """Why it is not available, as a sentence; empty if it is."""
        return self._reason

    @property
    def is_silent(self) -> bool:
        """Whether it is not available because the daemon is on the bus and does not answer."""
        return self._reason == NO_ANSWER

    @property
    def service(self) -> ServiceRecord:
        """The manager object."""
        return self._cache.service

    @property
    def devices(self) -> Mapping[int, DeviceRecord]:
        """Every device, in order of id."""
        return MappingProxyType(self._cache.devices)

    @property
    def interfaces(self) -> Mapping[str, InterfaceRecord]:
        """Every interface, in natural order of names."""
        return MappingProxyType(self._cache.interfaces)

    def subscribe(self, listener: Listener) -> Callable[[], None]:
        """Call `listener` with each change, in order; returns a function that ends this."""
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener)

    def pinging(self) -> AbstractContextManager[None]:
        """While this is entered the daemon is pinged: one that is on the bus and does not answer counts as
        gone within `NOTICED_S`."""
        return self._heartbeat.held()

    async def confirm(self) -> None:
        """Ask the daemon whether it answers, once for all who ask meanwhile; one that does not counts as gone
        on return. For who does not follow it, and relies on what it has said now and then."""
        if self._confirming is None:
            self._confirming = self._tasks.start("confirm", self._confirmed())
            self._confirming.add_done_callback(self._stop_confirming)
        await asyncio.wait((self._confirming,))

    async def _confirmed(self) -> None:
        if self.available:
            with suppress(TimeoutError):
                async with self._heartbeat.answering():
                    await self._ping(lambda: None)

    def _stop_confirming(self, _: asyncio.Task[None]) -> None:
        self._confirming = None

    async def wait_until(self, holds: Callable[[Self], bool], timeout_s: float) -> None:
        """Wait until `holds` is true of this client, checked at each change; raises TimeoutError."""
        if holds(self):
            return
        reached = asyncio.Event()
        end = self.subscribe(lambda _: reached.set() if holds(self) else None)
        try:
            async with asyncio.timeout(timeout_s):
                await reached.wait()
        finally:
            end()

    def _connected(self) -> BusConnection:
        if self._connection is None or not self.available:
            raise BackendUnavailable(self._reason or "wifimgrd is not running")
        return self._connection

    # -- keeping the copy

    async def _follow(self) -> None:
        """Connect, and follow the daemon until the connection is lost."""
        try:
            self._connection = await BusConnection.open(self._address, sockets=True)
            await self._watch(self._connection)
            self._may_start = True
            self._read_again(self._connection)
            await self._connection.wait_closed()
            self._vanish("the message bus is unavailable")
        except _BUS_ERRORS as error:
            self._reason = str(error) or "the message bus does not answer"
            self._tried.set()
            raise
        finally:
            connection, self._connection = self._connection, None
            if connection is not None:
                await connection.close()

    async def _round_trip(self) -> None:
        if self._connection is not None:
            await self._connection.round_trip()

    async def _watch(self, connection: BusConnection) -> None:
        await connection.watch_owner(self._owner_changed, names.BUS_NAME)
        await connection.watch(self._changed, sender=names.BUS_NAME, path_namespace=names.ROOT_PATH)

    def _owner_changed(self, change: OwnerChange) -> None:
        self._vanish("wifimgrd is not running")
        if change.after and self._connection is not None:
            self._read_again(self._connection)

    async def _ping(self, on_answer: Callable[[], None]) -> None:
        """See Heartbeat. The daemon's loop answers; whether it is on the bus, the bus says by itself."""
        if self._connection is not None:
            with suppress(BusClosed, BusError):
                await self._connection.call(
                    names.BUS_NAME,
                    names.ROOT_PATH,
                    bus_names.PEER,
                    "Ping",
                    on_reply=lambda _: on_answer(),
                    auto_start=False,
                )

    def _fell_silent(self) -> None:
        """The daemon does not answer: what it said before may be out of date."""
        if self.available and self._connection is not None:
            self._vanish(NO_ANSWER)
            self._read_again(self._connection)

    def _read_again(self, connection: BusConnection) -> None:
        """Read the objects, repeatedly if the daemon is on the bus and does not reply."""
        if self._reading is not None:
            self._reading.cancel()
        self._reading = self._tasks.keep(
            "objects",
            partial(self._read, connection),
            _BACKOFF,
            expected=_BUS_ERRORS,
            quiet=True,
            until_done=True,
        )

    async def _read(self, connection: BusConnection) -> None:
        """Read the objects, if the daemon and the connection are there."""
        if not connection.is_open:
            return
        may_start, self._may_start = self._may_start, False
        try:
            async with self._heartbeat.answering():
                await connection.call(
                    names.BUS_NAME,
                    names.ROOT_PATH,
                    bus_names.OBJECT_MANAGER,
                    "GetManagedObjects",
                    on_reply=self._appear,
                    auto_start=may_start,
                )
        except _BUS_ERRORS as error:
            if not isinstance(error, BusError) or not _AWAY.fullmatch(error.name):
                self._reason = NO_ANSWER
                raise
            # NameOwnerChanged is sent when it starts, and ends this; but somebody has to start it.
            self._reason = "wifimgrd is not running"
            if _NOT_STARTED.fullmatch(error.name):
                self._tried.set()
                await asyncio.sleep(_START_AGAIN_S)
                self._may_start = True
                raise
        finally:
            self._tried.set()

    def _appear(self, reply: list[object]) -> None:
        self._cache = ObjectCache.of_objects(typed(dict[str, dict[str, dict[str, object]]], reply[0]))
        self._reason = ""
        self._heartbeat.set_current(True)
        self._notify(DaemonAppeared())

    def _vanish(self, reason: str) -> None:
        was_available = self.available
        self._reason = reason
        self._heartbeat.set_current(False)
        self._cache = ObjectCache()
        if was_available:
            self._notify(DaemonVanished(reason))

    def _changed(self, signal: Signal) -> None:
        if self.available:
            for change in self._cache.apply(signal):
                self._notify(change)

    def _notify(self, change: Change) -> None:
        for listener in list(self._listeners):
            listener(change)


class ObjectCache:
    """Devices, interfaces and the service, changed only by the daemon's signals."""

    def __init__(self) -> None:
        self.service = ServiceRecord()
        self.devices: dict[int, DeviceRecord] = {}
        self.interfaces: dict[str, InterfaceRecord] = {}

    @classmethod
    def of_objects(cls, objects: Objects) -> ObjectCache:
        """A copy made of the reply of GetManagedObjects."""
        cache = cls()
        for path, faces in objects.items():
            for _ in cache._added(path, faces):
                continue
        return cache

    def apply(self, signal: Signal) -> Iterable[Change]:
        """Apply a signal and return the changes."""
        match signal.interface, signal.member:
            case bus_names.OBJECT_MANAGER, "InterfacesAdded":
                return self._added(*typed(tuple[str, dict[str, dict[str, object]]], signal.body))
            case bus_names.OBJECT_MANAGER, "InterfacesRemoved":
                path, faces = typed(tuple[str, list[str]], signal.body)
                return self._removed(path, faces)
            case bus_names.PROPERTIES, "PropertiesChanged":
                interface, changed, _ = typed(tuple[str, dict[str, object], list[str]], signal.body)
                return self._properties(signal.path, interface, changed)
            case names.DEVICE, "ConnectionFailed":
                device_id = names.device_id_of(signal.path)
                if device_id is not None:
                    return [AttemptFailed(device_id, *typed(tuple[str, str], signal.body))]
            case names.CAMERA, "RecordingStopped":
                device_id = names.device_id_of(signal.path)
                if device_id is not None:
                    return [RecordingStopped(device_id, *typed(tuple[str], signal.body))]
            case names.MANAGER, "TakeEnded":
                return [TakeEnded(record_of(TakeRecord, *typed(tuple[dict[str, object]], signal.body)))]
            case names.DEVICE, "OperationFailed":
                device_id = names.device_id_of(signal.path)
                if device_id is not None:
                    return [OperationFailed(device_id, *typed(tuple[str, str, str], signal.body))]
        return []

    def _added(self, path: str, faces: Mapping[str, Properties]) -> list[Change]:
        if names.DEVICE in faces and (device_id := names.device_id_of(path)) is not None:
            device = _with_faces(DeviceRecord(device_id), faces)
            ordered = not self.devices or device_id > next(reversed(self.devices))
            self.devices[device_id] = device
            if not ordered:
                self.devices = dict(sorted(self.devices.items()))
            return [DeviceAdded(device)]
        if (device_id := names.device_id_of(path)) is not None and device_id in self.devices:
            return self._device_changed(device_id, _with_faces(self.devices[device_id], faces))
        if names.INTERFACE in faces and (name := names.interface_name_of(path)) is not None:
            interface = updated(InterfaceRecord(name), faces[names.INTERFACE])
            self.interfaces[name] = interface
            self.interfaces = dict(sorted(self.interfaces.items(), key=lambda item: natural_key(item[0])))
            return [InterfaceAdded(interface)]
        if names.MANAGER in faces:
            self.service = updated(self.service, faces[names.MANAGER])
        return []

    def _removed(self, path: str, faces: Collection[str]) -> list[Change]:
        """Interfaces went from an object, which may keep others."""
        device_id = names.device_id_of(path)
        if names.DEVICE in faces and device_id is not None and self.devices.pop(device_id, None) is not None:
            return [DeviceRemoved(device_id)]
        if device_id is not None and device_id in self.devices:
            device = self.devices[device_id]
            for face in faces:
                device = without_interface(device, _FACES[face]) if _FACES.get(face) else device
            return self._device_changed(device_id, device)
        name = names.interface_name_of(path)
        if names.INTERFACE in faces and name is not None and self.interfaces.pop(name, None) is not None:
            return [InterfaceRemoved(name)]
        return []

    def _device_changed(self, device_id: int, after: DeviceRecord, *, is_step: bool = False) -> list[Change]:
        before, self.devices[device_id] = self.devices[device_id], after
        return [DeviceChanged(before, after, is_step=is_step)]

    def _properties(self, path: str, face: str, properties: Properties) -> list[Change]:
        device_id = names.device_id_of(path)
        name = names.interface_name_of(path)
        if face in _FACES and device_id is not None and device_id in self.devices:
            after = updated(self.devices[device_id], properties, _FACES[face])
            return self._device_changed(device_id, after, is_step="State" in properties)
        if face == names.INTERFACE and name is not None and name in self.interfaces:
            interface = self.interfaces[name] = updated(self.interfaces[name], properties)
            return [InterfaceChanged(interface)]
        if face == names.MANAGER and path == names.ROOT_PATH:
            self.service = updated(self.service, properties)
            return [ServiceChanged(self.service, frozenset(properties))]
        return []


def _with_faces(device: DeviceRecord, faces: Mapping[str, Properties]) -> DeviceRecord:
    """A device with the properties of some of its interfaces."""
    for face, properties in faces.items():
        if face in _FACES:
            device = updated(device, properties, _FACES[face])
    return device
