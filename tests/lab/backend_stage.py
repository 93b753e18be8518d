"""The stages of the conformance suite: real cameras and adapters, and a backend on the guest's services."""

import asyncio
from collections.abc import Callable

from tests.daemon.backends.recording import Recorder
from wifimgrd.daemon.ports import Backend
from wifimgrd.domain.device import Passphrase, Ssid
from wifimgrd.domain.events import BackendState, BackendStatus

from .guest.access_point import Camera
from .guest.adapters import Adapter
from .guest.namespace import run


class QuietRecorder(Recorder):
    """Does not note that a start is under way."""

    def backend_changed(self, status: BackendStatus) -> None:
        if status.state is not BackendState.STARTING:
            super().backend_changed(status)


class LabStage:
    """Two adapters and a camera, on real 802.11; `make` makes a backend of a new daemon."""

    def __init__(
        self,
        camera: Camera,
        adapters: dict[str, Adapter],
        plug: Callable[[str], Adapter],
        make: Callable[[], Backend],
    ) -> None:
        self.adapters = tuple(adapters)
        self.ssid = Ssid(camera.ssid)
        self.passphrase = Passphrase(camera.password)
        self._camera = camera
        self._adapters = adapters
        self._plug = plug
        self._make = make
        self._new_life()

    def _new_life(self) -> None:
        self.listener = QuietRecorder(patience_s=30)
        self.backend = self._make()

    async def power_on(self) -> None:
        self._camera.on()

    async def power_off(self) -> None:
        self._camera.stop()

    async def power_cut(self) -> None:
        self._camera.kill()

    async def refuse(self) -> None:
        self._camera.refuse()

    async def kill_dhcp(self) -> None:
        self._camera.dhcp_off()

    async def stall(self) -> None:
        self._camera.dhcp_off()

    async def pull(self, interface: str) -> None:
        self._adapters[interface].unplug()

    async def plug(self, interface: str) -> None:
        self._adapters[interface] = self._plug(self._adapters[interface].port)

    async def start(self) -> None:
        """Start the backend, and wait until it is ready; what it reported until then can be waited for."""
        await self.backend.start(self.listener)
        await self.listener.backend_is(BackendState.READY)
        self.listener.rewind()

    async def end(self) -> None:
        """Take down what is up, and stop the backend."""
        for link in await self.backend.links():
            await self.backend.leave(link.interface)
        await self.backend.stop()

    async def stop_other_side(self) -> None:
        raise NotImplementedError

    async def start_other_side(self) -> None:
        raise NotImplementedError

    async def restart(self) -> None:
        await self.backend.stop()
        self._new_life()
        await self.backend.start(self.listener)


async def systemctl(*words: str) -> None:
    """Run systemctl to its end."""
    await asyncio.to_thread(run, "systemctl", *words)
