"""Talking to simulated cameras, as far as there is anything to say: they answer, or they do not."""

from __future__ import annotations

import asyncio
from typing import Final

from wifimgrd.backends.simulated.faults import Faults
from wifimgrd.backends.simulated.links import Links
from wifimgrd.domain.camera_model import KeepAlive, Probe
from wifimgrd.ports import Answer

_PATIENCE_S: Final = 0.5


class SimulatedContact:
    """A CameraContact of a simulated world."""

    def __init__(self, links: Links, faults: Faults) -> None:
        self._links = links
        self._faults = faults

    async def probe(self, interface: str, address: str, probe: Probe) -> Answer:  # noqa: ARG002 - a port's
        """A camera answers at once, unless it is off or the fault `silent` lies on it."""
        camera = self._links.camera(interface)
        if camera is not None and camera.powered and not self._faults.silent.get(camera.plan.ssid.octets):
            return Answer.ANSWERED
        await asyncio.sleep(_PATIENCE_S)
        return Answer.SILENT

    async def keep_alive(self, interface: str, address: str, keep_alive: KeepAlive) -> None:
        """Nobody hears it."""
