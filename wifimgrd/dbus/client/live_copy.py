"""The daemon's objects as its clients see them: a live copy, kept by GetManagedObjects and signals."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Mapping
from functools import partial
from types import MappingProxyType
from typing import Any, Final, Self

from wifimgrd.dbus import names
from wifimgrd.dbus.bus import BusClosed, BusConnection, BusError, Signal
from wifimgrd.dbus.client.changes import Change, DaemonAppeared, DaemonVanished
from wifimgrd.dbus.client.mirror import Mirror
from wifimgrd.dbus.client.records import DeviceRecord, InterfaceRecord, ServiceRecord
from wifimgrd.domain.errors import BackendUnavailable
from wifimgrd.runtime.tasks import Backoff, Kept, Tasks

Listener = Callable[[Change], None]

_BACKOFF: Final = Backoff(first_s=0.2, last_s=5.0)
_BUS_ERRORS: Final = (BusClosed, BusError, TimeoutError)
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

    def __init__(self, bus: str = "system", tasks: Tasks | None = None) -> None:
        """`bus` is `system`, `session` or a D-Bus address; `tasks` are stopped with the copy."""
        self._address = bus
        self._connection: BusConnection | None = None
        self._mirror = Mirror()
        self._listeners: list[Listener] = []
        self._reason = "wifimgrd is not connected yet"
        self._tasks = tasks or Tasks("client")
        self._reading: Kept | None = None
        self._tried = asyncio.Event()

    async def start(self) -> None:
        """Connect and read the objects where the daemon is there; returns also where it, or the
        bus, is not, and goes on waiting for it."""
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

    async def _follow(self) -> None:
        """Connect, and follow the daemon until the connection is gone."""
        try:
            self._connection = await BusConnection.open(self._address, sockets=True)
            await self._watch(self._connection)
            self._read_again(self._connection)
            await self._connection.wait_closed()
            self._vanish("the message bus is gone")
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
        await connection.watch(
            self._owner_changed,
            sender="org.freedesktop.DBus",
            member="NameOwnerChanged",
            arg0=names.BUS_NAME,
        )
        await connection.watch(self._changed, sender=names.BUS_NAME, path_namespace=names.ROOT_PATH)

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
        """Read the objects, again and again where the daemon is there and does not answer."""
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
        """Read the objects, where the daemon and the connection are there."""
        if not connection.is_open:
            return
        try:
            await connection.call(
                names.BUS_NAME,
                names.ROOT_PATH,
                names.OBJECT_MANAGER,
                "GetManagedObjects",
                on_reply=self._appear,
            )
        except _BUS_ERRORS as error:
            if isinstance(error, BusError) and _AWAY.fullmatch(error.name):
                self._reason = "wifimgrd is not running"  # its name will be told when it comes
            else:
                self._reason = NO_ANSWER
                raise
        finally:
            self._tried.set()

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
