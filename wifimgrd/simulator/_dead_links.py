"""Links that are up and dead: the faults, and the evidence that the manager finds of them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from wifimgrd.domain.dead_links import Asked, Counters
from wifimgrd.domain.errors import InvalidRequest
from wifimgrd.domain.link_steps import CAMERA_STEPS
from wifimgrd.simulator._camera import Camera
from wifimgrd.simulator._fault_options import CameraFault, DeadFirmware, DeadLink, DeadService
from wifimgrd.simulator._faults import DeadLink as DeadPath
from wifimgrd.simulator._faults import Faults
from wifimgrd.simulator._links import Links
from wifimgrd.simulator._sockets import ANSWER_S, SimulatedSockets

_BEACONS_PER_S: Final = 1 / 0.1024
_PACKETS_PER_S: Final = 2.0
"""Received beside the beacons."""


class DeadLinkFaults:
    """Applies the faults of links, to those that are up now, and to the cameras there are now."""

    def __init__(
        self,
        cameras: Callable[[CameraFault], Iterable[Camera]],
        require_adapter: Callable[[str], None],
        faults: Faults,
        sockets: SimulatedSockets,
    ) -> None:
        """`cameras` returns those that a fault is about; it and `require_adapter` raise InvalidRequest."""
        self._cameras = cameras
        self._require_adapter = require_adapter
        self._faults = faults
        self._sockets = sockets
        self.kinds: Mapping[str, tuple[type, Callable[[Any], None]]] = {
            "dead-firmware": (DeadFirmware, self._dead_firmware),
            "dead-link": (DeadLink, self._dead_link),
            "dead-service": (DeadService, self._dead_service),
        }

    def _dead_link(self, fault: DeadLink) -> None:
        cameras, faults = list(self._cameras(fault)), self._faults
        if fault.ssid is not None and not (fault.off or fault.heals in CAMERA_STEPS or cameras[0].guests):
            raise InvalidRequest(f"the camera {cameras[0].label} has no link")
        faults.before_change()
        for camera in cameras:
            ssid = camera.plan.ssid.data
            faults.dead_cameras.pop(ssid, None)
            for interface in [name for name, dead in faults.dead_links.items() if dead.camera == ssid]:
                del faults.dead_links[interface]
            if not fault.off and fault.heals in CAMERA_STEPS:
                faults.dead_cameras[ssid] = fault.heals
            elif not fault.off:
                faults.dead_links |= dict.fromkeys(camera.guests, DeadPath(ssid, fault.heals))
        self._sockets.silence()

    def _dead_service(self, fault: DeadService) -> None:
        for camera in self._cameras(fault):
            self._faults.dead_services.pop(camera.plan.ssid.data, None)
            if not fault.off:
                self._faults.dead_services[camera.plan.ssid.data] = fault.heals
        self._sockets.silence()

    def _dead_firmware(self, fault: DeadFirmware) -> None:
        self._require_adapter(fault.interface)
        self._faults.before_change()
        self._faults.dead_firmware.pop(fault.interface, None)
        if not fault.off:
            self._faults.dead_firmware[fault.interface] = fault.heals
        self._sockets.silence()


@dataclass(frozen=True, slots=True)
class _Reception:
    """How long an adapter has received its access point since a link is up."""

    since_s: float
    until_s: float
    received_s: float = 0.0


class SimulatedEvidence:
    """Implements `wifimgrd.daemon.ports.LinkEvidence`. Counters grow with the time in which a link is alive,
    and no timer counts them."""

    def __init__(self, links: Links, faults: Faults) -> None:
        self._links = links
        self._faults = faults
        self._receptions: dict[str, _Reception] = {}
        """By interface, of the links at the last change of a fault."""
        faults.before_change = self._count

    async def counters(self, interface: str) -> Counters | None:
        """See LinkEvidence.counters."""
        self._count()
        if (found := self._receptions.get(interface)) is None:
            return None
        beacons = int(found.received_s * _BEACONS_PER_S)
        return Counters(
            found.until_s,
            connected_s=int(found.until_s - found.since_s),
            beacons=beacons,
            packets=beacons + int(found.received_s * _PACKETS_PER_S),
        )

    async def asked(self, interface: str, address: str, within_s: float) -> Asked:  # noqa: ARG002
        """See LinkEvidence.asked. A camera answers at once."""
        for pause_s in (0.0, ANSWER_S):
            await asyncio.sleep(pause_s)
            camera = self._links.camera(interface)
            if camera is None:
                return Asked.NOT_ASKED
            if self._faults.passes(interface, camera):
                return Asked.ANSWERED
        return Asked.SILENT

    def _count(self) -> None:
        """Count up to now; whether a link is alive has not changed since the last time."""
        now_s, before = asyncio.get_running_loop().time(), self._receptions
        self._receptions = {}
        for interface, since_s in self._links.since_s().items():
            found, camera = before.get(interface), self._links.camera(interface)
            if found is None or found.since_s != since_s:
                found = _Reception(since_s, since_s)
            receives = camera is not None and self._faults.receives(interface, camera)
            more_s = now_s - found.until_s if receives else 0.0
            self._receptions[interface] = _Reception(since_s, now_s, found.received_s + more_s)
