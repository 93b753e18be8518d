"""The installed daemon and shim, commanded over D-Bus by as little as is possible."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any, Final

from dbus_next.signature import Variant

from benchmarks.accounting import Account
from tests.lab.guest.access_point import Camera
from tests.lab.guest.adapters import Adapter
from tests.lab.guest.deadline import async_poll_until
from tests.lab.guest.namespace import run
from tests.lab.guest.system_bus import BusError, SystemBus
from tests.lab.guest.whole_hub import CONFIGURATION, STATE
from wifimgrd.wire import names

_UNITS: Final = ("wifimgrd.service", "wifimgrd-http.service")
_HELPER: Final = "wifimgrd-net.service"
"""Started by the message bus with the first adapter."""
ACCEPTED_PORT: Final = 8555
"""Of this host's; all cameras may send to it."""
_SETTINGS: Final = f"""\
[connect]
on_create = false
[cameras]
accept = ["tcp/{ACCEPTED_PORT}"]
"""
_AVAILABLE_S: Final = 30.0
_REST_S: Final = 0.3
"""Who has not woken up for so long has nothing to do."""


class Hub:
    """The running product, with no client but this one."""

    def __init__(self, bus: SystemBus) -> None:
        self._bus = bus
        self.daemon, self.shim = (Account(_main_pid(unit)) for unit in _UNITS)

    @property
    def helper(self) -> Account | None:
        """The helper for addresses, once there has been an adapter."""
        pid = _main_pid(_HELPER)
        return Account(pid) if pid else None

    async def backend(self) -> str:
        """The backend that it has chosen."""
        return str(await self._bus.read(names.BUS_NAME, names.ROOT_PATH, names.MANAGER, "Backend"))

    async def add(self, camera: Camera, password: str | None = None, codename: str = "insta360-x3") -> int:
        """Register a camera; no attempt is made."""
        fields = {
            "codename": Variant("s", codename),
            "connection_type": Variant("s", "wifi"),
            "ssid": Variant("ay", camera.ssid),
            "password": Variant("s", camera.password if password is None else password),
        }
        [path] = await self._call(names.ROOT_PATH, names.MANAGER, "CreateDevice", "a{sv}", fields)
        return names.device_id_of(path) or 0

    async def remove(self, device: int) -> None:
        """Forget a camera."""
        await self._call(names.ROOT_PATH, names.MANAGER, "RemoveDevice", "o", names.device_path(device))

    async def bluetooth_ready(self) -> None:
        """Wait until the host's Bluetooth can be used."""

        async def is_so() -> bool:
            path, interface = names.ROOT_PATH, names.MANAGER
            return bool(await self._bus.read(names.BUS_NAME, path, interface, "BluetoothState") == "ready")

        await async_poll_until(is_so, "Bluetooth is ready", _AVAILABLE_S)

    async def pair(self, device: int, address: str) -> None:
        """Pair a camera over Bluetooth, to the end."""
        options = {"wait": Variant("b", True), "address": Variant("s", address)}
        await self._call(names.device_path(device), names.BLUETOOTH, "Pair", "a{sv}", options)

    async def connect(self, device: int, *, wake: bool = False) -> tuple[float, str]:
        """Connect to the end of the attempt: seconds, and the error's name or nothing."""
        began = time.monotonic()
        error = ""
        options = {"wait": Variant("b", True), "wake": Variant("b", wake)}
        try:
            await self._call(names.device_path(device), names.DEVICE, "Connect", "a{sv}", options)
        except BusError as refused:
            error = refused.name.removeprefix(names.ERROR_PREFIX)
        return time.monotonic() - began, error

    async def connected(self, device: int, *, wake: bool = False) -> float:
        """Connect, and give the seconds that it took."""
        seconds, error = await self.connect(device, wake=wake)
        if error:
            raise RuntimeError(f"device {device} was not connected: {error}")
        return seconds

    async def disconnect(self, device: int) -> None:
        """Disconnect, to the end."""
        await self._call(names.device_path(device), names.DEVICE, "Disconnect", "a{sv}", {})

    async def free(self, interface: str) -> None:
        """Wait until an interface can be had."""
        await self._shows(interface, "available")

    async def until_unavailable(self, adapter: Adapter, *, ours: Adapter) -> None:
        """Wait until an adapter that is not ours is unavailable, as another program's."""
        if adapter != ours:
            await self._shows(adapter.interface, "unavailable")

    async def _shows(self, interface: str, wanted: str) -> None:
        """Wait for a state of an interface.

        It is polled: a signal would take time from the process that is measured, later.
        """

        async def is_so() -> bool:
            path = names.interface_path(interface)
            try:
                state = await self._bus.read(names.BUS_NAME, path, names.INTERFACE, "State")
            except BusError:
                return False
            return bool(state == wanted)

        await async_poll_until(is_so, f"{interface} {wanted}", _AVAILABLE_S)

    @asynccontextmanager
    async def asleep(self) -> AsyncIterator[None]:
        """Stop our processes where they stand, so that they take no time from the other side.

        Then they do what that held up, of which there is none in real life: that is waited for.
        """
        ours = [Account(process) for process in map(_main_pid, (*_UNITS, _HELPER)) if process]
        for one in ours:
            os.kill(one.pid, signal.SIGSTOP)
        try:
            yield
        finally:
            for one in ours:
                os.kill(one.pid, signal.SIGCONT)

        async def at_rest() -> bool:
            before = [one.sleeps() for one in ours]
            await asyncio.sleep(_REST_S)
            return before == [one.sleeps() for one in ours]

        await async_poll_until(at_rest, "what was held up is done", _AVAILABLE_S)

    async def _call(self, path: str, interface: str, member: str, signature: str, *body: Any) -> list[Any]:
        return await self._bus.call(names.BUS_NAME, path, interface, member, signature, *body)


@asynccontextmanager
async def running_hub(bus: SystemBus) -> AsyncIterator[Hub]:
    """Both units on an empty state directory, from start to stop."""
    shutil.rmtree(STATE, ignore_errors=True)
    CONFIGURATION.parent.mkdir(parents=True, exist_ok=True)
    CONFIGURATION.write_text(_SETTINGS)
    with _watchdogs_off():
        run("systemctl", "start", *_UNITS)
        hub = Hub(bus)
        try:
            yield hub
        finally:
            run("systemctl", "stop", *reversed(_UNITS))
            run("systemctl", "stop", _HELPER)


@contextmanager
def _watchdogs_off() -> Iterator[None]:
    """The wake-ups that are counted are without theirs, and they would end what `asleep` has stopped."""
    drop_ins = [Path("/run/systemd/system", f"{unit}.d", "unwatched.conf") for unit in (*_UNITS, _HELPER)]
    for drop_in in drop_ins:
        drop_in.parent.mkdir(parents=True, exist_ok=True)
        drop_in.write_text("[Service]\nWatchdogSec=0\n")
    run("systemctl", "daemon-reload")
    try:
        yield
    finally:
        for drop_in in drop_ins:
            drop_in.unlink()
        run("systemctl", "daemon-reload")


def _main_pid(unit: str) -> int:
    return int(run("systemctl", "show", "--property=MainPID", "--value", unit))
