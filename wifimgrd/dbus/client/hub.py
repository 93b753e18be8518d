"""The daemon as its clients see it: a live copy of its objects, and its commands."""

from __future__ import annotations

import asyncio
import re
import socket
from collections.abc import Callable, Coroutine, Mapping
from contextlib import suppress
from types import MappingProxyType
from typing import Any, Final

from wifimgrd.dbus import names
from wifimgrd.dbus.bus import BusClosed, BusConnection, BusError, Signal, Variant
from wifimgrd.dbus.client.changes import Change, DaemonAppeared, DaemonVanished
from wifimgrd.dbus.client.mirror import Mirror
from wifimgrd.dbus.client.outcome import Outcome
from wifimgrd.dbus.client.records import (
    AirRecord,
    DeviceRecord,
    InterfaceRecord,
    NetworkRecord,
    ServiceRecord,
)
from wifimgrd.dbus.client.variants import variant_of
from wifimgrd.dbus.errors import error_of_reply
from wifimgrd.domain.errors import BackendUnavailable, InternalError

Listener = Callable[[Change], None]

_FIRST_RETRY_S: Final = 0.2
_LAST_RETRY_S: Final = 5.0
_ANSWER_S: Final = 10.0
"""What a command that waits for nothing but the daemon itself may take to be answered."""
_SLOW_ANSWER_S: Final = 30.0
"""The same for one that waits for a disk or for a link to be taken down."""
_COMMANDS_AT_ONCE: Final = 64
"""A message bus bears 128 calls of one client without reply (dbus-daemon(1), max_replies_per_connection)."""
_SOCKETS_AT_ONCE: Final = 32
_NOT_WAITING: Final = {"wait": Variant("b", False)}
_NO_ANSWER: Final = "wifimgrd does not answer"
_AWAY: Final = re.compile(
    r"org\.freedesktop\.(systemd1\..*|DBus\.Error\.(ServiceUnknown|NameHasNoOwner|TimedOut|Spawn\..*))"
)
"""Errors that the bus answers with where nobody has the name, and nobody could be started to have it."""


