"""The daemon's objects as its clients see them: a live copy, kept by GetManagedObjects and signals."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Coroutine, Mapping
from contextlib import suppress
from types import MappingProxyType
from typing import Any, Final, Self

from wifimgrd.dbus import names
from wifimgrd.dbus.bus import BusClosed, BusConnection, BusError, Signal
from wifimgrd.dbus.client.changes import Change, DaemonAppeared, DaemonVanished
from wifimgrd.dbus.client.mirror import Mirror
from wifimgrd.dbus.client.records import DeviceRecord, InterfaceRecord, ServiceRecord
from wifimgrd.domain.errors import BackendUnavailable

Listener = Callable[[Change], None]

_FIRST_RETRY_S: Final = 0.2
_LAST_RETRY_S: Final = 5.0
NO_ANSWER: Final = "wifimgrd does not answer"
_AWAY: Final = re.compile(
    r"org\.freedesktop\.(systemd1\..*|DBus\.Error\.(ServiceUnknown|NameHasNoOwner|TimedOut|Spawn\..*))"
)
"""Errors that the bus answers with where nobody has the name, and nobody could be started to have it."""


class LiveCopy:
    """A live copy of the daemon's objects, over a connection that is made again where it is lost.

    While the daemon is away `available` is False and the copy is empty. When it is back the copy is
    read anew and DaemonAppeared is told.
    """

    def __init__(self, bus: str = "system") -> None:
        """`bus` is `system`, `session` or a D-Bus address."""
        self._address = bus
        self._connection: BusConnection | None = None
        self._mirror = Mirror()
        self._listeners: list[Listener] = []
        self._reason = "wifimgrd is not connected yet"
        self._tasks: set[asyncio.Task[None]] = set()
        self._reading: asyncio.Task[None] | None = None
        self._tried = asyncio.Event()

    async def start(self) -> None:
        """Connect and read the objects where the daemon is there; returns also where it, or the
        bus, is not, and goes on waiting for it."""
        self._spawn(self._keep_connected())
        await self._tried.wait()

    async def stop(self) -> None:
        """Close the connection."""
        for task in list(self._tasks):
            task.cancel()
        for task in list(self._tasks):
            with suppress(asyncio.CancelledError):
                await task
        if self._connection is not None:
            await self._connection.close()

    @property
    def available(self) -> bool:
        """Whether the copy is complete and current."""
        return not self._reason

    @property
    def reason(self) -> str:
        """Why it is not available, as a sentence; empty where it is."""
        return self._reason

    @property
    def service(self) -> ServiceRecord:
        """The manager object."""
        return self._mirror.service

    @property
    def devices(self) -> Mapping[int, DeviceRecord]:
        """Every device, in order of id."""
        return MappingProxyType(self._mirror.devices)

    @property
    def interfaces(self) -> Mapping[str, InterfaceRecord]:
        """Every interface, in natural order of names."""
        return MappingProxyType(self._mirror.interfaces)

    def subscribe(self, listener: Listener) -> Callable[[], None]:
        """Call `listener` with each change, in order; returns what ends that."""
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener)

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

    def _spawn(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    async def _keep_connected(self) -> None:
        pause = _FIRST_RETRY_S
        while True:
            try:
                self._connection = await BusConnection.open(self._address, sockets=True)
                await self._watch(self._connection)
                pause = _FIRST_RETRY_S
                self._tried.set()
                await self._connection.wait_closed()
                self._vanish("the message bus is gone")
            except (BusClosed, BusError, TimeoutError) as error:
                self._reason = str(error) or "the message bus does not answer"
                if self._connection is not None:
                    await self._connection.close()
            self._tried.set()
            self._connection = None
            await asyncio.sleep(pause)
            pause = min(pause * 2, _LAST_RETRY_S)

    async def _watch(self, connection: BusConnection) -> None:
        await connection.watch(
            self._owner_changed,
            sender="org.freedesktop.DBus",
            member="NameOwnerChanged",
            arg0=names.BUS_NAME,
        )
        await connection.watch(self._changed, sender=names.BUS_NAME, path_namespace=names.ROOT_PATH)
        await self._read(connection)

    def _owner_changed(self, signal: Signal) -> None:
        owner = signal.body[2]
        self._vanish("wifimgrd is not running")
        if owner and self._connection is not None:
            self._read_again(self._connection)

    def _unanswered(self, connection: BusConnection) -> None:
        """The daemon hangs: what it told before may not be true any more."""
        self._vanish(NO_ANSWER)
        self._read_again(connection)

    def _read_again(self, connection: BusConnection) -> None:
        if self._reading is not None:
            self._reading.cancel()
        self._reading = self._spawn(self._read(connection))

    async def _read(self, connection: BusConnection) -> None:
        """Read the objects, again and again where the daemon is there and does not answer."""
        pause = _FIRST_RETRY_S
        while connection.is_open:
            try:
                await connection.call(
                    names.BUS_NAME,
                    names.ROOT_PATH,
                    names.OBJECT_MANAGER,
                    "GetManagedObjects",
                    on_reply=self._appear,
                )
            except (BusError, BusClosed, TimeoutError) as error:
                if isinstance(error, BusError) and _AWAY.fullmatch(error.name):
                    self._reason = "wifimgrd is not running"
                    return  # its name will be told when it comes
                self._reason = NO_ANSWER
                self._tried.set()
                await asyncio.sleep(pause)
                pause = min(pause * 2, _LAST_RETRY_S)
            else:
                return

    def _appear(self, reply: list[Any]) -> None:
        self._mirror = Mirror.of_objects(reply[0])
        self._reason = ""
        self._tell(DaemonAppeared())

    def _vanish(self, reason: str) -> None:
        was_available = self.available
        self._reason = reason
        self._mirror = Mirror()
        if was_available:
            self._tell(DaemonVanished(reason))

    def _changed(self, signal: Signal) -> None:
        if self.available:
            for change in self._mirror.apply(signal):
                self._tell(change)

    def _tell(self, change: Change) -> None:
        for listener in list(self._listeners):
            listener(change)
