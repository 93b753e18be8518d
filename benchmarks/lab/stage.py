"""The air over the guest: what is plugged in, what is heard, and NetworkManager by itself."""

from __future__ import annotations

import asyncio
import os
import pwd
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final

from dbus_next.signature import Variant

from tests.lab.guest import hwsim
from tests.lab.guest.access_point import Camera
from tests.lab.guest.adapters import Adapter, plug_in
from tests.lab.guest.deadline import async_poll_until
from tests.lab.guest.namespace import run
from tests.lab.guest.network_manager import DeviceState, NetworkManager, Transition
from tests.lab.guest.supplicant import Supplicant
from tests.lab.guest.system_bus import BusError, SystemBus

_WPAS: Final = "fi.w1.wpa_supplicant1"
_INTERFACE: Final = f"{_WPAS}.Interface"
_NM: Final = "org.freedesktop.NetworkManager"
_FAILED: Final = (DeviceState.FAILED, DeviceState.ACTIVATED)
_CHANNEL_1_MHZ: Final = 2412
_LONGEST_SCAN_S: Final = 30.0


@dataclass(slots=True)
class Stage:
    """Adapters, cameras and the two programs that are measured against."""

    bus: SystemBus
    nm: NetworkManager
    nm_as_daemon: NetworkManager
    """Asked as the daemon's user: NetworkManager has polkit judge everybody's calls but root's."""
    supplicant: Supplicant

    @classmethod
    async def open(cls, bus: SystemBus, bus_as_daemon: SystemBus) -> Stage:
        """Watch NetworkManager and wpa_supplicant from now on."""
        stage = cls(bus, NetworkManager(bus), NetworkManager(bus_as_daemon), Supplicant(bus))
        await stage.nm.watch()
        await stage.supplicant.watch()
        return stage

    async def plugged(self, port: str, channels: hwsim.Channels) -> Adapter:
        """Plug an adapter in, ready."""
        adapter = plug_in(port, channels)
        await self.nm.wait_for_state(adapter.interface, DeviceState.DISCONNECTED)
        return adapter

    # -- what is in the air

    async def rest(self, adapter: Adapter) -> None:
        """Wait until the adapter does nothing; a scan of NetworkManager's own is cut short."""
        await self.nm.wait_for_state(adapter.interface, DeviceState.DISCONNECTED)
        path = await self.supplicant.interface(adapter.interface)

        async def still() -> bool:
            if await self._scanning(path):
                await self._ask(path, "AbortScan")
                return False
            return True

        await async_poll_until(still, f"{adapter.interface} at rest", _LONGEST_SCAN_S)

    async def hear(self, adapter: Adapter, camera: Camera) -> None:
        """Bring a camera into both scan lists, freshly heard."""
        await self.rest(adapter)
        path = await self.supplicant.interface(adapter.interface)
        frequency = _CHANNEL_1_MHZ + 5 * (camera.network.channel - 1)
        how = {
            "Type": Variant("s", "active"),
            "SSIDs": Variant("aay", [camera.ssid]),
            "Channels": Variant("a(uu)", [[frequency, 20]]),
        }

        async def scanned() -> bool:
            return await self._ask(path, "Scan", "a{sv}", how)

        await async_poll_until(scanned, f"a scan of {adapter.interface}", 10)

        async def listed() -> bool:
            return camera.ssid in await self._names(adapter) and not await self._scanning(path)

        await async_poll_until(listed, f"{camera.name} in the scan list", 10)

    async def forget(self, adapter: Adapter) -> None:
        """Empty both scan lists."""
        await self.rest(adapter)
        path = await self.supplicant.interface(adapter.interface)

        async def empty() -> bool:
            await self._ask(path, "FlushBSS", "u", 0)
            return not await self._names(adapter)

        await async_poll_until(empty, f"{adapter.interface} hears nothing", 10)

    async def _names(self, adapter: Adapter) -> list[bytes]:
        device = await self.nm.device(adapter.interface)
        points = await self.bus.read(_NM, device, f"{_NM}.Device.Wireless", "AccessPoints")
        return [bytes(await self.bus.read(_NM, one, f"{_NM}.AccessPoint", "Ssid")) for one in points]

    async def _scanning(self, path: str) -> bool:
        return bool(await self.bus.read(_WPAS, path, _INTERFACE, "Scanning"))

    async def _ask(self, path: str, member: str, signature: str = "", *body: Any) -> bool:
        try:
            await self.bus.call(_WPAS, path, _INTERFACE, member, signature, *body)
        except BusError:
            return False
        return True

    # -- NetworkManager by itself

    async def join_bare(self, adapter: Adapter, camera: Camera) -> float:
        """Seconds from a bare AddAndActivateConnection2 to ACTIVATED; disconnects again."""
        seconds, state = await self.outcome_bare(adapter, camera)
        if state is not DeviceState.ACTIVATED:
            raise RuntimeError(f"NetworkManager did not join {camera.name}")
        await self.leave_bare(adapter)
        return seconds

    async def outcome_bare(
        self, adapter: Adapter, camera: Camera, password: str | None = None
    ) -> tuple[float, DeviceState]:
        """The same to the end of the attempt, whatever it is."""
        device = await self.nm.device(adapter.interface)
        first = len(self.nm.transitions)
        began = time.monotonic()
        await self.nm_as_daemon.join_on(device, adapter.interface, camera, password)
        end = await self.transition(device, first, *_FAILED)
        return end.time_s - began, end.state

    async def leave_bare(self, adapter: Adapter) -> None:
        """Disconnect an adapter, and drop NetworkManager's profile."""
        await self.nm.disconnect(adapter.interface)
        await self.nm.wait_for_state(adapter.interface, DeviceState.DISCONNECTED)

    async def join_by_nmcli(self, adapter: Adapter, camera: Camera) -> float:
        """Seconds that `nmcli device wifi connect` takes; disconnects again."""
        name = camera.ssid.decode()
        command = ("nmcli", "device", "wifi", "connect", name, "password", camera.password)
        began = time.monotonic()
        await asyncio.to_thread(run, *command, "ifname", adapter.interface)
        seconds = time.monotonic() - began
        await asyncio.to_thread(run, "nmcli", "connection", "delete", "id", name)
        await self.nm.wait_for_state(adapter.interface, DeviceState.DISCONNECTED)
        return seconds

    async def transition(
        self, device: str, first: int, *wanted: DeviceState, seconds: float = 60.0
    ) -> Transition:
        """A device's step to one of these states, from the transition of that number on."""

        async def came() -> Transition | None:
            for one in self.nm.transitions[first:]:
                if one.device == device and one.state in wanted:
                    return one
            return None

        return await self.bus.until(came, f"{device} in {wanted}", seconds)

    async def scans(self, adapter: Adapter, since_s: float) -> list[tuple[float, float]]:
        """Beginning and end of each scan of an adapter that began since then."""
        path = await self.supplicant.interface(adapter.interface)
        found: list[tuple[float, float]] = []
        began: float | None = None
        for change in self.supplicant.changes:
            if change.path != path or change.name != "Scanning" or change.time_s < since_s:
                continue
            if change.value:
                began = change.time_s if began is None else began
            elif began is not None:
                found.append((began, change.time_s))
                began = None
        return found


@contextmanager
def daemons_user() -> Iterator[None]:
    """What is opened meanwhile is opened by the user as whom the daemon runs."""
    uid = pwd.getpwnam("wifimgrd").pw_uid
    os.setresuid(uid, uid, 0)
    try:
        yield
    finally:
        os.setresuid(0, 0, 0)


@contextmanager
def on_air(*cameras: Camera) -> Iterator[None]:
    """Cameras in the world, switched on, and gone after."""
    for camera in cameras:
        camera.start()
    try:
        yield
    finally:
        for camera in cameras:
            camera.down()
