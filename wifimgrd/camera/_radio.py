"""The Bluetooth adapter, through BlueZ: whether it can be used, and for what at a time."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Collection
from contextlib import asynccontextmanager, suppress
from typing import Final, NamedTuple

from wifimgrd.bus.connection import BusClosed, BusConnection, BusError
from wifimgrd.camera._objects import Objects
from wifimgrd.domain.errors import BluetoothUnavailable
from wifimgrd.kernel import bluetooth as host
from wifimgrd.proxies.bluez import definitions as bluez
from wifimgrd.proxies.bluez.objects import NO_ANSWER, Adapter
from wifimgrd.runtime.tasks import Tasks
from wifimgrd.wire import camera_names as names

_LOADED_S: Final = 5.0


class Status(NamedTuple):
    """Whether Bluetooth can be used."""

    state: str
    """READY, OFF or ABSENT."""
    reason: str
    """A sentence; empty if it is ready."""


class Radio:
    """The adapter, which discovers or advertises, and never does both at a time."""

    def __init__(self, connection: BusConnection, objects: Objects, tasks: Tasks) -> None:
        self._connection = connection
        self._tasks = tasks
        self.objects = objects
        self._is_installed = False
        """Whether the message bus could start bluetoothd."""
        self._discoveries = 0
        self._discovering = asyncio.Lock()
        self._turns = asyncio.Condition()
        """Notified when a discovery or an advertisement ends."""
        self._advertisements = 0
        self._stop_discoveries = asyncio.Event()

    async def start(self) -> None:
        """Read BlueZ's objects and follow them; raises as a call does."""
        activatable = (await self._connection.call_bus("ListActivatableNames", "", []))[0]
        self._is_installed = isinstance(activatable, list) and bluez.BLUEZ in activatable
        await self.objects.start()
        await self.settled()

    # -- state

    @property
    def status(self) -> Status:
        """Whether Bluetooth can be used now."""
        if self.objects.powered_adapter() is not None:
            return Status(names.READY, "")
        if self.objects.owner and not self.objects.loaded:
            return Status(names.OFF, "bluetoothd is starting")
        if not (self.objects.adapters or host.has_adapter()):
            return Status(names.ABSENT, names.NO_ADAPTER)
        if host.is_blocked():
            return Status(names.OFF, names.BLOCKED)
        if not self.objects.owner:
            if not self._is_installed:
                return Status(names.ABSENT, names.NOT_INSTALLED)
            return Status(names.OFF, names.NOT_RUNNING)
        if not self.objects.adapters:
            return Status(names.OFF, "bluetoothd has not set the Bluetooth adapter up")
        return Status(names.OFF, "the Bluetooth adapter is switched off: bluetoothctl power on")

    async def settled(self) -> None:
        """Wait until a bluetoothd that has just started is read, but not long for one that hangs."""
        objects = self.objects
        await objects.until(lambda: objects.loaded or not objects.owner, _LOADED_S)

    def require_ready(self) -> str:
        """The path of the adapter to use; raises BluetoothUnavailable."""
        adapter = self.objects.powered_adapter()
        if adapter is None:
            raise BluetoothUnavailable(self.status.reason)
        return adapter

    def refusal(self, error: BusError) -> BluetoothUnavailable:
        """The error for a call that bluetoothd has refused."""
        return BluetoothUnavailable(self.status.reason or f"bluetoothd refused: {error.message[:200]}")

    # -- discovery and advertisement, of which one can run at a time

    @asynccontextmanager
    async def discovery(self, services: Collection[str], wait_s: float) -> AsyncIterator[asyncio.Event]:
        """A discovery, shared with others that run; with `services` only devices with one of these are
        reported, while no other discovery looks for more. Yields an event that is set when it has to end
        early. Waits `wait_s` for the end of an advertisement. Raises BluetoothUnavailable."""
        async with self._turns:
            try:
                async with asyncio.timeout(wait_s):
                    await self._turns.wait_for(lambda: not self._advertisements)
            except TimeoutError:
                raise BluetoothUnavailable("the adapter is waking another camera") from None
            if not self._discoveries:
                self._stop_discoveries = asyncio.Event()
            self._discoveries += 1
        try:
            await self._begin_discovery(services)
            yield self._stop_discoveries
        finally:
            self._discoveries -= 1  # nothing is awaited before: a second cancellation would leave it counted
            if not self._discoveries:
                self._tasks.start("stop-discovery", self._end_discovery())
            self._tasks.start("next-turn", self._next_turn())

    async def _begin_discovery(self, services: Collection[str]) -> None:
        """Start a discovery, or have the running one look for more; raises BluetoothUnavailable."""
        async with self._discovering:
            adapter = Adapter(self._connection, self.require_ready())
            try:
                await adapter.set_discovery_filter(sorted(services) if self._discoveries == 1 else [])
                await adapter.start_discovery()
            except BusError as error:
                if error.name != bluez.IN_PROGRESS:
                    raise self.refusal(error) from None
            except TimeoutError:
                raise BluetoothUnavailable(NO_ANSWER) from None

    async def _end_discovery(self) -> None:
        async with self._discovering:
            adapter = self.objects.powered_adapter()
            if adapter is not None and not self._discoveries:
                with suppress(BusError, BusClosed, TimeoutError):
                    await Adapter(self._connection, adapter).stop_discovery()

    @asynccontextmanager
    async def advertising(self) -> AsyncIterator[str]:
        """The adapter without a discovery, for an advertisement; yields its path. Discoveries that run end
        early; several advertisements can run at a time. Raises BluetoothUnavailable."""
        async with self._turns:
            self._stop_discoveries.set()
            self.objects.wake()
            await self._turns.wait_for(lambda: not self._discoveries)
            self._advertisements += 1
        try:
            async with self._discovering:  # its StopDiscovery was answered
                adapter = self.require_ready()
            yield adapter
        finally:
            self._advertisements -= 1  # as in `discovery`
            self._tasks.start("next-turn", self._next_turn())

    async def _next_turn(self) -> None:
        async with self._turns:
            self._turns.notify_all()
