"""The guest with NetworkManager, and NetworkManager by itself."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

from benchmarks.lab.stage import Join, Stage
from tests.lab.guest.access_point import Camera
from tests.lab.guest.adapters import Adapter
from tests.lab.guest.namespace import run
from tests.lab.guest.network_manager import DeviceState, NetworkManager, Transition
from tests.lab.guest.system_bus import SystemBus

_NM: Final = "org.freedesktop.NetworkManager"
_FAILED: Final = (DeviceState.FAILED, DeviceState.ACTIVATED)


class NetworkManagerStage(Stage):
    """A host with NetworkManager."""

    bare_is = "bare AddAndActivateConnection2"
    bare_scan_is = "NetworkManager alone"

    def __init__(self, bus: SystemBus, bus_as_helper: SystemBus) -> None:
        super().__init__(bus)
        self.nm = NetworkManager(bus)
        self.nm_as_helper = NetworkManager(bus_as_helper)
        """Asked as the helper's user: NetworkManager has polkit judge everybody's calls but root's."""

    async def open(self) -> None:
        """Watch NetworkManager, too."""
        await self.nm.watch()
        await super().open()

    async def at_disposal(self, adapter: Adapter) -> None:
        """See Stage.at_disposal."""
        await self.nm.wait_for_state(adapter.interface, DeviceState.DISCONNECTED)

    @asynccontextmanager
    async def bare(self, ours: Adapter, port: str) -> AsyncIterator[Adapter]:  # noqa: ARG002
        """See Stage.bare."""
        yield ours

    async def _names(self, adapter: Adapter) -> list[bytes]:
        device = await self.nm.device(adapter.interface)
        points = await self.bus.read(_NM, device, f"{_NM}.Device.Wireless", "AccessPoints")
        return [bytes(await self.bus.read(_NM, one, f"{_NM}.AccessPoint", "Ssid")) for one in points]

    async def join_bare(self, adapter: Adapter, camera: Camera) -> Join:
        """From a bare AddAndActivateConnection2 to ACTIVATED; see Stage.join_bare."""
        began = time.monotonic()
        seconds, state = await self.outcome_bare(adapter, camera)
        if state is not DeviceState.ACTIVATED:
            raise RuntimeError(f"NetworkManager did not join {camera.name}")
        join = await self.join(adapter, began, seconds)
        await self.leave_bare(adapter)
        return join

    async def scan_and_join_bare(self, adapter: Adapter, camera: Camera) -> Join:
        """See Stage.scan_and_join_bare: NetworkManager scans all channels by itself."""
        return await self.join_bare(adapter, camera)

    async def outcome_bare(
        self, adapter: Adapter, camera: Camera, password: str | None = None
    ) -> tuple[float, DeviceState]:
        """Seconds from the call to the end of the attempt, whatever it is."""
        device = await self.nm.device(adapter.interface)
        first = len(self.nm.transitions)
        began = time.monotonic()
        await self.nm_as_helper.join_on(device, adapter.interface, camera, password)
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
