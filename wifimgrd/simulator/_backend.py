"""The backend of a simulated world: joins and leaves without a radio."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Final

from wifimgrd.daemon.ports import BackendListener, BackendMemory, JoinRequest
from wifimgrd.domain.device import DeviceId, HeldLink, Link, Sighting, Ssid
from wifimgrd.domain.errors import BackendUnavailable, Busy, ConnectionLost, InterfaceLost
from wifimgrd.domain.events import BackendState, BackendStatus
from wifimgrd.domain.interface import absent, blocked, unplugged
from wifimgrd.domain.network import ScanResult
from wifimgrd.domain.recovery import BackendStep
from wifimgrd.simulator._adapters import SimulatedAdapters
from wifimgrd.simulator._camera import Camera
from wifimgrd.simulator._faults import Faults
from wifimgrd.simulator._joining import Attempt
from wifimgrd.simulator._links import Links, new_link
from wifimgrd.simulator._listening import ScanSimulation
from wifimgrd.simulator._scenario import Times

_READY: Final = BackendStatus(BackendState.READY)
_GONE: Final = BackendStatus(BackendState.UNAVAILABLE, "the simulated NetworkManager is not running")
_STOPPED: Final = "the connection was lost: the simulated NetworkManager stopped"


class SimulatedBackend:
    """Implements `wifimgrd.daemon.ports.Backend`."""

    name: Final = "simulated"

    def __init__(
        self,
        adapters: SimulatedAdapters,
        cameras: Mapping[bytes, Camera],
        faults: Faults,
        times: Times,
        memory: BackendMemory,
    ) -> None:
        self._adapters = adapters
        self._cameras = cameras
        self._faults = faults
        self._times = times
        self.listener: BackendListener | None = None
        """The hub, from `start` to `stop`."""
        self._gone = False
        self._attempts: dict[str, Attempt] = {}
        self._scans = ScanSimulation(adapters, cameras, faults, times)
        self.held: set[str] = set()
        """The interfaces that the hub has claimed."""
        self.joined = Links(times, memory, lambda camera: not faults.refuses(camera))

    @property
    def status(self) -> BackendStatus:
        """READY once started, unless the fault `backend-gone` is set."""
        if self._gone:
            return _GONE
        return _READY if self.listener is not None else BackendStatus(BackendState.STARTING)

    async def start(self, listener: BackendListener) -> None:
        """Adopt the links of an earlier run and report the interfaces."""
        self.joined.recall(self._adapters.plugged, self._cameras)
        if self._gone:
            self.joined.end_all(ConnectionLost(_STOPPED))
        self.listener = self.joined.listener = listener
        self._publish_all(listener)

    async def stop(self) -> None:
        """Stop reporting; links that are up stay up."""
        self.listener = self.joined.listener = None
        self.joined.settle()
        self.held.clear()

    async def claim(self, interface: str) -> None:
        """Record the claim; there is no other program here that could use the interface."""
        self.held.add(interface)

    async def release(self, interface: str) -> None:
        """The interface is no longer the hub's."""
        self.held.discard(interface)

    async def join(self, request: JoinRequest) -> Link:
        """See Backend.join. A second attempt or link on one interface is a bug of the caller and raises
        RuntimeError."""
        name = request.interface
        if self._gone:
            raise BackendUnavailable(_GONE.reason)
        plan = self._adapters.get(name)
        if plan is None:
            raise absent(name)
        if plan.adapter.rfkill:
            raise blocked(name, plan.adapter.rfkill)
        if name in self._attempts or name in self.joined:
            raise RuntimeError(f"{name} is joined or being joined already")
        attempt = Attempt(request, plan, self._cameras, self._faults, self._times)
        self._attempts[name] = attempt
        try:
            camera = await attempt.run()
        finally:
            if self._attempts.get(name) is attempt:
                del self._attempts[name]
        self._faults.link_up(name, request.ssid.data)
        link = new_link(camera, plan.adapter.identity.mac)
        self.joined.up(HeldLink(request.device_id, name, request.ssid, link), camera)
        return link

    async def leave(self, interface: str) -> None:
        """Take the link down; it ends at once, and this returns after `leave_s`."""
        if self.joined.drop(interface):
            slow = self._faults.leave_s.get(interface)
            await asyncio.sleep(self._times.leave_s if slow is None else slow)

    async def links(self) -> Sequence[HeldLink]:
        """The links that are up or interrupted."""
        return self.joined.current()

    async def scan(self, interface: str) -> None:
        """See Backend.scan."""
        if self._gone:
            raise BackendUnavailable(_GONE.reason)
        await self._scans.scan(interface)

    async def is_visible(
        self,
        interface: str,
        ssid: Ssid,
        sightings: Sequence[Sighting],  # noqa: ARG002
        others: Mapping[str, DeviceId],  # noqa: ARG002 - here, no two cameras have one name
        *,
        all_channels: bool = True,  # noqa: ARG002 - here, all scans take as long
    ) -> bool:
        """See Backend.is_visible."""
        if self._gone:
            raise BackendUnavailable(_GONE.reason)
        return await self._scans.scan_for(interface, ssid)

    async def recover(self, interface: str, step: BackendStep) -> None:
        """See Backend.recover; a step takes as long as a scan."""
        await asyncio.sleep(self._times.scan_s)
        if self._gone:
            raise BackendUnavailable(_GONE.reason)
        if self._adapters.get(interface) is None:
            raise absent(interface)
        if interface in self._attempts or interface in self.joined:
            raise Busy("it is busy")
        self._faults.heal(interface, step)

    def loss_of(self, interface: str) -> InterfaceLost:
        """See Backend.loss_of."""
        return unplugged(interface)

    async def recent_scan_results(self, interface: str | None = None) -> Sequence[ScanResult]:
        """The results of each adapter's last scan, or of one's."""
        return self._scans.results(interface)

    def appeared(self, interface: str) -> None:
        """An adapter was plugged in."""
        adapter = self._adapters.get(interface)
        if adapter is not None and self.listener is not None and not self._gone:
            self.listener.interface_facts(interface, adapter.facts)

    def vanished(self, interface: str) -> None:
        """An adapter was unplugged."""
        self._lose_interface(interface, unplugged(interface))

    def blocked(self, interface: str, rfkill: str) -> None:
        """An adapter was blocked by rfkill."""
        self._lose_interface(interface, blocked(interface, rfkill))

    def go(self) -> None:
        """The simulated service stops; all of its links are lost."""
        if self._gone:
            return
        self._gone = True
        if self.listener is not None:
            self.listener.backend_changed(self.status)
        self.joined.end_all(ConnectionLost(_STOPPED))
        for interface in tuple(self._attempts):
            self._attempts.pop(interface).end(BackendUnavailable(_GONE.reason))

    def come(self) -> None:
        """The simulated service is running again."""
        if not self._gone:
            return
        self._gone = False
        if self.listener is not None:
            self._publish_all(self.listener)

    def _lose_interface(self, interface: str, error: InterfaceLost) -> None:
        if (attempt := self._attempts.pop(interface, None)) is not None:
            attempt.end(error)
        self.joined.end(interface, error)

    def _publish_all(self, listener: BackendListener) -> None:
        for name in self._adapters.plugged:
            self.appeared(name)
        listener.backend_changed(self.status)
