"""The backend of a simulated world: joins and leaves without a radio."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Final

from wifimgrd.backends.simulated.adapters import SimulatedAdapters
from wifimgrd.backends.simulated.camera import Camera
from wifimgrd.backends.simulated.faults import Faults
from wifimgrd.backends.simulated.joining import Attempt
from wifimgrd.backends.simulated.links import Links, new_link
from wifimgrd.backends.simulated.listening import Listening
from wifimgrd.backends.simulated.scenario import Times
from wifimgrd.domain.device import HeldLink, Link, Sighting, Ssid
from wifimgrd.domain.errors import BackendUnavailable, Busy, ConnectionLost, InterfaceLost
from wifimgrd.domain.events import BackendState, BackendStatus
from wifimgrd.domain.network import HeardPoint
from wifimgrd.domain.recovery import RecoveryStep
from wifimgrd.ports import BackendListener, BackendMemory, JoinRequest

_READY: Final = BackendStatus(BackendState.READY)
_GONE: Final = BackendStatus(BackendState.UNAVAILABLE, "the simulated NetworkManager is not running")
_STOPPED: Final = "the connection was lost: the simulated NetworkManager stopped"


class SimulatedBackend:
    """Implements `wifimgrd.ports.Backend`."""

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
        self._listener: BackendListener | None = None
        self._gone = False
        self._attempts: dict[str, Attempt] = {}
        self._listening = Listening(adapters, cameras, faults, times)
        self.held: set[str] = set()
        """The interfaces that the hub holds."""
        self.joined = Links(times, memory, lambda camera: not faults.refuses(camera))

    @property
    def status(self) -> BackendStatus:
        """READY once started, unless the fault `backend-gone` is set."""
        if self._gone:
            return _GONE
        return _READY if self._listener is not None else BackendStatus(BackendState.STARTING)

    async def start(self, listener: BackendListener) -> None:
        """Take up the links of an earlier life and tell what is there."""
        self.joined.recall(self._adapters.plugged, self._cameras)
        if self._gone:
            self.joined.end_all(ConnectionLost(_STOPPED))
        self._listener = self.joined.listener = listener
        self._tell_all(listener)

    async def stop(self) -> None:
        """Stop telling; links that are up stay up."""
        self._listener = self.joined.listener = None
        self.joined.settle()
        self.held.clear()

    async def hold(self, interface: str) -> None:
        """Remember that the interface is the hub's; nobody else is here to take it."""
        self.held.add(interface)

    async def release(self, interface: str) -> None:
        """The interface is not the hub's any more."""
        self.held.discard(interface)

    async def join(self, request: JoinRequest) -> Link:
        """Join as the port says. A second attempt or link on one interface is a bug of the
        caller and raises RuntimeError."""
        name = request.interface
        if self._gone:
            raise BackendUnavailable(_GONE.reason)
        adapter = self._adapters.get(name)
        if adapter is None:
            raise InterfaceLost(f"there is no interface {name}")
        if adapter.rfkill:
            raise InterfaceLost(_blocked(name, adapter.rfkill))
        if name in self._attempts or name in self.joined:
            raise RuntimeError(f"{name} is joined or being joined already")
        attempt = Attempt(request, adapter, self._cameras, self._faults, self._times)
        self._attempts[name] = attempt
        try:
            camera = await attempt.run()
        finally:
            if self._attempts.get(name) is attempt:
                del self._attempts[name]
        link = new_link(camera, adapter.identity.mac)
        self.joined.up(HeldLink(request.device, name, request.ssid, link), camera)
        return link

    async def leave(self, interface: str) -> None:
        """Take the link down; it is gone at once, and a moment later that is done."""
        if self.joined.drop(interface):
            slow = self._faults.leave_s.get(interface)
            await asyncio.sleep(self._times.leave_s if slow is None else slow)

    async def links(self) -> Sequence[HeldLink]:
        """The links that are up or interrupted."""
        return self.joined.current()

    async def scan(self, interface: str) -> None:
        """Search the air as the port says."""
        if self._gone:
            raise BackendUnavailable(_GONE.reason)
        await self._listening.scan(interface)

    async def look(
        self,
        interface: str,
        ssid: Ssid,
        sightings: Sequence[Sighting],  # noqa: ARG002 - here, all scans take as long
    ) -> bool:
        """Search the air for one network as the port says."""
        if self._gone:
            raise BackendUnavailable(_GONE.reason)
        return await self._listening.look(interface, ssid)

    async def recover(self, interface: str, step: RecoveryStep) -> None:
        """Take a step as the port says; it takes as long as a search."""
        await asyncio.sleep(self._times.scan_s)
        if self._gone:
            raise BackendUnavailable(_GONE.reason)
        if self._adapters.get(interface) is None:
            raise InterfaceLost(f"there is no interface {interface}")
        if interface in self._attempts or interface in self.joined:
            raise Busy("it has something else to do")
        self._faults.heal(interface, step)

    async def heard(self) -> Sequence[HeardPoint]:
        """What each adapter heard in its last scan."""
        return self._listening.heard()

    def appeared(self, interface: str) -> None:
        """An adapter was plugged in."""
        adapter = self._adapters.get(interface)
        if adapter is not None and self._listener is not None and not self._gone:
            self._listener.interface_facts(interface, adapter.facts)

    def vanished(self, interface: str) -> None:
        """An adapter was pulled out."""
        self._lose_interface(interface, InterfaceLost(f"the adapter {interface} was pulled out"))

    def blocked(self, interface: str, rfkill: str) -> None:
        """An adapter was blocked by rfkill."""
        self._lose_interface(interface, InterfaceLost(_blocked(interface, rfkill)))

    def go(self) -> None:
        """The other side stops; all that it held is lost."""
        if self._gone:
            return
        self._gone = True
        if self._listener is not None:
            self._listener.backend_changed(self.status)
        self.joined.end_all(ConnectionLost(_STOPPED))
        for interface in tuple(self._attempts):
            self._attempts.pop(interface).end(BackendUnavailable(_GONE.reason))

    def come(self) -> None:
        """The other side is back."""
        if not self._gone:
            return
        self._gone = False
        if self._listener is not None:
            self._tell_all(self._listener)

    def _lose_interface(self, interface: str, error: InterfaceLost) -> None:
        if (attempt := self._attempts.pop(interface, None)) is not None:
            attempt.end(error)
        self.joined.end(interface, error)

    def _tell_all(self, listener: BackendListener) -> None:
        for name in self._adapters.plugged:
            self.appeared(name)
        listener.backend_changed(self.status)


def _blocked(interface: str, rfkill: str) -> str:
    return f"{interface} is blocked by rfkill ({rfkill})"
