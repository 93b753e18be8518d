"""A world on real 802.11 that does as it pleases: cameras and adapters that come and go."""

import asyncio
import random
from collections.abc import Sequence
from dataclasses import dataclass, field

from .guest.access_point import Camera
from .guest.adapters import Adapter, plug_in


@dataclass
class RealWorld:
    """Cameras and adapters, all there to begin with."""

    cameras: Sequence[Camera]
    adapters: Sequence[Adapter]
    chance: random.Random
    off: set[str] = field(default_factory=set)
    """Names of cameras."""

    async def act(self) -> None:
        """One change."""
        await asyncio.to_thread(self._act)

    async def mend(self) -> None:
        """Everything is plugged in and switched on."""
        await asyncio.to_thread(self._mend)

    def _act(self) -> None:
        camera, adapter = self.chance.choice(self.cameras), self.chance.choice(self.adapters)
        match self.chance.choice(("adapter", "off", "cut", "on", "on")):
            case "adapter" if adapter.plugged_in:
                adapter.unplug()
            case "adapter":
                plug_in(adapter.port)
            case "off" if camera.name not in self.off:
                camera.stop()
                self.off.add(camera.name)
            case "cut" if camera.name not in self.off:
                camera.kill()
                self.off.add(camera.name)
            case "on":
                self._switch_on(camera)

    def _mend(self) -> None:
        for adapter in self.adapters:
            if not adapter.plugged_in:
                plug_in(adapter.port)
        for camera in self.cameras:
            self._switch_on(camera)

    def _switch_on(self, camera: Camera) -> None:
        if camera.name in self.off:
            camera.on()
            self.off.discard(camera.name)