class HubClient:
    """A live copy of the daemon's objects, kept by GetManagedObjects and signals.

    While the daemon is away `available` is False, the copy is empty and every command raises
    BackendUnavailable. When it is back the copy is read anew and DaemonAppeared is told.
    Commands raise the errors of `wifimgrd.domain.errors`. A command's effects are in the copy
    when its call returns.
    """

    def __init__(self, bus: str = "system") -> None:
        """`bus` is `system`, `session` or a D-Bus address."""
        self._address = bus
        self._connection: BusConnection | None = None
        self._mirror = Mirror()
        self._listeners: list[Listener] = []
        self._reason = "wifimgrd is not connected yet"
        self._owner: str | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self._reading: asyncio.Task[None] | None = None
        self._places = asyncio.Semaphore(_COMMANDS_AT_ONCE)
        self._sockets_on_their_way = asyncio.Semaphore(_SOCKETS_AT_ONCE)
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

    async def wait_until(self, holds: Callable[[HubClient], bool], timeout_s: float) -> None:
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

    async def create_device(self, properties: Mapping[str, Any]) -> int:
        """Register a device and return its id.

        Keys: `codename`, `connection_type`, `ssid` (str or bytes), `password`, `name` (optional),
        `idempotency_key` (optional). Values are plain Python values; also ill-typed ones are passed
        on, so that the daemon says what is wrong. Raises InvalidRequest with `fields` keyed by those
        names.
        """
        [path] = await self._command(
            names.ROOT_PATH, names.MANAGER, "CreateDevice", "a{sv}", [_explained(properties)]
        )
        device_id = names.device_id_of(path)
        if device_id is None:
            raise InternalError(f"wifimgrd answered with {path}, which is no device")
        return device_id

    async def update_device(self, device_id: int, properties: Mapping[str, Any]) -> None:
        """Change `name`, `ssid` and `password`, each optional."""
        await self._on_device(device_id, "Update", _explained(properties))

    async def remove_device(self, device_id: int) -> None:
        """Disconnect and forget a device; returns when all of it has happened."""
        await self._command(
            names.ROOT_PATH, names.MANAGER, "RemoveDevice", "o", [names.device_path(device_id)]
        )

    async def connect_device(self, device_id: int, *, wait: bool = False, timeout_s: float = 25) -> None:
        """Connect; with `wait`, until the attempt has ended, as success or as the error that says
        why. Raises TimeoutError when it has not ended `timeout_s` seconds after it began; it goes on.
        """
        outcome = Outcome(self, device_id, wanted="connected")
        with outcome:
            await self._on_device(device_id, "Connect", _NOT_WAITING, _ANSWER_S, outcome.begin)
            if wait:
                await outcome.reached(timeout_s)

    async def disconnect_device(self, device_id: int, *, timeout_s: float = 25) -> None:
        """Disconnect, and wait until that is done; raises TimeoutError, the rest goes on."""
        outcome = Outcome(self, device_id, wanted="disconnected")
        with outcome:
            await self._on_device(device_id, "Disconnect", _NOT_WAITING, _ANSWER_S, outcome.begin)
            await outcome.reached(timeout_s)

    async def open_connection(self, device_id: int, port: int) -> socket.socket:
        """A TCP socket to a connected device's camera, not blocking; the caller closes it.

        Raises DeviceNotReachable, InterfaceLost.
        """
        # As many as a message bus bears on their way to one client that does not read (dbus-daemon(1),
        # max_outgoing_unix_fds), with room to spare.
        async with self._sockets_on_their_way:
            connection = self._connected()
            try:
                return await connection.call_for_socket(
                    names.BUS_NAME,
                    names.device_path(device_id),
                    names.DEVICE,
                    "OpenConnection",
                    "qa{sv}",
                    [port, {}],
                )
            except BusError as error:
                raise error_of_reply(error) from None
            except BusClosed as error:
                raise BackendUnavailable(str(error)) from None
            except TimeoutError:
                raise BackendUnavailable(_NO_ANSWER) from None

    async def search_air(self, interface: str | None = None) -> AirRecord:
        """Search on every idle interface, or on one, and say what is in the air; raises
        InterfaceNotFound."""
        options = {} if interface is None else {"interface": variant_of(interface)}
        scanned, skipped = await self._command(names.ROOT_PATH, names.MANAGER, "Scan", "a{sv}", [options])
        [networks] = await self._command(names.ROOT_PATH, names.MANAGER, "GetNetworks", "a{sv}", [options])
        return AirRecord(tuple(map(NetworkRecord.of, networks)), tuple(scanned), skipped)

    async def simulate(self, member: str, signature: str, *arguments: Any) -> None:
        """Call a method of the simulated world; raises DeviceNotFound where there is none."""
        await self._command(names.SIMULATOR_PATH, names.SIMULATOR, member, signature, arguments)

    async def _on_device(
        self,
        device_id: int,
        member: str,
        options: Mapping[str, Any],
        timeout_s: float = _SLOW_ANSWER_S,
        on_reply: Callable[[list[Any]], None] | None = None,
    ) -> None:
        path = names.device_path(device_id)
        await self._command(path, names.DEVICE, member, "a{sv}", [options], timeout_s, on_reply)

    async def _command(
        self,
        path: str,
        interface: str,
        member: str,
        signature: str,
        body: Any,
        timeout_s: float = _SLOW_ANSWER_S,
        on_reply: Callable[[list[Any]], None] | None = None,
    ) -> list[Any]:
        async with self._places:
            connection = self._connected()
            try:
                return await connection.call(
                    names.BUS_NAME, path, interface, member, signature, body, timeout_s, on_reply
                )
            except BusError as error:
                raise error_of_reply(error) from None
            except BusClosed as error:
                raise BackendUnavailable(str(error)) from None
            except TimeoutError:
                # It hangs: what it told before may not be true any more.
                self._vanish(_NO_ANSWER)
                self._read_again(connection)
                raise BackendUnavailable(_NO_ANSWER) from None

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
                self._reason = _NO_ANSWER
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


def _explained(properties: Mapping[str, Any]) -> dict[str, Any]:
    """Properties for D-Bus; a refusal is to say what is wrong field by field."""
    return {name: variant_of(value) for name, value in properties.items()} | {"explain": variant_of(True)}
