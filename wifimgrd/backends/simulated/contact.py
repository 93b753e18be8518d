"""Probes of simulated cameras: they answer, or they do not."""

from __future__ import annotations

import asyncio
from typing import Final

from wifimgrd.backends.simulated.faults import Faults
from wifimgrd.backends.simulated.links import Links
from wifimgrd.domain.camera_model import KeepAlive, Probe
from wifimgrd.domain.device import DeviceId
from wifimgrd.ports import Answer

_TIMEOUT_S: Final = 0.5


class SimulatedContact:
    """A CameraContact of a simulated world."""

    def __init__(self, links: Links, faults: Faults) -> None:
        self._links = links
        self._faults = faults

    async def probe(  # the arguments of the port
        self,
        device_id: DeviceId,  # noqa: ARG002
        interface: str,
        address: str,  # noqa: ARG002
        probe: Probe,  # noqa: ARG002
    ) -> Answer:
        """A camera answers at once, unless it is off or the fault `silent` is set for it."""
        camera = self._links.camera(interface)
        if camera is not None and camera.powered and not self._faults.silent.get(camera.plan.ssid.octets):
            return Answer.ANSWERED
        await asyncio.sleep(_TIMEOUT_S)
        return Answer.SILENT

    async def keep_alive(
        self, device_id: DeviceId, interface: str, address: str, keep_alive: KeepAlive
    ) -> None:
        """Does nothing."""
