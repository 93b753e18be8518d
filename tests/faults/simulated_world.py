"""A simulated world that does as it pleases."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from typing import Final

from tests.faults.random_life import Network
from wifimgrd.bus.connection import Variant
from wifimgrd.client.hub import HubClient

ADAPTERS: Final = ("wlan0", "wlan1", "wlan2")
CAMERAS: Final = (1, 2, 3, 4)
NETWORKS: Final = [Network(f"SIM-CAM-{number}", f"camera-pass-{number}") for number in CAMERAS]


@dataclass(slots=True)
class SimulatedWorld:
    """Adapters and cameras of the default scenario."""

    client: HubClient
    chance: random.Random
    pulled: set[str] = field(default_factory=set)

    async def act(self) -> None:
        """One change."""
        ssid = f"SIM-CAM-{self.chance.choice(CAMERAS)}".encode()
        match self.chance.choice(("adapter", "adapter", "off", "off", "on", "on", "dhcp", "slow", "backend")):
            case "adapter":
                name = self.chance.choice(ADAPTERS)
                member = "PlugAdapter" if name in self.pulled else "UnplugAdapter"
                self.pulled ^= {name}
                await self.client.simulate(member, "s", name)
            case "off":
                orderly = self.chance.random() < 0.5
                await self.client.simulate("PowerOffCamera", "ayb", ssid, orderly)
            case "on":
                await self.client.simulate("PowerOnCamera", "ay", ssid)
            case "dhcp":
                await self._fault("dhcp-dead", off=Variant("b", self.chance.random() < 0.7))
            case "slow":
                off = Variant("b", self.chance.random() < 0.7)
                await self._fault("slow-join", seconds=Variant("d", 1.0), off=off)
            case "backend" if self.chance.random() < 0.2:
                await self._fault("backend-gone", seconds=Variant("d", 0.3))

    async def mend(self) -> None:
        """Everything is plugged in, switched on and works."""
        for kind in ("dhcp-dead", "slow-join"):
            await self._fault(kind, off=Variant("b", True))
        for name in sorted(self.pulled):
            await self.client.simulate("PlugAdapter", "s", name)
        self.pulled.clear()
        for number in CAMERAS:
            await self.client.simulate("PowerOnCamera", "ay", f"SIM-CAM-{number}".encode())

    async def _fault(self, kind: str, **options: Variant) -> None:
        await self.client.simulate("SetFault", "sa{sv}", kind, options)
